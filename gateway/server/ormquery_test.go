package server_test

import (
	"strings"
	"testing"
)

// Django groups a subquery for a value by the column that ties it. Where it finds no row it is NULL, a count too.
func TestGateway_takesAGroupedSubqueryForAValueAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, lateralSchema).routes()
	wantAlikeIn(t, columnar, oltp, 1, []string{
		`SELECT b.id, (SELECT COUNT(u0.id) AS c FROM sale u0 WHERE u0.buyer = (b.id) GROUP BY u0.buyer) FROM buyer b ORDER BY 1`,
		`SELECT b.id, COALESCE((SELECT COUNT(u0.total) AS c FROM sale u0 WHERE (u0.buyer = b.id AND u0.state = 'paid') GROUP BY u0.buyer), 0) AS n FROM buyer b ORDER BY 1`,
		`SELECT b.id, (SELECT count(s.total) FROM sale s WHERE s.buyer = b.id AND s.n IS NULL GROUP BY s.buyer) IS NULL FROM buyer b ORDER BY 1`,
		`SELECT b.id, (SELECT sum(s.total) AS t FROM sale s WHERE s.buyer = b.id GROUP BY s.buyer), (SELECT avg(s.total) FROM sale s WHERE s.buyer = b.id GROUP BY buyer) FROM buyer b ORDER BY 1`,
		`SELECT b.id FROM buyer b WHERE (SELECT count(*) FROM sale s WHERE s.buyer = b.id GROUP BY s.buyer) < 13 ORDER BY 1`,
		`SELECT b.id FROM buyer b WHERE (SELECT count(*) FROM sale s WHERE s.buyer = b.id GROUP BY s.buyer) IS NULL ORDER BY 1`,
		`SELECT b.id, (SELECT max(s.at) FROM sale s WHERE s.buyer = b.id GROUP BY s.buyer HAVING count(*) > 12) FROM buyer b ORDER BY 1`,
		`SELECT b.id, (SELECT 'some' FROM sale s WHERE s.buyer = b.id GROUP BY s.buyer HAVING count(*) >= 0) FROM buyer b ORDER BY 1`,
		`SELECT x.id, (SELECT count(*) FROM sale y WHERE y.buyer = x.buyer AND y.state = x.state GROUP BY y.state, y.buyer) FROM sale x ORDER BY 1`,
		`SELECT x.id, (SELECT count(*) FROM sale y WHERE y.code = x.code GROUP BY y.code), (SELECT count(*) FROM sale y WHERE y.buyer = x.buyer AND y.at < x.at GROUP BY y.buyer) FROM sale x ORDER BY 1`,
		`SELECT b.id, (SELECT count(*) FROM sale s JOIN buyer c ON c.id = s.n WHERE s.buyer = b.id GROUP BY s.buyer) FROM buyer b ORDER BY 1`,
		`SELECT (SELECT count(*) FROM sale s WHERE s.buyer = b.id GROUP BY s.buyer) AS k, count(*) FROM buyer b GROUP BY k ORDER BY k`,
	})
	wantAlikeIn(t, columnar, oltp, 0, []string{
		`SELECT b.id, (SELECT count(*) FROM sale s WHERE s.buyer = b.id GROUP BY s.state) FROM buyer b ORDER BY 1`,
		`SELECT b.id, (SELECT count(*) FROM sale s WHERE s.buyer = b.id GROUP BY s.buyer, s.state) FROM buyer b ORDER BY 1`,
		`SELECT b.id, (SELECT count(*) FROM sale s WHERE s.buyer = b.id GROUP BY ROLLUP (s.buyer)) FROM buyer b ORDER BY 1`,
		`SELECT b.id, (SELECT count(*) FROM sale s WHERE s.code = b.code GROUP BY s.code) FROM buyer b ORDER BY 1`, // texts that are equal as char(n) differ
		`SELECT b.id, (SELECT count(*) FROM sale s WHERE s.buyer + 1 = b.id GROUP BY s.buyer) FROM buyer b ORDER BY 1`,
	})
}

