package server_test

import (
	"slices"
	"strings"
	"testing"
)

const parts = `CREATE TABLE n (id int PRIMARY KEY, i4n int NOT NULL, i4 int NOT NULL, t text COLLATE "C" NOT NULL);
INSERT INTO n SELECT i, i - 3, CASE i WHEN 1 THEN 2147483647 ELSE i END, CASE i WHEN 2 THEN 'x' ELSE i::text END FROM generate_series(1, 12) i;
CREATE TABLE a1 (k int PRIMARY KEY, x int);
INSERT INTO a1 SELECT i, i * 2 FROM generate_series(1, 9) i`

// PostgreSQL computes what such a subquery yields before anything is asked of its rows, and of a value whether it is needed.
func TestGateway_failsWherePostgreSQLComputesASubqueryByItself(t *testing.T) {
	t.Parallel()
	wantFailures(t,
		"SELECT sum(d) FROM (SELECT id AS k, 10 / i4n AS d FROM n LIMIT 100) q WHERE k > 7",
		"SELECT sum(d) FROM (SELECT id AS k, 10 / i4n AS d FROM n LIMIT ALL) q WHERE k > 7",
		"SELECT sum(d) FROM (SELECT id AS k, 10 / i4n AS d FROM n LIMIT NULL) q WHERE k > 7",
		"SELECT sum(d) FROM (SELECT id AS k, 10 / i4n AS d FROM n OFFSET NULL) q WHERE k > 7",
		"SELECT sum(d) FROM (SELECT id AS k, 10 / i4n AS d FROM n FETCH FIRST 50 ROWS ONLY) q WHERE k > 7",
		"SELECT sum(d) FROM (SELECT id AS k, 10 / i4n AS d FROM n ORDER BY id LIMIT 100) q WHERE k > 7",
		"SELECT sum(d) FROM (SELECT DISTINCT ON (id) id AS k, 10 / i4n AS d FROM n ORDER BY id, t) q WHERE d > 1",
		"WITH q AS (SELECT id AS k, 10 / i4n AS d FROM n LIMIT 100) SELECT sum(d) FROM q WHERE k > 7",
		"WITH q AS (SELECT id AS k, 10 / i4n AS d FROM n OFFSET 0) SELECT sum(d) FROM q WHERE k > 7",
		"SELECT sum(d) FROM (SELECT * FROM (SELECT id AS k, 10 / i4n AS d FROM n OFFSET 0) p) q WHERE k > 7",
		"SELECT count(*) FROM (SELECT id AS k FROM n WHERE 10 / i4n < 100 OFFSET 0) q WHERE k > 7",
		"SELECT d, rn FROM (SELECT k, 1 / (k - 1) AS d, row_number() OVER (ORDER BY k) rn FROM a1) q WHERE rn > 5",
		"SELECT d, rn FROM (SELECT * FROM (SELECT k, 1 / (k - 1) AS d, row_number() OVER (ORDER BY k) rn FROM a1) p) q WHERE rn > 5",
		"SELECT d, rn FROM (SELECT k, 1.5 / (k - 1) AS d, row_number() OVER (ORDER BY k) rn FROM a1) q WHERE rn > 5",
		"SELECT d, y.x FROM (SELECT k, 1 / (k - 1) AS d, row_number() OVER (ORDER BY k) rn FROM a1) q LEFT JOIN a1 y USING (k) WHERE rn > 5",
		"SELECT sum(CASE WHEN k = 7 THEN d END) FROM (SELECT k, 1 / (k - 1) AS d, sum(x) OVER (PARTITION BY k) FROM a1) q",
		"SELECT sum(CASE WHEN k = 7 THEN d END) FROM (SELECT id AS k, 10 / sum(i4n) AS d FROM n GROUP BY id) q",
		"SELECT sum(CASE WHEN k = 7 THEN d END) FROM (SELECT id AS k, 10 / sum(i4n) AS d, avg(i4n) AS a FROM n GROUP BY id) q WHERE a > -5",
		"SELECT sum(CASE WHEN k = 7 THEN d END) FROM (SELECT * FROM (SELECT id AS k, 10 / sum(i4n) AS d FROM n GROUP BY id) p) q",
		"SELECT sum(d) FILTER (WHERE k = 7) FROM (SELECT id AS k, 10 / sum(i4n) AS d FROM n GROUP BY id) q",
		"SELECT sum(CASE WHEN k = 7 THEN d END) FROM (SELECT id AS k, 10 / i4n AS d FROM n UNION ALL SELECT k, x FROM a1) q",
		"SELECT sum(CASE WHEN k = 7 THEN d END) FROM (SELECT id AS k, 10 / i4n AS d FROM n ORDER BY id) q",
		"SELECT sum(d) FROM ((SELECT id AS k, 10 / i4n AS d FROM n LIMIT 100) UNION ALL SELECT k, x FROM a1) q WHERE k > 7",
		"SELECT sum(CASE WHEN q.k = 7 THEN d END) FROM (SELECT id AS k, 10 / sum(i4n) AS d FROM n GROUP BY id) q JOIN a1 ON a1.k = q.k",
		"SELECT d FROM (SELECT id AS k, i4 + 1 AS d FROM n LIMIT 100) q WHERE k > 1",
		"SELECT d FROM (SELECT k, 1 / (k - 1) AS d FROM a1 OFFSET 0) q WHERE k > 1",
		"SELECT d FROM (SELECT id AS k, t::int AS d FROM n LIMIT 100) q WHERE k = 11",
		"SELECT d FROM (SELECT i4n AS k, 10 / (count(*) - 1) AS d FROM n GROUP BY i4n LIMIT 100) q WHERE k = 7",
		"SELECT max(d) FROM (SELECT id AS k, 10 / i4n AS d FROM n LIMIT 100) q JOIN a1 ON q.k = a1.k AND a1.k > 5",
		"SELECT max(d) FROM (SELECT id AS k, 10 / sum(i4n) AS d FROM n GROUP BY id) q JOIN a1 ON q.k = a1.k AND a1.k > 5",
		"SELECT max(d), min(x) FROM (SELECT id AS k, 10 / sum(i4n) AS d FROM n GROUP BY id) q JOIN a1 ON q.k = a1.k WHERE a1.k > 5",
		"SELECT max(d), min(x) FROM (SELECT * FROM (SELECT id AS k, 10 / sum(i4n) AS d FROM n GROUP BY id) p) q JOIN a1 ON q.k = a1.k WHERE a1.k > 5",
		"SELECT max(d), min(x) FROM a1 LEFT JOIN (SELECT id AS k, 10 / sum(i4n) AS d FROM n GROUP BY id) q ON q.k = a1.k WHERE a1.k > 5",
		"SELECT max(d), min(x) FROM (SELECT a1.k, d, x FROM a1 JOIN (SELECT id AS k, 10 / sum(i4n) AS d FROM n GROUP BY id) q ON q.k = a1.k) s WHERE k > 5",
		"SELECT max(d) FROM (SELECT a1.k, max(d) AS d FROM a1 JOIN (SELECT id AS k, 10 / sum(i4n) AS d FROM n GROUP BY id) q ON q.k = a1.k GROUP BY a1.k) s WHERE k > 5",
		"SELECT max(d) FROM a1 a LEFT JOIN (a1 JOIN (SELECT id AS k, 10 / sum(i4n) AS d FROM n GROUP BY id) q ON q.k = a1.k) ON a.k = a1.k AND a1.k > 5",
		"SELECT max(d) FROM (SELECT id AS k, 10 / i4n AS d FROM n UNION ALL SELECT k, x FROM a1) q WHERE k IN (SELECT k FROM a1 WHERE x > 10)",
		"SELECT max(d) FROM (SELECT id AS k, 10 / i4n AS d FROM n LIMIT 100) q WHERE k IN (SELECT k FROM a1 WHERE x > 10)",
		"SELECT sum(CASE WHEN q.k = 7 THEN d END) FROM a1 LEFT JOIN (n JOIN (SELECT id AS k, 10 / sum(i4n) AS d FROM n GROUP BY id) q ON q.k = n.id) ON q.k = a1.k",
	)
}

