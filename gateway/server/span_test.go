package server_test

import (
	"fmt"
	"testing"
)

const spanSchema = `CREATE TABLE point (id int PRIMARY KEY, n int, big bigint, p numeric(8,3), d date, t timestamp, z timestamptz, f float8, s text COLLATE "C", kind text);
INSERT INTO point SELECT i, i % 23, i * 1000003, (i * 37 % 1000) / 8.0, date '2024-02-20' + i % 40, timestamp '2024-02-20' + i * interval '5 hours 7 minutes',
 timestamptz '2024-03-28' + i * interval '70 minutes', i / 4.0, chr(97 + i % 26), (ARRAY['paid', 'open', NULL])[1 + i % 3] FROM generate_series(1, 300) i;
INSERT INTO point VALUES (0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'paid'), (301, 2147483647, 9223372036854775807, 99999.999, '2250-12-31', '2250-12-31', '2099-12-31', 1e300, 'é', 'paid'),
 (302, -2147483648, -9223372036854775808, -99999.999, '1910-01-01', '1910-01-01', '1970-01-02', -1e300, '', 'paid');
CREATE TABLE band (id int PRIMARY KEY, lo int, hi int, blo bigint, bhi bigint, plo numeric(8,2), phi numeric(9,4), dlo date, dhi date, tlo timestamp, thi timestamp, flo float8, fhi float8, slo text COLLATE "C", shi text COLLATE "C");
INSERT INTO band SELECT i, lo, hi, lo * 10000030::bigint, hi * 10000030::bigint, lo * 5, hi * 5.0005, date '2024-02-20' + lo * 2, date '2024-02-20' + hi * 2, date '2024-02-20' + lo * interval '1 day', date '2024-02-20' + hi * interval '1 day', lo * 3, hi * 3,
 chr(97 + lo), chr(97 + hi) FROM (VALUES (1, 0, 3), (2, 3, 6), (3, 6, 6), (4, 9, 7), (5, 8, 12), (6, 10, 11), (7, 12, 20), (8, 12, 14), (9, 20, 21), (10, 0, 3)) v(i, lo, hi);
INSERT INTO band (id, lo, hi) VALUES (11, 5, NULL), (12, NULL, 5), (13, NULL, NULL), (14, -2147483648, -7), (15, 2147483647, 2147483647);
INSERT INTO band (id, blo, bhi) VALUES (16, -9223372036854775808, -9223372036854775808), (17, -9223372036854775808, 0), (18, 9223372036854775807, 9223372036854775807);
CREATE TABLE ever (id int PRIMARY KEY, t timestamp, u timestamp, d date, e date);
INSERT INTO ever VALUES (1, '-infinity', 'infinity', '-infinity', 'infinity'), (2, '-infinity', '2024-01-01', '-infinity', '2024-01-01'), (3, '2024-01-01', 'infinity', '2024-01-01', 'infinity'), (4, 'infinity', 'infinity', 'infinity', 'infinity'),
 (5, '-infinity', '-infinity', '-infinity', '-infinity'), (6, '2024-01-01', '2024-02-01', '2024-01-01', '2024-02-01'), (7, '0001-01-01', '9999-12-31', '0001-01-01', '9999-12-31'), (8, NULL, NULL, NULL, NULL);
CREATE TABLE nothing (id int PRIMARY KEY, lo int, hi int);`

