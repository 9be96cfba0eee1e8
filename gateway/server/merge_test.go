package server_test

import "testing"

// PostgreSQL merges such a subquery into the query around, and asks the conditions of both in one order.
func TestGateway_failsWherePostgreSQLAsksConditionsOfAMergedSubqueryLater(t *testing.T) {
	t.Parallel()
	wantFailures(t,
		"SELECT count(*) FROM (SELECT * FROM n WHERE i4 = 77) q WHERE id % i4n IS NOT NULL",
		"SELECT count(*) FROM (SELECT id, i4n FROM n WHERE i4 + 0 = 77) q WHERE 10 / i4n > 0",
		"SELECT count(*) FROM (SELECT id AS k, i4n AS c2 FROM n WHERE abs(id) = 77) c1 WHERE 10 / c2 > 0",
		"SELECT count(*) FROM (SELECT id, i4 % 7 AS w, i4n FROM n) q WHERE w = 78 AND 10 / i4n > -70",
		"SELECT count(*) FROM (SELECT id, i4 % 7 AS w, 10 / i4n AS d FROM n) q WHERE w = 78 AND d > -70",
		"WITH q AS (SELECT id, id + 1 - 1 AS w, i4n FROM n) SELECT count(*) FROM q WHERE w = 77 AND 10 / i4n > 0",
		"SELECT count(*) FROM (SELECT * FROM (SELECT i4, id, i4n FROM n WHERE i4 = 77) p WHERE id > 0) q WHERE id % i4n IS NOT NULL",
		"SELECT count(*) FROM (SELECT * FROM (SELECT id % 7 AS w, i4n FROM n) p) q (a, b) WHERE a = 78 AND 10 / b > -70",
		"SELECT count(*) FROM (SELECT * FROM n WHERE i4 = 77) q JOIN a1 ON k = id WHERE id % i4n IS NOT NULL",
		"SELECT count(*) FROM a1 JOIN (SELECT * FROM n WHERE i4 = 77) q ON k = id AND id % i4n IS NOT NULL",
		"SELECT count(*) FROM (SELECT * FROM n WHERE i4 = 77) q LEFT JOIN a1 ON k = id WHERE id % i4n IS NOT NULL",
		"SELECT count(*) FROM (SELECT n.* FROM n JOIN a1 ON k = id WHERE i4 = 77) q WHERE id % i4n IS NOT NULL",
		"SELECT count(*) FROM (SELECT id, i4 FROM n WHERE id % i4n IS NOT NULL) q WHERE i4 = 77",
		"SELECT count(*) FROM a1 WHERE k IN (SELECT id FROM (SELECT * FROM n WHERE i4 = 77) q WHERE id % i4n IS NOT NULL)",
		"SELECT count(*) FROM a1 WHERE EXISTS (SELECT 1 FROM (SELECT * FROM n WHERE i4 = 77) q WHERE id = k AND id % i4n IS NOT NULL)",
		"SELECT count(*) FROM a1 WHERE EXISTS (SELECT 1 FROM n WHERE id = k AND i4 = 77 AND id % i4n IS NOT NULL)",
	)
}

