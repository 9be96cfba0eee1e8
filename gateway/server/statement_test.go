package server_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

const items = `CREATE TABLE item (id int PRIMARY KEY, n int NOT NULL); INSERT INTO item SELECT i, i FROM generate_series(1, 100) i;
CREATE TABLE note (id serial PRIMARY KEY, t text);
CREATE PROCEDURE work() LANGUAGE sql AS 'INSERT INTO note (t) VALUES (1)'`

// runs executes a prepared statement and returns the route that it took.
func runs(t *testing.T, c *pgx.Conn, name string, params ...[]byte) (route string) {
	t.Helper()
	if r := c.PgConn().ExecPrepared(t.Context(), name, params, nil, nil).Read(); r.Err != nil {
		t.Fatalf("%s: %v", name, r.Err)
	}
	return one(t, c, "SHOW freshet.last_route")
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != code {
		t.Errorf("%v, want SQLSTATE %s", err, code)
	}
}

// A temporary schema remains until its session ends. It means nothing while there is nothing in it.
func TestGateway_readsTheReplicaAgainWhenTemporaryRelationsAreGone(t *testing.T) {
	t.Parallel()
	g := start(t, items)
	c := g.client()
	for _, step := range []struct{ sql, route string }{
		{"CREATE TEMP TABLE item AS SELECT 1 AS n", "oltp"}, {"DROP TABLE item", "columnar"},
		{"CREATE TEMP VIEW item AS SELECT 2 AS n", "oltp"}, {"DISCARD TEMP", "columnar"},
		{"CREATE DOMAIN pg_temp.text AS int", "oltp"}, {"DROP DOMAIN pg_temp.text", "columnar"},
		{"CREATE TEMP TABLE other (n int)", "oltp"}, {"DISCARD ALL", "columnar"},
		{"BEGIN; CREATE TEMP TABLE item (n int) ON COMMIT DROP; COMMIT", "columnar"},
		{"DO $$BEGIN EXECUTE 'CREATE TEMP TABLE item AS SELECT 3 AS n'; END$$", "oltp"},
	} {
		exec(t, c, step.sql)
		got := one(t, c, "SELECT sum(n) FROM item")
		if route := one(t, c, "SHOW freshet.last_route"); route != step.route {
			t.Errorf("after %s: %s from route %s: %s", step.sql, got, route, one(t, c, "SHOW freshet.last_reason"))
		}
	}
	if got := one(t, c, "SELECT sum(n) FROM item"); got != "3" {
		t.Errorf("the temporary table that shadows the other has %s", got)
	}
}

// Pools keep their statements while they reset a session, and sessions theirs beside whatever else they run.
func TestGateway_knowsItsStatementsAfterAnyOther(t *testing.T) {
	t.Parallel()
	g := start(t, items)
	c := g.client()
	prepare := func(name string) {
		t.Helper()
		if _, err := c.PgConn().Prepare(t.Context(), name, "SELECT sum(n) FROM item", nil); err != nil {
			t.Fatal(err)
		}
	}
	prepare("a")
	for _, sql := range []string{
		"SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL;",
		"SET SESSION AUTHORIZATION DEFAULT;RESET ALL;CLOSE ALL;UNLISTEN *;SELECT pg_advisory_unlock_all();DISCARD SEQUENCES;DISCARD TEMP",
		"INSERT INTO note (t) VALUES ('a;b')", "SELECT 1; SELECT 2", "CALL work()", "DO $$BEGIN PERFORM 1; END$$", "DISCARD PLANS",
		"PREPARE b AS SELECT 1", "DEALLOCATE PREPARE b", `PREPARE "B c" AS SELECT 1`, `DEALLOCATE "B c"`,
		"INSERT INTO note (t) VALUES ('" + strings.Repeat("x", 2<<20) + "')",
	} {
		exec(t, c, sql)
		if route := runs(t, c, "a"); route != "columnar" {
			t.Errorf("after %.60s: route %s: %s", sql, route, one(t, c, "SHOW freshet.last_reason"))
		}
	}
	long := []byte(strings.Repeat("x", 2<<20))
	for _, sql := range []string{"INSERT INTO note (t) VALUES ($1)", "INSERT INTO note (t) VALUES ($1) /*" + string(long) + "*/"} {
		if r := c.PgConn().ExecParams(t.Context(), sql, [][]byte{long}, nil, nil, nil).Read(); r.Err != nil {
			t.Fatal(r.Err)
		}
		if route := runs(t, c, "a"); route != "columnar" {
			t.Errorf("after a long message: route %s: %s", route, one(t, c, "SHOW freshet.last_reason"))
		}
	}
	for _, sql := range []string{"DEALLOCATE a", "DEALLOCATE ALL", "DISCARD ALL", "SELECT 1; DEALLOCATE a", "DO $$BEGIN EXECUTE 'DEALLOCATE a'; END$$"} {
		exec(t, c, sql)
		wantCode(t, c.PgConn().ExecPrepared(t.Context(), "a", nil, nil, nil).Read().Err, "26000")
		prepare("a")
	}
	exec(t, c, "DEALLOCATE a; PREPARE a AS SELECT 5")
	if r := c.PgConn().ExecPrepared(t.Context(), "a", nil, nil, nil).Read(); r.Err != nil || string(r.Rows[0][0]) != "5" {
		t.Errorf("%q, %v; want what the name stands for now", r.Rows, r.Err)
	}
}

