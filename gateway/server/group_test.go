package server_test

import "testing"

// Keys of groups that are long are referred to by the names that they have in the engine, which columns have here as well.
func TestGateway_groupsByLongExpressionsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	const schema = `CREATE TABLE k (k1 int PRIMARY KEY, k2 int, a1 numeric(8,2), a2 text COLLATE "C", j jsonb);
INSERT INTO k SELECT i, nullif(i % 7, 3), i % 5 + i * 0.25, (ARRAY['x', 'y ', NULL, ''])[i % 4 + 1], CASE i % 6 WHEN 0 THEN NULL WHEN 1 THEN '{}' WHEN 2 THEN '["odd"]' ELSE jsonb_build_object('k1', 'v' || i % 3, 'k2', jsonb_build_object('a', i % 4)) END
  FROM generate_series(1, 120) i;
CREATE TABLE head (k1 int PRIMARY KEY, k2 text COLLATE "C"); INSERT INTO head SELECT i, 'h' || i % 2 FROM generate_series(0, 6) i`
	const first, second = "CASE WHEN k.k1 % 3 = 0 THEN k.k2 + 1 WHEN k.k2 IS NULL THEN -1 ELSE k.k1 % 4 END", "coalesce(upper(k.a2), 'none') || '-' || coalesce(k.k2, 0)::text"
	g := start(t, schema)
	columnar, oltp := g.routes()
	wantAlikeIn(t, columnar, oltp, 1, []string{
		"SELECT " + first + " AS k2, count(*) AS k1 FROM k GROUP BY 1 ORDER BY 1",
		"SELECT " + second + " AS k1, " + first + " AS k2, sum(k1), max(k2), min(a1) FROM k GROUP BY 1, 2 ORDER BY 1, 2",
		"SELECT " + second + ", k2, sum(k1) FROM k GROUP BY k2, 1 HAVING count(" + first + ") > 1 ORDER BY 1, 2 NULLS FIRST",
		"SELECT " + first + " + 1, count(DISTINCT " + second + ") FROM k WHERE " + first + " > 0 GROUP BY " + first + " ORDER BY 1",
		"SELECT sum(" + first + "), count(*) FROM k GROUP BY " + first + ", " + second + " ORDER BY 1, 2",
		"SELECT CASE WHEN k1 > 3 THEN k1 + k2 ELSE coalesce(k2, 0) * k1 END AS k1, count(*) FROM (SELECT " + first + " AS k1, count(*)::int AS k2 FROM k GROUP BY 1) x GROUP BY 1 ORDER BY 1",
		"SELECT j->>'k1' AS k1, j->'k2'->>'a' AS k2, count(*), sum(k1) FROM k GROUP BY 1, 2 ORDER BY 1, 2",
		"SELECT j->>'k1', count(*) FROM k WHERE j->>'k1' <> 'v2' GROUP BY j->>'k1' HAVING (j->>'k1') IS NOT NULL ORDER BY 2 DESC, 1",
		"SELECT " + first + ", " + second + ", sum(k1), GROUPING(" + second + ") FROM k GROUP BY ROLLUP (" + first + ", " + second + ") ORDER BY 1, 2, 4, 3",
		"SELECT coalesce(h.k2, 'none') || '-' || coalesce(h.k1, 0)::text AS k1, count(*), sum(k.k1) FROM head h LEFT JOIN k ON k.k2 = h.k1 GROUP BY 1 ORDER BY 1",
		"SELECT CASE WHEN h.k2 = 'h1' THEN h.k1 + 1 WHEN h.k1 IS NULL THEN 7 ELSE h.k1 % 4 END AS k1, h.k2, sum(k.k1) FROM k JOIN head h ON h.k1 = k.k2 GROUP BY 1, 2 ORDER BY 1, 2",
		"SELECT " + first + ", a1 / 3 + a1 * (k1 % 2) + coalesce(k2, 0), count(*) FROM k GROUP BY 1, 2 ORDER BY 1, 2",
		"SELECT 100 / (" + first + "), count(*) FROM k WHERE " + first + " <> 0 GROUP BY 1 ORDER BY 1",
	})
	wantSameOutcome(t, g.client(), oltp, "SELECT 100 / ("+first+"), count(*) FROM k GROUP BY 1 ORDER BY 1") // divides by zero
}

// A key with a subquery is that key wherever it stands in the list, in HAVING and in ORDER BY.
func TestGateway_groupsBySubqueriesAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, lateralSchema).routes()
	wantAlikeIn(t, columnar, oltp, 1, []string{
		"SELECT (SELECT max(id) FROM buyer) > n + 5 AS b, count(*) FROM sale GROUP BY 1 ORDER BY 1", "SELECT (SELECT b.since FROM buyer b WHERE b.id = s.buyer) AS d, sum(total), count(*) FROM sale s GROUP BY 1 ORDER BY 1", "SELECT (SELECT b.since FROM buyer b WHERE b.id = s.buyer) AS d, sum(total) FROM sale s GROUP BY (SELECT b.since FROM buyer b WHERE b.id = s.buyer) ORDER BY d DESC",
		"SELECT (SELECT b.since FROM buyer b WHERE b.id = s.buyer) AS d, n, sum(total) FROM sale s GROUP BY ROLLUP (1, 2) ORDER BY 1, 2, 3", "SELECT CASE WHEN EXISTS (SELECT FROM sale s WHERE s.buyer = b.id AND s.state = 'paid' AND s.n > 2) THEN 'payer' ELSE 'lead' END AS k, count(*) FROM buyer b GROUP BY 1 ORDER BY 1",
		"SELECT EXISTS (SELECT FROM sale s WHERE s.buyer = b.id AND s.n > 4) AS k, count(*), min(b.id) FROM buyer b GROUP BY k HAVING count(*) > 1 ORDER BY k", "SELECT count(*) FROM buyer b GROUP BY EXISTS (SELECT FROM sale s WHERE s.buyer = b.id) HAVING EXISTS (SELECT FROM sale s WHERE s.buyer = b.id)", "SELECT (SELECT count(*) FROM sale s WHERE s.buyer = b.id) AS n, count(*) FROM buyer b GROUP BY n ORDER BY n",
		"SELECT b.id IN (SELECT buyer FROM sale WHERE buyer IS NOT NULL) AS x, count(*) FROM buyer b GROUP BY 1 ORDER BY 1", "SELECT (SELECT max(s.n) FROM sale s WHERE s.buyer = b.id) AS n, (SELECT min(s.n) FROM sale s WHERE s.buyer = b.id) AS m, count(*) FROM buyer b GROUP BY 1, 2 ORDER BY 1, 2", "SELECT coalesce((SELECT max(s.n) FROM sale s WHERE s.buyer = b.id), 0) AS n, count(*) FROM buyer b GROUP BY 1 ORDER BY 1 DESC",
		"SELECT (SELECT s.state FROM sale s WHERE s.buyer = b.id ORDER BY s.id DESC LIMIT 1) AS x, count(*) FROM buyer b GROUP BY 1 ORDER BY 1",
	})
	wantAlikeIn(t, columnar, oltp, 0, []string{
		"SELECT (SELECT b.since FROM buyer b WHERE b.id = s.buyer) + 1 AS d, count(*) FROM sale s GROUP BY (SELECT b.since FROM buyer b WHERE b.id = s.buyer) ORDER BY 1", "SELECT (SELECT b.since FROM buyer b WHERE b.id = sale.buyer AND b.id > 0), count(*) FROM sale GROUP BY (SELECT b.since FROM buyer b WHERE b.id = sale.buyer), sale.buyer ORDER BY 1, 2",
	})
}