// PostgreSQL asks cheaper conditions first, and equalities with constants after others of their cost: these meet rows that it drops.
func TestGateway_failsWherePostgreSQLAsksAConditionBeforeOthers(t *testing.T) {
	t.Parallel()
	wantFailures(t,
		"SELECT count(*) FROM n WHERE i4 = 77 AND 10 / i4n IS NOT NULL",
		"SELECT count(*) FROM n WHERE 77 = i4 AND i4 > -5 AND 10 / i4n IS NOT NULL",
		"SELECT count(*) FROM n WHERE t = 'q' AND i4 + 1 IS NOT NULL",
		"SELECT count(*) FROM n WHERE 10 / i4n IS NOT NULL AND i4 < -77",
		"SELECT count(*) FROM n WHERE 10 / i4n IS NOT NULL AND i4 IN (77, 78)",
		"SELECT count(*) FROM n WHERE 10 / i4n > -70 AND i4 % 7 > 8",
		"SELECT count(*) FROM n WHERE (i4 = 77 OR i4n = 78) AND 10 / i4n IS NOT NULL",
		"SELECT count(*) FROM n WHERE i4 % 7 + i4n % 7 > 80 AND 10 / i4n > -70",
		"SELECT count(*) FROM n WHERE i4 IN (SELECT x + 100 FROM a1) AND 10 / i4n > -70",
		"SELECT count(*) FROM n WHERE 10 / i4n > -70 AND CASE WHEN i4 % 7 > 8 THEN true END",
		"SELECT count(*) FROM a1 LEFT JOIN n ON n.i4 % 7 = a1.k AND 10 / n.i4n > -70 AND n.i4 % 7 > 8",
		"SELECT id, i4 FROM n WHERE abs(abs(i4n)) <> 0 AND 10 / i4n > -70",
		"SELECT id, i4 FROM n WHERE abs(i4n) + abs(i4n) <> 0 AND 10 / i4n > -70 AND t <> 'q'",
	)
}