func TestGateway_explainsOneStatementAlone(t *testing.T) {
	t.Parallel()
	g := start(t, items)
	c := g.client()
	for _, sql := range []string{"EXPLAIN (FRESHET) SELECT sum(n) FROM item; DELETE FROM item", "SELECT nextval('note_id_seq'); EXPLAIN (FRESHET) SELECT sum(n) FROM item"} {
		_, err := c.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		wantCode(t, err, "42601")
	}
	if n := one(t, c, "SELECT count(*) FROM item"); n != "100" {
		t.Errorf("%s rows, want all", n)
	}
}

// A connection's statements may have been prepared in another state of the session.
func TestGateway_runsAPointReadWhereverItWasPrepared(t *testing.T) {
	t.Parallel()
	g := start(t, items)
	c := g.client()
	if _, err := c.PgConn().Prepare(t.Context(), "point", "SELECT n FROM item WHERE id = $1", nil); err != nil {
		t.Fatal(err)
	}
	runs(t, c, "point", []byte("7"))
	exec(t, c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	one(t, c, "SELECT sum(n) FROM item")
	if route := runs(t, c, "point", []byte("7")); route != "columnar" {
		t.Errorf("in the block: route %s", route)
	}
	exec(t, c, "COMMIT")
	exec(t, c, "SET freshet.route = columnar")
	if route := runs(t, c, "point", []byte("7")); route != "columnar" {
		t.Errorf("by the setting: route %s", route)
	}
}

// What does not fit a Bind is PostgreSQL's to say, or the gateway's where it alone knows the statement.
func TestGateway_outlivesFormatCodesThatDoNotFit(t *testing.T) {
	t.Parallel()
	g := start(t, items)
	for _, ways := range []messages{
		{&pgproto3.Parse{Query: "EXPLAIN (FRESHET) SELECT $1::int, $2::int, $3::int"},
			&pgproto3.Bind{ParameterFormatCodes: []int16{0, 0}, Parameters: [][]byte{{'1'}, {'2'}, {'3'}}}, &pgproto3.Execute{}, &pgproto3.Sync{}},
		{&pgproto3.Parse{Query: "EXPLAIN (FRESHET) SELECT sum(n) FROM item"}, &pgproto3.Bind{ResultFormatCodes: []int16{0, 0, 0}}, &pgproto3.Execute{}, &pgproto3.Sync{}},
		{&pgproto3.Query{String: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}, &pgproto3.Parse{Query: "DECLARE c CURSOR FOR SELECT id, n, n FROM item"},
			&pgproto3.Bind{ResultFormatCodes: []int16{0, 0}}, &pgproto3.Execute{}, &pgproto3.Sync{}},
	} {
		converse(t, g.client(), ways, together)
	}
	if n := one(t, g.client(), "SELECT count(*) FROM item"); n != "100" {
		t.Errorf("%s rows, want all", n)
	}
}

// A result that is read in pieces goes on behind statements that are not looked at, as long as these end no block.
func TestGateway_readsOnBehindOtherStatements(t *testing.T) {
	t.Parallel()
	g := start(t, items)
	c := g.client()
	exec(t, c, "BEGIN READ ONLY")
	untilReady(t, c, messages{&pgproto3.Parse{Query: "SELECT id FROM item ORDER BY id"}, &pgproto3.Bind{DestinationPortal: "p"}, &pgproto3.Execute{Portal: "p", MaxRows: 60}, &pgproto3.Sync{}})
	for _, step := range []messages{
		{&pgproto3.Query{String: "SET LOCAL a.b = '1'; SET LOCAL a.c = '2'"}},
		{&pgproto3.Parse{Query: "SELECT $1::text"}, &pgproto3.Bind{Parameters: [][]byte{[]byte(strings.Repeat("x", 2<<20))}}, &pgproto3.Execute{}, &pgproto3.Sync{}},
	} {
		untilReady(t, c, step)
		got := untilReady(t, c, messages{&pgproto3.Execute{Portal: "p", MaxRows: 20}, &pgproto3.Sync{}})
		if rowsOf(got) != 20 {
			t.Errorf("%q, want 20 rows more", got)
		}
	}
}

// A BEGIN within a pipeline makes the block of what came before it since the last Sync.
func TestGateway_showsABlockWhatItsUnitWrote(t *testing.T) {
	t.Parallel()
	g := start(t, items)
	c := g.client()
	for _, id := range []string{"101", "102"} {
		unit := slices.Concat(once("INSERT INTO item VALUES ("+id+", 1)"), once("BEGIN READ ONLY"), once("SELECT count(*) FROM item"), once("COMMIT"), messages{&pgproto3.Sync{}})
		if got := untilReady(t, c, unit); !slices.Contains(got, fmt.Sprintf("DataRow [%q]", id)) {
			t.Errorf("%q, want a count of %s", got, id)
		}
	}
}

// Behind an error all is skipped up to the Sync, be it as long as it may.
func TestGateway_skipsLongMessagesOfARefusedUnit(t *testing.T) {
	t.Parallel()
	g := start(t, items)
	c := g.client()
	insert := messages{&pgproto3.Parse{Query: "INSERT INTO note (t) VALUES ($1)"}, &pgproto3.Bind{Parameters: [][]byte{[]byte(strings.Repeat("x", 2<<20))}}, &pgproto3.Execute{}, &pgproto3.Sync{}}
	got := untilReady(t, c, slices.Concat(once("SET freshet.max_staleness = 'bogus'"), insert))
	if !slices.Equal(got, []string{"ErrorResponse 22023", "ReadyForQuery I"}) {
		t.Errorf("%q, want the error alone", got)
	}
	if got := untilReady(t, c, insert); !slices.Contains(got, "CommandComplete INSERT 0 1") {
		t.Errorf("%q, want a row", got)
	}
	if n := one(t, c, "SELECT count(*) FROM note"); n != "1" {
		t.Errorf("%s rows, want 1", n)
	}
}

// Drivers without autocommit send BEGIN with the first statement of a transaction.
func TestGateway_attendsToTheFirstStatementOfABlock(t *testing.T) {
	t.Parallel()
	g := start(t, items)
	for sql, want := range map[string]string{
		"EXPLAIN (FRESHET) SELECT sum(n) FROM item":   `DataRow ["Route: oltp"]`,
		"SHOW freshet.last_route":                     `DataRow ["columnar"]`,
		"SELECT current_setting('freshet.route')":     `DataRow ["auto"]`,
		"SET freshet.route = 'colummnar'":             "ErrorResponse 22023",
		"SELECT count(*) FROM item WHERE id = id + 0": `DataRow ["100"]`,
	} {
		c := g.client()
		one(t, c, "SELECT sum(n) FROM item")
		unit := slices.Concat(once("BEGIN"), messages{&pgproto3.Parse{Query: sql}}, portal("", "", true, false), messages{&pgproto3.Sync{}})
		got := untilReady(t, c, unit)
		if !slices.Contains(got, want) {
			t.Errorf("%s: %q, want %s", sql, got, want)
		}
	}
	c := g.client()
	exec(t, c, "SET freshet.route = columnar")
	unit := slices.Concat(once("BEGIN"), once("SELECT sum(n) FROM item"), messages{&pgproto3.Sync{}})
	if got := untilReady(t, c, unit); !slices.Contains(got, "ErrorResponse 0A000") {
		t.Errorf("%q, want the refusal that the second statement of the block would get", got)
	}
}
