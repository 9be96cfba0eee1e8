package server_test

import "testing"

// TestTools_statements has what reporting tools write where a person would not.
func TestTools_statements(t *testing.T) {
	schema := `CREATE TABLE sale (id int PRIMARY KEY, at timestamptz, local timestamp, d date, total numeric(10,2));
		INSERT INTO sale SELECT i, timestamptz '1999-12-31 23:59:57.1234565+00' + i * interval '0.499999 s', timestamp '1999-12-31 23:59:57.25' + i * interval '0.05 s', date '2025-01-01' + i, i * 1.5 FROM generate_series(0, 99) i;
		INSERT INTO sale VALUES (100, 'infinity', '-infinity', NULL, NULL)`
	g := start(t, schema)
	columnar, oltp := g.routes()
	database := query(t, oltp, "SELECT quote_ident(current_database())")[0]
	for _, sql := range []string{
		`SELECT count(*), sum(total) FROM ` + database + `.public.sale`,
		`SELECT s.id FROM ` + database + `."public"."sale" s WHERE s.total > 100 ORDER BY 1`,
		`SELECT sale.id FROM ` + database + `.public.sale WHERE ` + database + `.public.sale.total > 100 ORDER BY ` + database + `.public.sale.id`,
		`SELECT count(*) FROM sale WHERE at >= cast('2000-01-01' AS timestamp(6) with time zone)`,
		`SELECT id, at::timestamp(6), local::timestamptz(6) FROM sale WHERE id < 100 ORDER BY 1`,
		`SELECT id, at::timestamptz(0), local::timestamp(0), at::timestamp(1), at::timestamptz(2), local::timestamp(3), at::timestamp(5), d::timestamp(0) FROM sale WHERE id < 100 ORDER BY 1`,
		`SELECT local::timestamp(0) AS t, count(*) FROM sale WHERE id < 100 GROUP BY 1 ORDER BY 1`,
		`SELECT count(*) FROM sale WHERE local < '2000-01-01 00:00:00.5'::timestamp(0) AND id < 100`,
		`SELECT count(*) FROM sale WHERE at >= (SELECT date_trunc('month', timestamptz '2000-03-05') + (-3 || ' month')::interval) AND at < timestamptz '2000-01-01' + (2 || ' days')::interval`,
		`SELECT id, d + (3 || ' month')::interval FROM sale ORDER BY 1`,
		`WITH p AS (SELECT 0 AS n UNION ALL SELECT 1), u AS (SELECT p0.n * power(2, 0) + p1.n * power(2, 1) + p2.n * pow(2, 2) + 1 AS n FROM p AS p0 CROSS JOIN p AS p1 CROSS JOIN p AS p2)
			SELECT date '2025-01-01' + interval '1 day' * (row_number() OVER (ORDER BY n) - 1) AS day FROM u WHERE n <= 7 ORDER BY 1`,
		`SELECT date_bin('15 seconds', at, timestamp '2001-01-01') AS t, count(*) FROM sale WHERE id < 100 GROUP BY 1 ORDER BY 1`,
		`SELECT date_bin('7 days', d, '2020-01-01') AS t, count(*) FROM sale WHERE id < 100 GROUP BY 1 ORDER BY 1`,
		`SELECT date_bin('1 second', local, timestamptz '2001-01-01') AS t, count(*) FROM sale WHERE id < 100 GROUP BY 1 ORDER BY 1`,
	} {
		wantSameAnswer(t, columnar, oltp, sql)
	}
	for _, zone := range []string{"America/New_York", "Asia/Kolkata"} {
		exec(t, columnar, "SET TimeZone = '"+zone+"'")
		exec(t, oltp, "SET TimeZone = '"+zone+"'")
		wantSameAnswer(t, columnar, oltp, `SELECT id, at::timestamp(0), date_bin('7 days', d, '2020-01-01'), date_bin('1 day', at, timestamp '2001-01-01') FROM sale WHERE id < 100 ORDER BY 1`)
	}
}