// So it does where it moves conditions into a subquery that it computes by itself, and those of HAVING on keys into WHERE.
func TestGateway_failsWherePostgreSQLMovesConditionsIntoASubquery(t *testing.T) {
	t.Parallel()
	wantFailures(t,
		"SELECT i4n, count(*) FROM n WHERE abs(abs(i4n)) <> 0 GROUP BY i4n HAVING 10 / i4n > -70",
		"SELECT i4n, count(*) FROM n WHERE abs(abs(i4n)) <> 0 GROUP BY i4n HAVING 10 / i4n > -70 AND count(*) > 0",
		"SELECT id, count(*) FROM n WHERE abs(i4n) + abs(i4n) <> 0 GROUP BY id HAVING 10 / i4n > -70",
		"SELECT i4n + 1, count(*) FROM n WHERE abs(abs(i4n)) + abs(i4n) <> 0 GROUP BY i4n + 1 HAVING 10 / (i4n + 1 - 1) > -70",
		"SELECT * FROM (SELECT i4n AS k, count(*) FROM n WHERE abs(abs(i4n)) <> 0 GROUP BY i4n) q WHERE 10 / k > -70",
		"SELECT * FROM (SELECT id, i4n, count(*) FROM n WHERE abs(abs(i4n)) <> 0 GROUP BY id) q WHERE 10 / i4n > -70",
		"SELECT * FROM (SELECT i4n AS k, count(*) FROM n GROUP BY i4n HAVING abs(abs(i4n)) <> 0) q WHERE 10 / k > -70",
		"WITH q AS (SELECT i4n AS k, count(*) FROM n WHERE abs(abs(i4n)) <> 0 GROUP BY i4n) SELECT * FROM q WHERE 10 / k > -70",
		"SELECT * FROM (SELECT DISTINCT i4n AS k FROM n WHERE abs(abs(i4n)) <> 0) q WHERE 10 / k > -70",
		"SELECT * FROM (SELECT DISTINCT ON (i4n) i4n AS k, id FROM n WHERE abs(abs(i4n)) <> 0 ORDER BY i4n, id) q WHERE 10 / k > -70",
		"SELECT * FROM (SELECT i4n AS k, id FROM n WHERE abs(abs(i4n)) <> 0 ORDER BY id) q WHERE 10 / k > -70",
		"SELECT * FROM (SELECT i4n AS k, row_number() OVER (PARTITION BY i4n ORDER BY id) FROM n WHERE abs(abs(i4n)) <> 0) q WHERE 10 / k > -70",
		"SELECT * FROM (SELECT k, x FROM a1 WHERE k > 0 UNION ALL SELECT i4n, id FROM n WHERE abs(abs(i4n)) <> 0) q WHERE 10 / k > -70",
		"SELECT * FROM (SELECT k, x FROM a1 UNION ALL SELECT x, k FROM a1 UNION ALL SELECT i4n, id FROM n WHERE abs(abs(i4n)) <> 0) q WHERE 10 / k > -70",
		"SELECT * FROM (SELECT k FROM a1 UNION ALL SELECT i4n FROM n WHERE abs(abs(i4n)) <> 0 GROUP BY i4n) q WHERE 10 / k > -70",
		"SELECT * FROM (SELECT k FROM a1 UNION SELECT i4n FROM n WHERE abs(abs(i4n)) <> 0) q WHERE 10 / k > -70",
		"SELECT * FROM (SELECT 1 AS k FROM a1 UNION ALL SELECT i4n FROM n WHERE abs(abs(i4n)) <> 0) q WHERE 10 / k > -70",
		"SELECT * FROM (SELECT i4n AS k, id FROM n WHERE abs(abs(i4n)) <> 0 UNION ALL SELECT k, 1.5 FROM a1) q WHERE 10 / k > -70",
		"SELECT x, q.id FROM a1 LEFT JOIN (SELECT i4n, id FROM n WHERE abs(abs(i4n)) <> 0) q ON q.id = k AND 10 / q.i4n > -70",
		"SELECT x, q.id FROM (SELECT i4n, id FROM n WHERE abs(abs(i4n)) <> 0) q RIGHT JOIN a1 ON q.id = k AND 10 / q.i4n > -70",
		"SELECT id FROM n WHERE EXISTS (SELECT 1 FROM a1 WHERE k = id AND 10 / n.i4n > -70 AND abs(abs(n.i4n)) <> 0)",
		"SELECT count(*) FROM a1 WHERE EXISTS (SELECT 1 FROM (SELECT i4n FROM n WHERE abs(abs(i4n)) <> 0 UNION ALL SELECT x FROM a1) q WHERE 10 / i4n > -70 AND i4n = k)",
	)
}

// Of an INTERSECT with an empty arm PostgreSQL spares itself the arm that it takes for the larger, of an EXCEPT the second.
func TestGateway_failsWherePostgreSQLComputesAnArm(t *testing.T) {
	t.Parallel()
	wantFailures(t,
		"SELECT id FROM n WHERE id + 0 > 77 INTERSECT SELECT id FROM n WHERE 10 / i4n = 3",
		"SELECT id FROM n WHERE id + 0 > 77 INTERSECT ALL SELECT id FROM n WHERE 10 / i4n = 3",
		"SELECT id FROM n WHERE 10 / i4n = 3 INTERSECT ALL SELECT id FROM n WHERE id + 0 > 77",
		"SELECT id FROM n INTERSECT SELECT 10 / i4n FROM n",
		"SELECT * FROM (SELECT id FROM n WHERE id + 0 > 77 INTERSECT SELECT i4n FROM n WHERE abs(i4n) = 0) q WHERE 10 / id = 3",
		"SELECT id FROM n WHERE 10 / i4n = 3 EXCEPT SELECT id FROM n WHERE id + 0 > 77",
		"SELECT id FROM n EXCEPT ALL SELECT id FROM n WHERE 10 / i4n = 3",
	)
}

