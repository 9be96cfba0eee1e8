package server_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// A cursor of a block that reads a columnar snapshot has that snapshot's rows, wherever it is moved to, and is gone when PostgreSQL's would be.
func TestGateway_readsACursorFromTheReplica(t *testing.T) {
	t.Parallel()
	g := start(t, manyItems)
	direct := g.connect(g.oltp.URL("postgres"))
	c := g.client()
	exec(t, c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	if _, err := c.Exec(t.Context(), "DECLARE items SCROLL CURSOR FOR SELECT id, name FROM item WHERE id > $1 ORDER BY id", 10); err != nil {
		t.Fatal(err)
	}
	exec(t, direct, "DELETE FROM item WHERE id > 29000")
	for _, step := range []struct {
		sql  string
		want []string
	}{
		{"FETCH items", []string{"11"}},
		{"FETCH LAST FROM items", []string{"30000"}},
		{"FETCH BACKWARD 2 FROM items", []string{"29999", "29998"}},
		{"FETCH ABSOLUTE 15000 IN items", []string{"15010"}},
		{"MOVE 300 IN items", nil},
		{"FETCH NEXT FROM items", []string{"15311"}},
		{"SAVEPOINT s", nil},
		{"FETCH RELATIVE -1000 FROM items", []string{"14311"}},
		{"ROLLBACK TO SAVEPOINT s", nil},
		{"FETCH PRIOR FROM items", []string{"14310"}}, // a rollback does not take a cursor back
	} {
		var got []string
		for _, row := range query(t, c, "/* as any other */ "+step.sql) {
			got = append(got, row[:len(row)-len("|")-100])
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.sql, diff)
		}
	}
	if route := one(t, c, "SHOW freshet.last_route"); route != "columnar" {
		t.Errorf("route %s: %s", route, one(t, c, "SHOW freshet.last_reason"))
	}
	if n := len(query(t, c, "FETCH FORWARD ALL FROM items")); n != 30000-14310 {
		t.Errorf("%d rows left", n)
	}
	exec(t, c, "CLOSE items")
	if after := untilReady(t, c, messages{&pgproto3.Query{String: "FETCH items"}}); after[0] != "ErrorResponse 34000" {
		t.Errorf("closed: %q", after)
	}
	exec(t, c, "ROLLBACK")
}

const fewItems = "CREATE TABLE item (id int PRIMARY KEY, name text NOT NULL); INSERT INTO item SELECT i, 'x' FROM generate_series(1, 5) i"

// What PostgreSQL is to read in a block is also what a cursor reads that was declared before.
func TestGateway_leavesACursorToThePostgreSQLThatItsBlockReads(t *testing.T) {
	t.Parallel()
	g := start(t, fewItems)
	direct := g.connect(g.oltp.URL("postgres"))
	c := g.client()
	exec(t, c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	exec(t, c, "DECLARE items CURSOR FOR SELECT id FROM item ORDER BY id")
	if n := one(t, c, "SELECT count(*) FROM item TABLESAMPLE BERNOULLI (100)"); n != "5" {
		t.Errorf("%s rows", n)
	}
	exec(t, direct, "DELETE FROM item WHERE id > 2")
	if got := query(t, c, "FETCH ALL FROM items"); !slices.Equal(got, []string{"1", "2", "3", "4", "5"}) {
		t.Errorf("the cursor has %q", got)
	}
	if got := query(t, c, "SELECT id FROM item ORDER BY id"); !slices.Equal(got, []string{"1", "2", "3", "4", "5"}) {
		t.Errorf("the block has %q", got)
	}
	exec(t, c, "ROLLBACK")
}

// Under READ COMMITTED the statements of a block see what was committed meanwhile, and a cursor does not.
func TestGateway_keepsACursorsSnapshotUnderReadCommitted(t *testing.T) {
	t.Parallel()
	g := start(t, fewItems)
	direct := g.connect(g.oltp.URL("postgres"))
	c := g.client()
	exec(t, c, "SET freshet.freshness = strong")
	exec(t, c, "BEGIN READ ONLY")
	exec(t, c, "DECLARE before SCROLL CURSOR FOR SELECT id FROM item ORDER BY id")
	exec(t, direct, "DELETE FROM item WHERE id > 2")
	exec(t, c, "DECLARE after CURSOR FOR SELECT id FROM item ORDER BY id")
	exec(t, direct, "INSERT INTO item VALUES (9, 'y')")
	for _, step := range []struct {
		sql  string
		want []string
	}{
		{"SELECT id FROM item ORDER BY id", []string{"1", "2", "9"}},
		{"FETCH 4 FROM before", []string{"1", "2", "3", "4"}},
		{"FETCH ALL FROM after", []string{"1", "2"}},
		{"FETCH BACKWARD 2 FROM before", []string{"3", "2"}},
		{"SELECT id FROM item ORDER BY id", []string{"1", "2", "9"}},
	} {
		if diff := cmp.Diff(step.want, query(t, c, step.sql)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.sql, diff)
		}
	}
	exec(t, c, "COMMIT")
}

