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