// A row is counted that is there, whatever is NULL in it; one that an outer join lacks is not.
func TestGateway_countsRowsByTheNameOfARelationAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, lateralSchema+`
CREATE TABLE plain (id int PRIMARY KEY, s int); INSERT INTO plain VALUES (1, NULL), (2, 3);`).routes()
	wantAlikeIn(t, columnar, oltp, 1, []string{
		`SELECT count(b), count(b.*) FROM buyer b`, `SELECT count(buyer.*), count(buyer) FROM buyer`,
		`SELECT b.id, count(s), count(s.*), count(b.*), count(*) FROM buyer b LEFT JOIN sale s ON s.buyer = b.id AND s.state = 'paid' GROUP BY b.id ORDER BY 1`,
		`SELECT b.id, count(s.*) FILTER (WHERE s.n > 2) FROM sale s RIGHT JOIN buyer b ON s.buyer = b.id GROUP BY b.id ORDER BY 1`,
		`SELECT count(s), count(b) FROM sale s FULL JOIN buyer b ON s.buyer = b.id`,
		`WITH source AS (SELECT name FROM buyer ORDER BY id LIMIT 20) SELECT null::bigint AS total, pg_catalog.count(t) AS page FROM (SELECT * FROM source) t`,
		`SELECT count(t) FROM (SELECT NULL::int AS a, NULL::int AS b FROM buyer) t`, `SELECT count(v) FROM (VALUES (1, 2), (NULL, NULL)) v (a, b)`,
		`SELECT count(s), count(p.s) FROM plain p JOIN plain s ON s.id = p.id`, // a column goes before a relation
		`SELECT count(g), count(*) FROM generate_series(1, 5) g`, `SELECT b.id, (SELECT count(s) FROM sale s WHERE s.buyer = b.id) FROM buyer b ORDER BY 1`,
	})
	wantAlikeIn(t, columnar, oltp, 0, []string{
		`SELECT count(DISTINCT s) FROM sale s`, `SELECT max(s) FROM plain s JOIN plain t ON true`, `SELECT count(nosuch) FROM sale s`,
		`SELECT b.id, count(t) FROM buyer b LEFT JOIN (SELECT buyer, n FROM sale) t ON t.buyer = b.id GROUP BY b.id ORDER BY 1`,
	})
}

// Hasura spells the row of which it makes a json out in two subqueries without tables.
func TestGateway_makesJSONOfRowsThatAreSpelledOutAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, lateralSchema).routes()
	wantAlikeIn(t, columnar, oltp, 1, []string{
		`SELECT row_to_json((SELECT "_e" FROM (SELECT "b"."id" AS "id", "b"."name", b.since::text AS "day", 'x' AS k, NULL AS none) AS "_e")) AS "root" FROM buyer b ORDER BY b.id`,
		`SELECT coalesce(json_agg("root" ORDER BY "root.pg.id" ASC NULLS LAST), '[]') AS "root" FROM (SELECT row_to_json((SELECT "_e" FROM (SELECT "_root.base"."id" AS "id", "_root.base"."total" AS "total") AS "_e")) AS "root", "_root.base"."id" AS "root.pg.id" FROM (SELECT * FROM sale WHERE (sale.n) > (('3')::int) ORDER BY id LIMIT 20) AS "_root.base" ORDER BY "root.pg.id") AS "_root"`,
		`SELECT to_jsonb((SELECT r FROM (SELECT b.name AS longest, b.id AS id, b.since AS s) r)) FROM buyer b ORDER BY b.id`,
		`SELECT json_build_object('row', (SELECT r FROM (SELECT state, count) r)) FROM (SELECT state, count(*) FROM sale GROUP BY state) s ORDER BY state`,
		`SELECT row_to_json((SELECT r FROM (SELECT s.state) r)) FROM sale s GROUP BY s.state ORDER BY s.state`,
	})
	wantAlikeIn(t, columnar, oltp, 0, []string{
		`SELECT row_to_json((SELECT r FROM (SELECT s.state, row_to_json((SELECT x FROM (SELECT s.state AS inner) x)) AS more) r)) FROM sale s GROUP BY s.state ORDER BY s.state`,
		`SELECT row_to_json((SELECT r FROM (SELECT b.*) r)) FROM buyer b ORDER BY b.id`,
		`SELECT row_to_json((SELECT r FROM (SELECT b.id AS r) r)) FROM buyer b ORDER BY b.id`, // the column, which is no row
		`SELECT row_to_json((SELECT r FROM (SELECT b.id AS a) r WHERE b.id > 3)) FROM buyer b ORDER BY b.id`,
		`SELECT row_to_json((SELECT r FROM (SELECT b.id AS a LIMIT 0) r)) FROM buyer b ORDER BY b.id`,
		`SELECT row_to_json((SELECT r FROM (SELECT b.id AS a UNION SELECT 1) r LIMIT 1)) FROM buyer b ORDER BY b.id`,
		`SELECT row_to_json((SELECT r FROM (SELECT count(b.id) AS n) r)) FROM buyer b ORDER BY b.id`,
		`SELECT row_to_json((SELECT r FROM (SELECT b.id) r (a))) FROM buyer b ORDER BY b.id`,
	})
}

// Several statements in one message PostgreSQL runs, whose snapshot is another than the block's: the error says what to change.
func TestGateway_saysThatABlocksSnapshotIsNotReadByManyStatementsInOneMessage(t *testing.T) {
	t.Parallel()
	columnar, _ := start(t, lateralSchema).routes()
	ask := func(sql string) error {
		_, err := columnar.PgConn().Exec(t.Context(), sql).ReadAll()
		return err
	}
	for _, sql := range []string{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "SELECT count(*) FROM buyer"} {
		if err := ask(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if err := ask("SELECT count(*) FROM buyer; SELECT 1"); err == nil || !strings.Contains(err.Error(), "several statements in one message") {
		t.Errorf("two statements in one message: %v", err)
	}
}
