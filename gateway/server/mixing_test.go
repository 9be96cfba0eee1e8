package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Once a block reads from a columnar snapshot, nothing in it may read from PostgreSQL's, whichever way it is sent. What can run on the snapshot does, and
// is answered message by message as by PostgreSQL; the rest is refused.
func TestGateway_readsOneSnapshotInABlock(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	direct := g.connect(g.oltp.URL("postgres"))
	const sum = "SELECT count(*) FROM account WHERE branch >= 0"
	bind, execute, sync := &pgproto3.Bind{PreparedStatement: "a"}, &pgproto3.Execute{}, &pgproto3.Sync{}
	unnamed := func(sql string) messages {
		return messages{&pgproto3.Parse{Query: sql}, &pgproto3.Bind{}, execute}
	}
	all := slices.Concat[messages]
	for name, test := range map[string]struct {
		ways    messages
		refused bool
	}{
		"a pipeline":              {ways: messages{bind, execute, bind, execute, sync}},
		"a parse after it":        {ways: messages{bind, execute, &pgproto3.Parse{Query: sum}, bind, execute, sync}},
		"a flush":                 {ways: messages{bind, execute, &pgproto3.Flush{}, bind, &pgproto3.Describe{ObjectType: 'P'}, execute, &pgproto3.Close{ObjectType: 'P'}, &pgproto3.Flush{}, sync}},
		"after a setting":         {ways: all(unnamed("SET LOCAL work_mem = '8MB'"), messages{bind, execute}, unnamed("SHOW work_mem"), messages{bind, execute, sync})},
		"a query in the middle":   {ways: messages{bind, execute, &pgproto3.Query{String: sum}, sync}},
		"a query after a parse":   {ways: messages{&pgproto3.Parse{Query: sum}, &pgproto3.Query{String: sum}, bind, execute, sync}},
		"a setting after a parse": {ways: messages{&pgproto3.Parse{Query: sum}, &pgproto3.Query{String: "SET LOCAL work_mem = '8MB'"}, bind, execute, sync}},
		"a statement of its own":  {ways: messages{&pgproto3.Parse{Query: sum}, &pgproto3.Bind{}, &pgproto3.Describe{ObjectType: 'P'}, execute, sync}},
		"an execution and commit": {ways: all(messages{bind, execute}, unnamed("COMMIT"), messages{sync})},
		"an end that is skipped": {ways: all(messages{&pgproto3.Query{String: "SAVEPOINT s"}}, unnamed("SELECT 1 / 0"), unnamed("COMMIT"), messages{sync, &pgproto3.Query{String: "ROLLBACK TO s"}},
			messages{bind, execute, sync, &pgproto3.Query{String: sum}})},
		"an end that is skipped after a read": {ways: all(messages{&pgproto3.Query{String: "SAVEPOINT s"}, bind, execute}, unnamed("SELECT 1 / 0"), unnamed("ROLLBACK"), messages{sync, &pgproto3.Query{String: "ROLLBACK TO s"}},
			messages{bind, execute, sync, &pgproto3.Query{String: sum}})},
		"an end that is not executed": {ways: messages{&pgproto3.Parse{Query: "COMMIT"}, &pgproto3.Bind{}, sync, bind, execute, sync, &pgproto3.Query{String: sum}}},
		"an empty statement":          {ways: all(messages{bind, execute}, unnamed("-- "), messages{bind, execute, sync})},
		"a rollback and more":         {ways: messages{&pgproto3.Query{String: "ROLLBACK; SELECT 1; " + sum}}},
		"a catalog": {ways: all(messages{bind, execute}, unnamed("SELECT relname, pg_catalog.pg_get_userbyid(relowner) FROM pg_catalog.pg_class WHERE relname = 'account' AND pg_catalog.pg_table_is_visible(oid)"),
			messages{bind, execute, sync, &pgproto3.Query{String: "SELECT table_name FROM information_schema.tables WHERE table_name = 'account'"}, bind, execute, sync})},
		"pieces":                 {ways: messages{bind, &pgproto3.Execute{MaxRows: 1}, execute, sync, execute, bind, execute, sync}},
		"an error of syntax":     {ways: messages{bind, execute, &pgproto3.Parse{Query: "SELEC"}, bind, execute, sync, bind, execute, sync}},
		"an error in PostgreSQL": {ways: all(messages{bind, execute}, unnamed("SET LOCAL work_mem = 'much'"), messages{bind, execute, sync})},
		"a write":                {ways: all(messages{bind, execute}, unnamed("DELETE FROM account"), messages{bind, execute, sync})},
		"a savepoint": {ways: all(messages{bind, execute}, unnamed("SAVEPOINT s"), messages{bind, execute, &pgproto3.Parse{Query: "SELEC"}, execute, sync},
			unnamed("ROLLBACK TO SAVEPOINT s"), messages{bind, execute, sync})},
		"a savepoint and more":         {ways: messages{&pgproto3.Query{String: "SAVEPOINT s"}, &pgproto3.Query{String: "ROLLBACK TO s; " + sum}}, refused: true},
		"a catalog without its schema": {ways: all(messages{bind, execute}, unnamed("SELECT typname FROM pg_type WHERE oid = 'int4'::regtype"), messages{bind, execute, sync})},
		"a catalog behind a schema":    {ways: all(messages{&pgproto3.Query{String: "SET LOCAL search_path = public, pg_catalog"}}, unnamed("SELECT typname FROM pg_type WHERE oid = 'int4'::regtype"), messages{sync}), refused: true},
		"the types of asyncpg": {ways: all(messages{bind, execute}, unnamed(`WITH RECURSIVE tree (oid, elemtype, depth) AS (SELECT oid, typelem, 0 FROM pg_catalog.pg_type WHERE oid = any('{1007}'::oid[])
			UNION ALL SELECT t.oid, t.typelem, depth + 1 FROM pg_type t, tree WHERE t.oid = tree.elemtype) SELECT DISTINCT oid, elemtype::regtype::text, depth FROM tree ORDER BY depth DESC`), messages{bind, execute, sync})},
		"a table's name for a query": {ways: all(messages{bind, execute}, unnamed("WITH account AS (SELECT * FROM account) SELECT count(*) FROM account"), messages{bind, execute, sync,
			&pgproto3.Query{String: "SELECT count(*), (WITH account AS (SELECT 1) SELECT count(*) FROM account) FROM account"}})},
		"no execution":        {ways: messages{bind, sync, execute, sync}},
		"a portal":            {ways: messages{&pgproto3.Bind{PreparedStatement: "a", DestinationPortal: "p"}, &pgproto3.Sync{}, &pgproto3.Execute{Portal: "p"}, sync}},
		"the route":           {ways: messages{&pgproto3.Query{String: "SET LOCAL freshet.route = oltp"}, &pgproto3.Query{String: sum}}, refused: true},
		"the route, extended": {ways: messages{&pgproto3.Query{String: "SET LOCAL freshet.route = oltp"}, bind, execute, sync}, refused: true},
		"an error of a value": {ways: all(messages{bind, execute}, unnamed("SELECT 1 / (count(*) - count(*)) FROM account"), messages{bind, execute, sync, bind, execute, sync}), refused: true},
		"another function":    {ways: all(messages{bind, execute}, unnamed("SELECT count(pg_backend_pid()) FROM account"), messages{bind, execute, sync}), refused: true},
	} {
		c, plain := g.client(), g.connect(g.oltp.URL("postgres"))
		exec(t, c, "SET freshet.freshness = strong")
		for _, conn := range []*pgx.Conn{c, plain} {
			if _, err := conn.PgConn().Prepare(t.Context(), "a", sum, nil); err != nil {
				t.Fatal(err)
			}
			exec(t, conn, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
		}
		want := one(t, c, sum)
		if equal := one(t, plain, sum); equal != want {
			t.Fatalf("%s: the block counts %s, PostgreSQL %s", name, want, equal)
		}
		if route := one(t, c, "SHOW freshet.last_route"); route != "columnar" {
			t.Fatalf("%s: the block reads from %s", name, route)
		}
		exec(t, direct, "INSERT INTO account SELECT max(id) + 1, 3, 100 FROM account")
		got := converse(t, c, test.ways, together)
		if test.refused {
			for _, m := range got {
				kind, value, _ := strings.Cut(m, " ")
				// Refused, and what follows in the failed block.
				if kind == "DataRow" && m != theEnd && value != fmt.Sprintf("%q", [][]byte{[]byte(want)}) || kind == "ErrorResponse" && !slices.Contains([]string{"0A000", "25P02", "34000", "55000"}, value) {
					t.Errorf("%s: %s", name, m)
				}
			}
			if !slices.Contains(got, "ErrorResponse 0A000") {
				t.Errorf("%s: not refused: %q", name, got)
			}
		} else if diff := cmp.Diff(converse(t, plain, test.ways, together), got); diff != "" {
			t.Errorf("%s: answered otherwise than by PostgreSQL (-want +got):\n%s", name, diff)
		}
		if want, got := one(t, direct, sum), one(t, c, sum); got != want {
			t.Errorf("%s: afterwards the session counts %s, there are %s", name, got, want)
		}
	}
}

// A simple query that PostgreSQL skips, since a message before it in its unit has failed, is waited for by nobody, whether the failure is known by then or not.
func TestGateway_waitsForNoQueryThatIsSkipped(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	const sum = "SELECT sum(branch) FROM account"
	want := one(t, g.client(), sum)
	for _, how := range []sending{together, oneByOne} {
		c := g.client()
		unit := messages{&pgproto3.Execute{Portal: "none"}, &pgproto3.Flush{}}
		if how == oneByOne {
			if got := exchange(t, c, unit, how, func(string) bool { return true }); got[0] != "ErrorResponse 34000" {
				t.Fatalf("an execution of nothing: %q", got)
			}
			unit = nil
		}
		if got := untilReady(t, c, append(unit, &pgproto3.Query{String: sum}, &pgproto3.Sync{})); rowsOf(got) > 0 {
			t.Errorf("PostgreSQL did not skip the query: %q", got)
		}
		if got := one(t, c, sum); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A batch of statements within a block reads the block's snapshot, as each of them alone: after it has read, as the first that it does, and where a driver
// sends its BEGIN and COMMIT along.
func TestGateway_runsABatchOnTheBlocksSnapshot(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	direct := g.connect(g.oltp.URL("postgres"))
	c := g.client()
	const sum = "SELECT sum(balance)::bigint FROM account WHERE branch >= $1"
	batch := func(tx pgx.Tx) []int64 {
		t.Helper()
		var b pgx.Batch
		got := make([]int64, 3)
		for i := range got {
			b.Queue(sum, 0).QueryRow(func(row pgx.Row) error { return row.Scan(&got[i]) })
		}
		if err := tx.SendBatch(t.Context(), &b).Close(); err != nil {
			t.Fatal(err)
		}
		if route := one(t, c, "SHOW freshet.last_route"); route != "columnar" {
			t.Errorf("the batch read from %s: %s", route, one(t, c, "SHOW freshet.last_reason"))
		}
		return got
	}
	tx, err := c.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	first := batch(tx)
	if first[0] == 0 || first[1] != first[0] || first[2] != first[0] {
		t.Errorf("the block's first batch reads %v", first)
	}
	exec(t, direct, "UPDATE account SET balance = balance + 1")
	if diff := cmp.Diff(first, batch(tx)); diff != "" {
		t.Errorf("the second batch (-want +got):\n%s", diff)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec(t, c, "SET freshet.freshness = strong")
	all := slices.Concat(once("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"), once("SELECT sum(balance)::bigint FROM account"), once("SELECT sum(balance)::bigint FROM account"), once("COMMIT"), messages{&pgproto3.Sync{}})
	got := untilReady(t, c, all)
	if n := rowsOf(got); n != 2 || !slices.Contains(got, fmt.Sprintf(`DataRow ["%d"]`, first[0]+1000)) || got[len(got)-1] != "ReadyForQuery I" {
		t.Errorf("a block in one piece: %q", got)
	}
	if route := one(t, c, "SHOW freshet.last_route"); route != "columnar" {
		t.Errorf("a block in one piece read from %s: %s", route, one(t, c, "SHOW freshet.last_reason"))
	}
}

// What a cursor's query sets and what isolation a block had, the next statement knows.
func TestGateway_noticesWhatBlocksAndCursorsChange(t *testing.T) {
	t.Parallel()
	g := start(t, "CREATE TABLE f (id int PRIMARY KEY, v float8); INSERT INTO f VALUES (1, 333.33), (2, 1)")
	c, oltp := g.client(), g.client()
	exec(t, oltp, "SET freshet.route = oltp")
	const sql = "SELECT max(v) FROM f"
	columnar := func(after string) {
		t.Helper()
		wantSameAnswer(t, c, oltp, sql)
		if r := one(t, c, "SHOW freshet.last_route"); r != "columnar" {
			t.Errorf("after %s the last route is %q: %s", after, r, one(t, c, "SHOW freshet.last_reason"))
		}
	}
	columnar("nothing")
	for _, opening := range []string{"BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "BEGIN READ ONLY"} {
		exec(t, c, opening)
		_ = one(t, c, sql)
		exec(t, c, "COMMIT")
		columnar(opening)
	}
	for _, conn := range []*pgx.Conn{c, oltp} {
		exec(t, conn, "BEGIN")
		exec(t, conn, "DECLARE x CURSOR FOR SELECT set_config('extra_float_digits', '-10', false)")
		exec(t, conn, "FETCH x")
		exec(t, conn, "COMMIT")
	}
	wantSameAnswer(t, c, oltp, sql)
}
