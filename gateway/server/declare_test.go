package server_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// A cursor that is declared outside of a block, as Django's, or in a READ COMMITTED one, as psycopg's, has the replica's rows of the moment of its
// DECLARE, and is PostgreSQL's in all else.
func TestGateway_handsPostgreSQLTheRowsOfACursor(t *testing.T) {
	t.Parallel()
	g := start(t, fewItems, nextOf)
	direct, c, other := g.connect(g.oltp.URL("postgres")), g.client(), g.connect(g.oltp.URL("postgres"))
	const (
		items    = "FOR SELECT id, name FROM item ORDER BY id"
		write    = "UPDATE item SET name = 'y' || id" // by another session
		withdraw = "UPDATE item SET name = 'x'"
		cursors  = "SELECT name, is_holdable, is_binary, is_scrollable FROM pg_cursors"
	)
	for name, statements := range map[string][]string{
		"outside of a block": {`DECLARE "_django_curs_1" NO SCROLL CURSOR WITH HOLD ` + items, write, cursors, `FETCH FORWARD 2 FROM "_django_curs_1"`,
			`FETCH BACKWARD 1 FROM "_django_curs_1"`, `FETCH 10 FROM "_django_curs_1"`, `CLOSE "_django_curs_1"`, `CLOSE "_django_curs_1"`},
		"of a block":      {"BEGIN READ ONLY", `DECLARE "of ""it" CURSOR ` + items, write, `FETCH 3 FROM "of ""it"`, `FETCH PRIOR FROM "of ""it"`, "COMMIT", `FETCH "of ""it"`},
		"held by a block": {"BEGIN READ ONLY", "DECLARE c BINARY SCROLL CURSOR WITH HOLD " + items, "FETCH c", write, cursors, "COMMIT", "FETCH LAST FROM c", "CLOSE ALL", "FETCH c"},
		"of an earlier transaction": {"DECLARE c SCROLL CURSOR WITH HOLD " + items, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "SELECT count(*) FROM item", write, "FETCH 2 FROM c",
			"SELECT min(name) FROM item", "MOVE 2 IN c", "FETCH PRIOR FROM c", "SELECT max(name) FROM item", "CLOSE c", "FETCH c", "COMMIT"},
		"rolled back":                       {"BEGIN READ ONLY", "DECLARE c SCROLL CURSOR WITH HOLD " + items, "ROLLBACK", "FETCH c"},
		"rolled back in a block":            {"BEGIN READ ONLY", "SAVEPOINT s", "DECLARE c CURSOR " + items, "FETCH c", "ROLLBACK TO SAVEPOINT s", "FETCH c", "ROLLBACK"},
		"discarded":                         {"DECLARE c CURSOR WITH HOLD " + items, "DISCARD ALL", "FETCH c"},
		"of a plan that goes forward alone": {"DECLARE c CURSOR WITH HOLD FOR SELECT max(id), 'x' FROM item", "FETCH 2 FROM c", "FETCH PRIOR FROM c", cursors, "CLOSE c"},
		"of no rows":                        {"DECLARE c CURSOR WITH HOLD FOR SELECT id, name FROM item WHERE length(name) > 9 ORDER BY id", "FETCH c", "MOVE ALL IN c", "CLOSE c"},
		"that a function moves":             {"DECLARE c CURSOR WITH HOLD " + items, write, "SELECT next_of('c')", "FETCH c", "UPDATE item SET name = 'z' WHERE CURRENT OF c", cursors, "CLOSE c"},
	} {
		answers := map[*pgx.Conn][]string{}
		for _, side := range []*pgx.Conn{direct, c} {
			for _, sql := range statements {
				if sql == write {
					exec(t, other, sql)
					continue
				}
				answers[side] = append(answers[side], sql)
				answers[side] = append(answers[side], outcome(t, side, sql)...)
				if side == c && strings.HasPrefix(sql, "DECLARE") {
					wantColumnar(t, c, name)
				}
			}
			exec(t, other, withdraw)
			exec(t, c, "SET freshet.freshness = strong") // after DISCARD ALL, too
		}
		if diff := cmp.Diff(answers[direct], answers[c]); diff != "" {
			t.Errorf("a cursor %s (-PostgreSQL +gateway):\n%s", name, diff)
		}
	}
}