// What is moved changes nothing else, and conditions on what is aggregated or numbered stay where they are.
func TestGateway_answersWhereConditionsAreMovedIntoASubquery(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, parts).routes()
	for _, sql := range []string{
		"SELECT * FROM (SELECT id % 3 AS k, avg(i4n) AS v, sum(i4n) AS s, count(*) AS c FROM n WHERE i4n + id < 90 GROUP BY 1 HAVING sum(i4n) / count(*) > -1) q WHERE s / c >= 0 AND v / c >= 0 AND k + 1 > 0 ORDER BY k",
		"SELECT * FROM (SELECT id, avg(i4n) v FROM n WHERE id + i4n < 17 GROUP BY id UNION ALL SELECT k, 10.0 FROM a1 WHERE k + x > 1) q WHERE id + 1 > 0 AND v / 2 > 3 ORDER BY 1, 2",
		"SELECT * FROM (SELECT id, 'x' AS c FROM n WHERE id + i4n < 17 UNION ALL SELECT k, 'y' FROM a1 WHERE k + x > 1) q WHERE id + 1 > 4 AND c = 'x' ORDER BY 1, 2",
		"SELECT * FROM (SELECT id AS k, i4n AS v FROM n WHERE i4n > 0 UNION ALL SELECT k, x + 0.5 FROM a1 WHERE k > 1) q WHERE 10 / k >= 0 AND v > 1 ORDER BY 1, 2",
		"SELECT * FROM (SELECT id FROM n WHERE id + i4n < 17 INTERSECT SELECT k FROM a1 WHERE k + x > 1) q WHERE id + 1 > 4 ORDER BY 1",
		"SELECT i4n, t FROM n WHERE id + i4n < 17 INTERSECT ALL SELECT i4n, t FROM n WHERE id + i4n > 2 ORDER BY 1, 2",
		"SELECT i4n FROM n WHERE id + i4n < 17 INTERSECT SELECT i4n FROM n WHERE id + i4n > 2 ORDER BY 1",
		"SELECT * FROM (SELECT id FROM n WHERE id + i4n < 17 EXCEPT SELECT k FROM a1 WHERE k + x > 20) q WHERE id + 1 > 4 ORDER BY 1",
		"SELECT * FROM (SELECT DISTINCT id % 4 AS k, id / 4 AS d FROM n WHERE id + i4n < 17) q WHERE k + d > 2 ORDER BY 1, 2",
		"SELECT * FROM (SELECT DISTINCT ON (id % 4) id % 4 AS k, id, i4n FROM n WHERE id + i4n > 3 ORDER BY id % 4, id) q WHERE k + 1 > 2 AND i4n + 1 > 1 ORDER BY 1",
		"SELECT * FROM (SELECT id % 4 AS k, t, i4n, row_number() OVER (PARTITION BY t ORDER BY id) AS r FROM n WHERE id + i4n > 1) q WHERE k + 1 > 2 AND r + 1 < 4 ORDER BY t",
		"SELECT x, q.id FROM a1 LEFT JOIN (SELECT DISTINCT i4n, id FROM n WHERE i4n + id > 3) q ON q.id = k AND q.i4n + q.id > 6 ORDER BY 1, 2",
		"SELECT x, q.id FROM (SELECT i4n, id FROM n WHERE i4n + id > 3) q FULL JOIN a1 ON q.id = k AND q.i4n + q.id > 6 ORDER BY 1, 2",
		"SELECT i4n, count(*) FROM n GROUP BY i4n HAVING i4n <> 0 AND 10 / i4n > -70 ORDER BY 1",
		"SELECT id % 2, id % 3, sum(id) FROM n WHERE id + i4n > 0 GROUP BY ROLLUP (1, 2) HAVING id % 2 + id % 3 < 3 ORDER BY 1, 2",
	} {
		wantSameAnswer(t, columnar, oltp, sql)
	}
}

func TestGateway_answersWhereConditionsOfAMergedSubqueryComeFirst(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, parts+"; CREATE VIEW positive AS SELECT *, i4n * 2 AS twice FROM n WHERE i4n > 0").routes()
	for _, sql := range []string{
		"SELECT count(*) FROM positive WHERE 10 / i4n > 1",
		"SELECT id, 10 / twice AS d FROM positive WHERE 10 / twice > 1 ORDER BY 1",
		"SELECT count(*) FROM (SELECT * FROM n WHERE i4n <> 0) q WHERE 10 / i4n > 1 AND id > 2",
		"SELECT q.id, x FROM (SELECT id, i4n FROM n WHERE i4n <> 0) q JOIN a1 ON k = id WHERE 10 / i4n > 1 AND x > 2 ORDER BY 1",
		"SELECT q.id, x FROM (SELECT id, i4n, avg FROM (SELECT *, i4n / 2.0 AS avg FROM n) p WHERE i4n <> 0) q LEFT JOIN a1 ON k = id WHERE 10 / i4n > 1 ORDER BY 1",
		"WITH p AS (SELECT * FROM n WHERE i4n <> 0) SELECT (SELECT count(*) FROM p WHERE 10 / i4n > 1), (SELECT max(id) FROM p WHERE i4n = 3)",
		"SELECT t, count(*) FROM (SELECT * FROM n WHERE i4n BETWEEN 1 AND 4) q WHERE t <> 'a' AND 10 / i4n > 1 GROUP BY t ORDER BY t",
	} {
		wantSameAnswer(t, columnar, oltp, sql)
	}
}