// PostgreSQL is asked whether it has a cursor before it is read. Here it cannot tell, for want of a view, as if that were cancelled.
func TestGateway_keepsASessionThatCouldNotAskForItsCursor(t *testing.T) {
	t.Parallel()
	g := start(t, fewItems)
	admin := g.connect(g.oltp.URL("postgres"))
	c := g.client()
	exec(t, admin, "ALTER VIEW pg_catalog.pg_cursors RENAME TO missing")
	for _, protocol := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec} {
		exec(t, c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
		exec(t, c, "DECLARE items CURSOR FOR SELECT id FROM item")
		_, err := c.Exec(t.Context(), "FETCH items", protocol)
		if pgErr, ok := errors.AsType[*pgconn.PgError](err); !ok || pgErr.Code != "42P01" || pgErr.Severity != "ERROR" {
			t.Fatalf("%v, want 42P01", err)
		}
		if status := c.PgConn().TxStatus(); status != 'E' {
			t.Errorf("status %c, want E", status)
		}
		exec(t, c, "ROLLBACK")
	}
	exec(t, admin, "ALTER VIEW pg_catalog.missing RENAME TO pg_cursors")
	exec(t, c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	exec(t, c, "DECLARE items CURSOR FOR SELECT id FROM item ORDER BY id")
	if got := one(t, c, "FETCH items"); got != "1" {
		t.Errorf("first row %s", got)
	}
	exec(t, c, "ROLLBACK")
}

// nextOf is a function that moves a cursor by its name.
const nextOf = `CREATE FUNCTION next_of(c refcursor) RETURNS int LANGUAGE plpgsql AS $$DECLARE n int; BEGIN FETCH c INTO n; RETURN n; END$$`

// What a function may have done with a cursor by its name only PostgreSQL knows.
func TestGateway_leavesACursorToTheFunctionThatMovesIt(t *testing.T) {
	t.Parallel()
	g := start(t, fewItems, nextOf)
	direct, c := g.connect(g.oltp.URL("postgres")), g.client()
	for _, sql := range []string{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "DECLARE c SCROLL CURSOR FOR SELECT id FROM item ORDER BY id", "SELECT next_of('c')", "FETCH c", "SELECT next_of('c')", "FETCH c", "COMMIT"} {
		wantSameOutcome(t, c, direct, sql)
	}
}

// PostgreSQL does not see what the gateway reads on by itself.
func TestGateway_keepsASessionThatReadsACursorFromBeingTakenForIdle(t *testing.T) {
	t.Parallel()
	g := start(t, "CREATE TABLE line (id int PRIMARY KEY)", "INSERT INTO line SELECT generate_series(1, 1000000)")
	c, watcher := g.client(), g.connect(g.oltp.URL("postgres"))
	for _, sql := range []string{"SET freshet.route = columnar", "SET idle_in_transaction_session_timeout = '1s'", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
		"DECLARE k CURSOR FOR SELECT id FROM line ORDER BY id"} {
		exec(t, c, sql)
	}
	began := one(t, watcher, "SELECT now()")
	for want := 1; one(t, watcher, "SELECT now() < '"+began+"'::timestamptz + interval '2500ms'") == "t"; want++ {
		results, err := c.PgConn().Exec(t.Context(), "FETCH 1 FROM k").ReadAll() // a simple query: of a Parse PostgreSQL would hear
		if err != nil {
			t.Fatal(err)
		}
		if got := string(results[0].Rows[0][0]); got != strconv.Itoa(want) {
			t.Fatalf("row %d is %s", want, got)
		}
	}
}
