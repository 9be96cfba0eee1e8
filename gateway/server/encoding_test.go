package server_test

import (
	"slices"
	"testing"
)

// What PostgreSQL is asked for on a session's connection may have letters that the client's encoding lacks.
func TestGateway_leavesBlocksWholeInAnyEncoding(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE SCHEMA "схема"; CREATE TABLE "схема".item (id int PRIMARY KEY, n int, age interval);
CREATE VIEW "схема"."вид" WITH (security_barrier) AS SELECT n FROM "схема".item;
INSERT INTO "схема".item SELECT i, i FROM generate_series(1, 10) i`)
	c := g.client()
	exec(t, c, `SET search_path = "схема"`)
	for _, encoding := range []string{"LATIN1", "SJIS", "UTF8"} {
		query(t, c, `SELECT n FROM "вид"`) // on PostgreSQL, for a reason that names the view
		exec(t, c, "SET client_encoding = '"+encoding+"'")
		for _, begin := range []string{"BEGIN READ ONLY", "BEGIN READ ONLY ISOLATION LEVEL REPEATABLE READ"} {
			exec(t, c, begin)
			one(t, c, "SHOW freshet.last_reason")
			if got := query(t, c, "SELECT sum(n) FROM item"); !slices.Equal(got, []string{"55"}) {
				t.Errorf("%s in %s: %v, want 55", begin, encoding, got)
			}
			exec(t, c, "COMMIT")
		}
		exec(t, c, "SET client_encoding = 'UTF8'")
	}
}
