package server_test

import "testing"

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