// An outer join by ranges has no equality for the engine to join by: one is made of the ranges, or all rows are compared.
func TestGateway_joinsByRangesAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, spanSchema).routes()
	var statements []string
	for i, on := range []string{
		"n >= lo AND n < hi", "n > lo AND n <= hi", "n BETWEEN lo AND hi", "n > lo AND n < hi", "hi > n AND lo <= n", "big >= blo AND big <= bhi", "big > blo AND big <= bhi", "big BETWEEN lo AND bhi", "p >= plo AND p < phi", "p > plo AND p <= phi", "p BETWEEN plo AND phi", "p >= lo AND p < hi", "p > lo AND p <= hi", "n >= plo AND n < phi",
		"d >= dlo AND d < dhi", "d > dlo AND d <= dhi", "t >= dlo AND t < dhi", "t >= tlo AND t < thi", "t::date BETWEEN dlo AND dhi", "z >= tlo AND z < tlo + interval '1 day'", "z::date >= dlo AND z::date < dhi", "n >= lo AND n < hi AND kind = 'paid'", "n BETWEEN lo AND hi AND band.id % 2 = 0",
		"n >= lo", "n < hi", "n <> lo", "n >= lo AND (n < hi OR hi IS NULL)", "n >= lo AND n < coalesce(hi, 99)", "f >= flo AND f < fhi", "s >= slo AND s < shi", "kind = 'paid' OR n = lo", "(n, big) >= (lo, blo) AND n < 12", "point.id = band.id OR n < lo", "n IS DISTINCT FROM lo AND n BETWEEN 4 AND 9", "NOT (n >= lo AND n < hi)", "n NOT BETWEEN lo AND hi", "n BETWEEN SYMMETRIC lo AND hi",
	} {
		statements = append(statements,
			fmt.Sprintf("SELECT point.id, band.id FROM point LEFT JOIN band ON %s ORDER BY 1, 2", on),
			fmt.Sprintf("SELECT point.id, band.id FROM %s ON %s ORDER BY 1, 2", []string{"band LEFT JOIN point", "point RIGHT JOIN band", "point JOIN band"}[i%3], on),
			fmt.Sprintf("SELECT band.id, count(point.id), sum(p) FROM band LEFT JOIN (SELECT * FROM point WHERE id %% 3 <> 1) point ON %s GROUP BY 1 ORDER BY 1", on))
	}
	for _, low := range []string{">", ">="} {
		for _, high := range []string{"<", "<="} {
			statements = append(statements,
				fmt.Sprintf("SELECT a.id, b.id FROM ever a LEFT JOIN ever b ON a.t %s b.t AND a.t %s b.u ORDER BY 1, 2", low, high), fmt.Sprintf("SELECT a.id, b.id FROM ever a RIGHT JOIN ever b ON a.d %s b.d AND a.d %s b.e ORDER BY 1, 2", low, high),
				fmt.Sprintf("SELECT a.id, b.id FROM ever a JOIN ever b ON a.d %s b.t AND a.d %s b.u WHERE a.id IN (3, 6) AND b.id <> 7 ORDER BY 1, 2", low, high), fmt.Sprintf("SELECT a.id, b.id FROM ever a JOIN ever b ON b.u %s a.u AND b.t %s a.u ORDER BY 1, 2", low, high))
		}
	}
	wantAlikeIn(t, columnar, oltp, 1, statements)
	wantAlikeIn(t, columnar, oltp, 0, []string{
		"SELECT a.id, b.id FROM ever a LEFT JOIN ever b ON a.t >= b.t AND a.t < b.t + interval '1 day' ORDER BY 1, 2", "SELECT p.id, b.id FROM point p LEFT JOIN band b ON n + 1 >= lo AND n + 1 < hi ORDER BY 1, 2", "SELECT count(*) FROM point p LEFT JOIN band b ON 10 / n >= lo AND 10 / n < hi", "SELECT count(*) FROM point p JOIN band b ON n >= lo AND n < hi AND 10 / (n - lo) > 1",
		"SELECT count(*) FROM point FULL JOIN band ON n >= lo AND n < hi", "SELECT count(*) FROM point p LEFT JOIN band b ON p.id > 100", "SELECT count(*) FROM point p LEFT JOIN band b ON false", "SELECT count(b.id) FROM point p LEFT JOIN band b ON n > NULL", "SELECT count(b.id) FROM point p LEFT JOIN nothing b ON true",
	})
	wantAlikeIn(t, columnar, oltp, 1, []string{
		"SELECT b.id, n.id FROM band b LEFT JOIN nothing n ON b.lo BETWEEN n.lo AND n.hi ORDER BY 1, 2", "SELECT b.id, n.id FROM nothing n LEFT JOIN band b ON b.lo BETWEEN n.lo AND n.hi ORDER BY 1, 2", "SELECT b.id, n.id FROM nothing n RIGHT JOIN band b ON b.lo > n.lo ORDER BY 1, 2",
		"SELECT a.id, b.id FROM band a LEFT JOIN band b ON a.lo < b.hi AND b.lo < a.hi AND a.id <> b.id ORDER BY 1, 2", "SELECT a.id, b.id, c.id FROM band a LEFT JOIN band b ON a.lo > b.lo AND a.lo < b.hi LEFT JOIN band c ON b.hi BETWEEN c.lo AND c.hi ORDER BY 1, 2, 3",
		"SELECT p.id, b.id, a.id FROM point p JOIN band a ON a.id = p.n LEFT JOIN band b ON p.n >= b.lo AND p.n < b.hi AND p.id > a.id ORDER BY 1, 2", "SELECT p.id, b.id, a.id FROM point p LEFT JOIN (band a JOIN band b ON a.id = b.lo) ON p.n >= b.lo AND p.n < a.hi ORDER BY 1, 2, 3",
		"SELECT p.id, b.id, a.id FROM point p JOIN band a ON a.id = p.n RIGHT JOIN band b ON p.n >= b.lo AND p.n < b.hi AND a.id < b.id ORDER BY 1, 2, 3", "SELECT p.id, b.id, a.id FROM point p LEFT JOIN band a ON a.id = p.n RIGHT JOIN band b ON p.n > b.lo ORDER BY 1, 2, 3",
		"SELECT v.lo, count(id), sum(p) FROM (VALUES (0, 10), (10, 50.5), (50.5, 1000), (2000, NULL)) v(lo, hi) LEFT JOIN point ON p >= v.lo AND p < v.hi GROUP BY 1 ORDER BY 1", "SELECT label, count(id) FROM point LEFT JOIN (VALUES ('low', 0, 10), ('high', 11, 99)) v(label, lo, hi) ON n BETWEEN v.lo AND v.hi GROUP BY 1 ORDER BY 1 NULLS FIRST",
		"SELECT a.id, b.lo FROM point a LEFT JOIN (SELECT DISTINCT lo, hi FROM band) b ON a.n >= b.lo AND a.n < b.hi ORDER BY 1, 2", "SELECT a.id, b.lo FROM point a LEFT JOIN (SELECT lo, hi FROM band ORDER BY id LIMIT 4) b ON a.n >= b.lo AND a.n < b.hi ORDER BY 1, 2", "SELECT a.id, b.lo FROM point a JOIN (SELECT lo, hi FROM band ORDER BY id LIMIT 4) b ON a.n >= b.lo AND a.n < b.hi ORDER BY 1, 2",
		"SELECT count(*), count(b.id) FROM point a LEFT JOIN band b ON a.n >= b.lo AND a.n < b.hi WHERE b.id IS NULL OR b.id < 5", "SELECT a.id FROM point a LEFT JOIN band b ON a.n >= b.lo AND a.n < b.hi WHERE b.id IS NULL ORDER BY 1", "SELECT a.id, EXISTS (SELECT FROM band WHERE band.id = b.id) FROM point a LEFT JOIN band b ON a.n > b.lo AND a.n < b.hi ORDER BY 1, 2",
		"SELECT a.id, s.n FROM band a LEFT JOIN (SELECT count(*) AS n FROM point) s ON true ORDER BY 1", "SELECT a.id, s.n FROM band a LEFT JOIN (SELECT count(*) AS n FROM point WHERE id > 999) s ON 1 = 1 ORDER BY 1", "SELECT a.id, s.n FROM band a LEFT JOIN (SELECT max(id) AS n FROM nothing) s ON s.n > a.id ORDER BY 1", "WITH w AS (SELECT avg(n) AS n FROM point) SELECT a.id, w.n FROM band a LEFT JOIN w ON TRUE ORDER BY 1",
	})
}