// A condition that nothing of the result depends on is one of these values, and so is what stands beside a NULL.
func TestGateway_failsWhereWhatMattersNotDoes(t *testing.T) {
	t.Parallel()
	wantFailures(t,
		"SELECT count(CASE WHEN 10 / i4n > 5 THEN 1 ELSE 2 END) FROM n",
		"SELECT count(CASE i4 WHEN 10 / i4n THEN 1 ELSE 2 END) FROM n",
		"SELECT count(CASE WHEN t::int > 5 THEN 'a' ELSE 'b' END) FROM n",
		"SELECT id % 2, count(*) FROM n GROUP BY 1 HAVING count(CASE WHEN 10 / i4n > 5 THEN 1 ELSE 2 END) > 0",
		"SELECT count(d) FROM (SELECT CASE WHEN 10 / i4n > 5 THEN 1 ELSE 2 END AS d FROM n OFFSET 0) q",
		"SELECT id FROM (SELECT id, row_number() OVER (ORDER BY CASE WHEN 10 / i4n > 5 THEN 1 ELSE 2 END, id) AS r FROM n) q WHERE id = 1",
		"SELECT sum(d) FROM (SELECT id AS k, NULLIF(i4 % 100, 10 / i4n) AS d FROM n OFFSET 0) q WHERE k > 7",
		"SELECT count(d) FROM (SELECT id AS k, count(*) FILTER (WHERE 10 / i4n > 2) AS d FROM n GROUP BY id OFFSET 0) q WHERE k > 7",
		"SELECT count(d) FROM (SELECT count(*) FILTER (WHERE 10 / i4n > 2) OVER (PARTITION BY id) AS d FROM n) q",
		"SELECT id, (10 / i4n, id) < (NULL, 5) FROM n",
		"SELECT id, (NULL, id) >= (10 / i4n, 5) FROM n",
		"SELECT id FROM n WHERE NULL::int = ANY (ARRAY[10 / i4n])",
		"SELECT id FROM n WHERE ARRAY[i4, 2] @> ARRAY[NULL, 10 / i4n]",
	)
}

// wantFailures wants statements that PostgreSQL refuses for a value to end alike through the gateway.
func wantFailures(t *testing.T, statements ...string) {
	t.Helper()
	g := start(t, parts)
	c := g.client()
	_, oltp := g.routes()
	for _, sql := range statements {
		if code := outcome(t, oltp, sql); len(code) == 0 || !strings.HasPrefix(code[0], "SQLSTATE 22") {
			t.Errorf("%s: PostgreSQL answers %v", sql, code)
		}
		wantSameOutcome(t, c, oltp, sql)
	}
}

// What PostgreSQL leaves out the replica need not compute either.
func TestGateway_answersWhereNoRowThatIsLeftFails(t *testing.T) {
	t.Parallel()
	g := start(t, parts)
	columnar, oltp := g.routes()
	for _, sql := range []string{
		"SELECT count(k) FROM (SELECT id AS k, 10 / i4n AS d FROM n LIMIT 100) q WHERE k > 7",
		"SELECT sum(d) FROM (SELECT id AS k, 10 / sum(i4n) AS d FROM n GROUP BY id) q WHERE k > 7",
		"SELECT sum(d) FROM (SELECT id AS k, 10 / i4n AS d FROM n UNION ALL SELECT k, x FROM a1) q WHERE k > 7",
		"SELECT sum(d) FROM (SELECT k, 1 / (k - 1) AS d, sum(x) OVER (PARTITION BY k) FROM a1) q WHERE k > 1",
		"SELECT max(d), min(x) FROM (SELECT id AS k, 10 / sum(i4n) AS d FROM n GROUP BY id) q JOIN a1 ON q.k = a1.k WHERE a1.k = 5",
		"SELECT sum(d) FROM (SELECT id AS k, 10 / i4n AS d FROM n WHERE i4n > 0 LIMIT 100) q WHERE k > 7",
		"SELECT count(*) FROM n WHERE i4n <> 0 AND 10 / i4n > 1",
		"SELECT count(*) FROM n WHERE i4n IN (1, 2) AND 10 / i4n > 1 AND t < '7'",
		"SELECT k, d, a FROM (SELECT i4n % 2 AS k, 10 / (count(*) + 1) AS d, avg(i4n) AS a FROM n GROUP BY 1) q WHERE a > -5 AND CASE WHEN k = 0 THEN d > 1 END ORDER BY k",
		"SELECT k, d FROM (SELECT id AS k, 10.5 / (i4n + 20) AS d, row_number() OVER (ORDER BY id) AS r FROM n) q WHERE r > 3 ORDER BY k",
	} {
		if code := outcome(t, oltp, sql); slices.ContainsFunc(code, func(s string) bool { return strings.HasPrefix(s, "SQLSTATE") }) {
			t.Errorf("%s: PostgreSQL says %v", sql, code)
		}
		wantSameAnswer(t, columnar, oltp, sql)
	}
}
