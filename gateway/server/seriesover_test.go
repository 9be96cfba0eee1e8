package server_test

import "testing"

// The days that there are in a table, as one SELECT.
func TestGateway_makesSeriesOfAggregatesAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	const schema = `CREATE TABLE o (id int PRIMARY KEY, grp int, n int, d date, at timestamp, tz timestamptz);
INSERT INTO o SELECT i, i % 3, nullif(i % 11, 4), date '2024-01-30' + i, timestamp '2024-01-31 22:00' + i * interval '31 hours', timestamptz '2024-03-29 23:30+00' + i * interval '5 hours' FROM generate_series(1, 60) i;
CREATE VIEW days AS SELECT generate_series(min(d), max(d), '1 day')::date AS day FROM o`
	columnar, oltp := start(t, schema).routes()
	for _, zone := range []string{"UTC", "Europe/Berlin"} {
		exec(t, columnar, "SET TimeZone = '"+zone+"'")
		exec(t, oltp, "SET TimeZone = '"+zone+"'")
		wantAlikeIn(t, columnar, oltp, 1, []string{
			"SELECT generate_series(date_trunc('month', min(at)), max(at), '1 month') AS m FROM o ORDER BY 1", "SELECT generate_series(min(d), max(d), '1 day')::date FROM o", "SELECT generate_series(min(d), max(d), '1 day')::date FROM o WHERE id < 0", "SELECT generate_series(min(tz), max(tz), '1 day') AS v FROM o",
			"SELECT generate_series(min(n), max(n)) FROM o ORDER BY 1 DESC LIMIT 3 OFFSET 1", "SELECT generate_series(0, max(n), 3) * 2 AS v FROM o WHERE grp = 1", "SELECT generate_series(1, count(*)) AS v FROM o JOIN o p USING (id)", "SELECT generate_series(min(n) FILTER (WHERE grp > 1), max(n)) AS v FROM o",
			"WITH x AS (SELECT d FROM o WHERE id < 20), cal AS (SELECT generate_series(min(d), max(d), '7 days')::date AS w FROM x) SELECT w, count(o.id) FROM cal LEFT JOIN o ON o.d >= w AND o.d < w + 7 GROUP BY 1 ORDER BY 1", "SELECT days.day, n FROM days LEFT JOIN o ON o.d = days.day AND grp = 0 ORDER BY 1",
		})
		wantAlikeIn(t, columnar, oltp, 0, []string{
			"SELECT generate_series(min(n), max(n)), count(*) FROM o", "SELECT generate_series(min(n), max(n)) + count(*) AS v FROM o", "SELECT DISTINCT generate_series(min(n), max(n)) FROM o ORDER BY 1", "SELECT generate_series(min(n), max(n)) AS v FROM o ORDER BY count(*), v", "SELECT grp, generate_series(min(n), max(n)) FROM o GROUP BY grp ORDER BY 1, 2",
			"SELECT generate_series(min(n), max(n), 0) FROM o", "SELECT generate_series(min(n), max(n)) FROM o HAVING count(*) > 100", "SELECT generate_series(min(at), max(at)) FROM o", "SELECT generate_series(n, max(n)) FROM o", "SELECT generate_series(min(n), max(n)) AS v, generate_series(1, 2) AS w FROM o",
			"SELECT generate_series(1, 2) FROM o ORDER BY count(*)", "SELECT max(n) + generate_series(1, 2) FROM o",
		})
	}
}