func wantColumnar(t *testing.T, c *pgx.Conn, what string) {
	t.Helper()
	if route := one(t, c, "SHOW freshet.last_route"); route != "columnar" {
		t.Errorf("%s: route %s: %s", what, route, one(t, c, "SHOW freshet.last_reason"))
	}
}

// A name that there is already, and a query that PostgreSQL refuses, are refused in its words.
func TestGateway_refusesACursorAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	g := start(t, fewItems)
	direct, c := g.connect(g.oltp.URL("postgres")), g.client()
	const hold = "DECLARE c CURSOR WITH HOLD FOR SELECT id FROM item ORDER BY id"
	for _, sql := range []string{hold, hold, "FETCH 2 FROM c", "DECLARE c NO SCROLL CURSOR WITH HOLD FOR SELECT 1 / (id - 5) FROM item", "DECLARE d CURSOR WITH HOLD FOR SELECT 1 / (id - 5) FROM item",
		"DECLARE d CURSOR WITH HOLD FOR SELECT nothing FROM item", "DECLARE d CURSOR FOR SELECT id FROM item", "FETCH d", "BEGIN READ ONLY", hold, "FETCH c", "ROLLBACK", "FETCH c"} {
		wantSameOutcome(t, c, direct, sql)
	}
}

// The rows are those of PostgreSQL's cursor in either format, and so are their descriptions but for the tables that columns are of.
func TestGateway_handsPostgreSQLValuesOfAllTypes(t *testing.T) {
	t.Parallel()
	g := start(t, readings, `CREATE TABLE other (id int PRIMARY KEY, wide float8, narrow float4, any_scale numeric, raw bytea, char "char", of_name name);
INSERT INTO other VALUES (1, 1.0 / 3, 0.1, 12.3400, '\x00ff', 'c', 'n'), (2, 'NaN', '-Infinity', 'NaN', '', NULL, '')`)
	direct, c := g.connect(g.oltp.URL("postgres")), g.client()
	exec(t, c, "SET freshet.freshness = strong")
	for _, sql := range []string{"SELECT * FROM reading ORDER BY id", "SELECT * FROM other ORDER BY id", `SELECT name, count(*), avg(price) AS "Average", sum(price) AS a, max(seen) AS a FROM reading GROUP BY name ORDER BY name`} {
		for _, side := range []*pgx.Conn{direct, c} {
			exec(t, side, "DECLARE c SCROLL CURSOR WITH HOLD FOR "+sql)
		}
		wantColumnar(t, c, sql)
		for _, format := range []int16{pgtype.TextFormatCode, pgtype.BinaryFormatCode} {
			var answers [2]any
			for i, side := range []*pgx.Conn{direct, c} {
				exec(t, side, "SET TimeZone = 'Asia/Kathmandu'; SET bytea_output = 'escape'; MOVE ABSOLUTE 0 IN c")
				result := side.PgConn().ExecParams(t.Context(), "FETCH ALL FROM c", nil, nil, nil, []int16{format}).Read()
				for n := range result.FieldDescriptions {
					result.FieldDescriptions[n].TableOID, result.FieldDescriptions[n].TableAttributeNumber = 0, 0
				}
				answers[i] = []any{result.FieldDescriptions, result.Rows, result.Err}
			}
			if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
				t.Errorf("%s in format %d (-PostgreSQL +gateway):\n%s", sql, format, diff)
			}
		}
		for _, side := range []*pgx.Conn{direct, c} {
			exec(t, side, "CLOSE c; RESET ALL")
		}
		exec(t, c, "SET freshet.freshness = strong")
	}
}

// More rows than PostgreSQL is to be handed it reads itself.
func TestGateway_leavesACursorOfManyRowsToPostgreSQL(t *testing.T) {
	t.Parallel()
	g := start(t, manyItems)
	c := g.client()
	exec(t, c, "DECLARE c NO SCROLL CURSOR WITH HOLD FOR SELECT id, name, name || id FROM item ORDER BY id")
	if route := one(t, c, "SHOW freshet.last_route"); route != "oltp" {
		t.Errorf("route %s: %s", route, one(t, c, "SHOW freshet.last_reason"))
	}
	if n := len(query(t, c, "FETCH ALL FROM c")); n != 30000 {
		t.Errorf("%d rows, want all", n)
	}
}