func TestGateway_countsByADateSpineAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, spanSchema+"DELETE FROM point WHERE id > 300").routes() // what is outside of a zone's rules
	for _, zone := range []string{"UTC", "Europe/Berlin", "Australia/Sydney"} {
		exec(t, columnar, "SET TimeZone = '"+zone+"'")
		exec(t, oltp, "SET TimeZone = '"+zone+"'")
		var statements []string
		for _, on := range []string{
			"z >= day AND z < day + interval '1 day'", "z >= day AND z < day + interval '1 day' AND kind = 'paid'", "z BETWEEN day AND day + interval '36 hours'", "t >= day AND t < day + interval '1 day'", "z::date = day::date", "date_trunc('day', z) = day", "d = day::date", "d >= day AND d <= day + interval '2 days'", "z > day - interval '7 days' AND z <= day", "z < day",
		} {
			for _, days := range []string{"generate_series(timestamptz '2024-03-25', '2024-04-12', interval '1 day') AS s(day)", "generate_series(date '2024-03-25', date '2024-04-12', '1 day') AS day", "(SELECT generate_series(timestamp '2024-03-25', '2024-04-12', '1 day') AS day) s"} {
				statements = append(statements, fmt.Sprintf("SELECT day, count(id), sum(p) FROM %s LEFT JOIN point ON %s GROUP BY day ORDER BY day", days, on))
			}
		}
		statements = append(statements,
			"WITH s AS (SELECT generate_series(date '2024-02-18', date '2024-03-03', interval '1 day')::date AS day) SELECT day, count(id) FROM s LEFT JOIN point ON t >= day AND t < day + 1 GROUP BY day ORDER BY day",
			"WITH months AS (SELECT m, m + interval '1 month' AS next FROM generate_series(timestamp '2024-01-01', '2024-06-01', interval '1 month') m) SELECT m, count(id), max(d) FROM months LEFT JOIN point ON d >= m AND d < next GROUP BY m ORDER BY m", "WITH months AS (SELECT m, m + interval '1 month' AS next FROM generate_series(timestamp '2024-01-01', '2024-06-01', interval '1 month') m) SELECT m, kind, count(id) FROM months JOIN point ON t >= m AND t < next GROUP BY 1, 2 ORDER BY 1, 2",
			"SELECT w, count(id) FROM generate_series(date_trunc('week', timestamp '2024-02-10'), '2024-04-01', interval '1 week') w LEFT JOIN point ON t >= w AND t < w + interval '7 days' WHERE w <> '2024-03-04' GROUP BY 1 ORDER BY 2 DESC, 1",
			"SELECT day, k.kind, count(id) FROM generate_series(timestamp '2024-03-25', '2024-03-30', interval '1 day') s(day) CROSS JOIN (VALUES ('paid'), ('open')) k(kind) LEFT JOIN point ON t >= day AND t < day + interval '1 day' AND point.kind = k.kind GROUP BY 1, 2 ORDER BY 1, 2",
			"SELECT day, sum(count(id)) OVER (ORDER BY day) FROM generate_series(timestamp '2024-02-15', '2024-03-30', interval '1 day') s(day) LEFT JOIN point ON t >= day AND t < day + interval '1 day' GROUP BY day ORDER BY day",
		)
		wantAlikeIn(t, columnar, oltp, 1, statements)
	}
}
