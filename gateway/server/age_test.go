package server_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// spans are pairs of moments at the ends of months, of the calendar and of summer time, with numbers to multiply intervals by.
const spans = `CREATE TABLE span (id int PRIMARY KEY, a timestamp, b timestamp, d date, e date, z timestamptz, y timestamptz, n int, m bigint, s smallint, f float8, x numeric(9,3));
INSERT INTO span SELECT i, timestamp '2000-01-31 12:00' + (hashint8(i) % 9000) * interval '7 hours 13.000001 seconds', timestamp '2004-02-29 23:59:59.999999' + (hashint8(i*3) % 9000) * interval '11 hours 0.5 seconds', date '1990-01-31' + hashint8(i*5) % 20000, date '2000-02-29' + hashint8(i*7) % 1500, timestamptz '2024-03-30 22:00+00' + (hashint8(i*11) % 4000) * interval '33 minutes', timestamptz '2024-10-26 23:30+00' + (hashint8(i*13) % 400) * interval '10 minutes', hashint8(i*17) % 50, hashint8(i*19) % 1000, hashint8(i*23) % 12, (hashint8(i*29) % 100000) / 64.0, (hashint8(i*31) % 100000) / 1000.0 FROM generate_series(1, 400) i;
INSERT INTO span (id,a,b,d,e,z,y,n,m,s,f,x) VALUES (-1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL), (-2,'2024-03-31','2024-02-29','2024-03-31','2024-02-29','2024-03-31 01:30+00','2024-03-31 00:30+00',0,0,0,0,0),(-3,'2024-02-29','2024-03-31','2024-02-29','2024-03-31','2024-10-27 00:30+00','2024-10-27 01:10+00',1,1,1,1,1),(-4,'1900-01-01','2299-12-30 23:59:59.999999','1900-01-01','2299-12-30','1970-01-02','2099-12-30',-1,-1,-1,-1,-1),(-5,'2023-03-01','2023-01-31','2023-03-01','2023-01-31','2024-10-27 01:30+00','2024-10-27 00:45+00',12,12,12,0.5,0.5),(-6,'2024-03-01 00:00','2023-12-31 00:00:00.000001','2024-03-01','2023-12-31','2024-03-01','2023-12-31',49,999,11,1e-7,0.001),(-7,'2024-05-05','2024-05-05','2024-05-05','2024-05-05','2024-05-05','2024-05-05',2,2,2,2,2)`

func TestGateway_computesIntervalsByTheRowAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	run := []string{
		"SELECT id, age(a,b), age(b,a) FROM span ORDER BY id",
		"SELECT id, age(d,e), age(e,d) FROM span ORDER BY id",
		"SELECT id, age(z,y), age(y,z) FROM span ORDER BY id",
		"SELECT id, age(a,d), age(d,a) FROM span ORDER BY id",
		"SELECT id, age(z,d), age(d,y) FROM span ORDER BY id",
		"SELECT id, age(z,a), age(b,y) FROM span ORDER BY id",
		"SELECT id, age(a), age(d) FROM span WHERE id <> -4 ORDER BY id",
		"SELECT id, age(z) FROM span ORDER BY id",
		"SELECT id, age(d) FROM span ORDER BY id",
		"SELECT id, age(timestamp '2020-02-29', a), age(a, '2020-02-29'::timestamp) FROM span ORDER BY id",
		"SELECT id, extract(year FROM age(d,e)), extract(month FROM age(d,e)), extract(day FROM age(a,b)), extract(hour FROM age(a,b)), extract(minute FROM age(a,b)), extract(epoch FROM age(a,b)) FROM span ORDER BY id",
		"SELECT id, date_part('year', age(d,e)), date_part('month', age(d,e)), date_part('day', age(a,b)), date_part('hour', age(a,b)), date_part('minute', age(a,b)), date_part('epoch', age(a,b)) FROM span ORDER BY id",
		"SELECT extract(year FROM age(d)) AS y, count(*) FROM span WHERE id > 0 GROUP BY 1 ORDER BY 1",
		"SELECT date_part('year', age(current_date, d))::int / 10 AS y, count(*), avg(n) FROM span WHERE id > 0 GROUP BY 1 ORDER BY 1",
		"SELECT id FROM span WHERE extract(year FROM age(e,d)) >= 18 ORDER BY id",
		"SELECT id FROM span WHERE age(e,d) > interval '18 years' ORDER BY id",
		"SELECT id FROM span WHERE age(e,d) >= '1 mon' AND age(e,d) < '2 years 3 days' ORDER BY id",
		"SELECT id, CASE WHEN age(a,b) > '1 day' THEN age(a,b) END, coalesce(age(a,b), age(d,e)) FROM span ORDER BY id",
		"SELECT id, age(a,b) FROM span ORDER BY age(a,b), id",
		"SELECT id FROM span WHERE id > 0 ORDER BY age(a,b) DESC, id LIMIT 20",
		"SELECT avg(extract(year FROM age(e,d))), max(date_part('year', age(e,d))) FROM span",
		"SELECT id, age(a,b) = age(b,a) FROM span ORDER BY id",
		"SELECT id, age FROM (SELECT id, age(a,b) AS age FROM span) x ORDER BY id",
		"SELECT id, b + age(a,b), d + age(a,b), d - age(a,b) FROM span WHERE id <> -4 ORDER BY id",
		"SELECT id, z + age(a,b) FROM span WHERE id > -4 ORDER BY id",
		"SELECT id, a + (b - a), z - (b - a), d + (b-a) FROM span WHERE id<> -4 ORDER BY id",
		"SELECT id, a + (b-a) = b FROM span ORDER BY id",
		"SELECT count(*) FROM span s join span t on age(s.a, s.b) = age(t.a, t.b)",
		"SELECT id, a + n * interval '1 day', a - interval '1 minute' * m, d + s * interval '1 month', b - (s * interval '1 mon 2 days 03:04:05.000006') FROM span WHERE id NOT IN (-4) ORDER BY id",
		"SELECT id, a + interval '1 hour' * x, a + f * interval '00:00:00.000001', b - x * interval '1 minute' FROM span WHERE id <> -4 ORDER BY id",
		"SELECT id, interval '1 day' * n, n * interval '1 mon 3 days -04:00', interval '1 hour' * x, interval '2 days' * s, interval '-1 second' * f FROM span ORDER BY id",
		"SELECT id, make_interval(days => n), make_interval(years => n, months => s, weeks => 1, hours => s, mins => n), make_interval(secs => x), make_interval(secs => f), make_interval(0, n, 0, s) FROM span ORDER BY id",
		"SELECT id, d + make_interval(days => n), a + make_interval(months => s), d + make_interval(months => n - 25) FROM span WHERE id <> -4 ORDER BY id",
		"SELECT id, z + n * interval '1 day', z + s * interval '1 month', z - m * interval '1 hour', z + make_interval(days => n, hours => s) FROM span WHERE id > -4 ORDER BY id",
		"SELECT id FROM span WHERE a + n * interval '1 day' > b ORDER BY id",
		"SELECT id FROM span WHERE b - a > n * interval '30 days' ORDER BY id",
		"SELECT id, (b - a) / 2, (b - a) / 7.0, (b - a) / nullif(n,0), (b-a) / x FROM span WHERE x <> 0 ORDER BY id",
		"SELECT id % 5, sum(b - a) / count(*), extract(epoch FROM sum(b - a)), extract(epoch FROM avg(b - a)), date_part('epoch', avg(b - a)), extract(day FROM avg(b - a)), extract(epoch FROM sum(b - a) / count(*)) FROM span GROUP BY 1 ORDER BY 1",
		"SELECT id % 5 FROM span GROUP BY 1 HAVING avg(b - a) > interval '1 hour' ORDER BY 1",
		"SELECT id % 5, avg(b - a), sum(b-a) FROM span GROUP BY 1 ORDER BY avg(b - a) DESC",
		"SELECT id % 5, avg(b - a) FROM span GROUP BY 1 ORDER BY 2",
		"SELECT id, avg(b - a) OVER (PARTITION BY id % 7), extract(epoch FROM avg(b - a) OVER (PARTITION BY id % 7)) FROM span ORDER BY id",
		"SELECT extract(epoch FROM sum(b - a) FILTER (WHERE n > 10)) FROM span",
		"SELECT extract(epoch FROM sum(b - a) FILTER (WHERE n > 10000)) FROM span",
		"SELECT id, now() - z > n * interval '1 day' FROM span ORDER BY id",
		"SELECT id, extract(epoch FROM n * interval '1 mon'), extract(month FROM n * interval '5 mons'), extract(year FROM n * interval '5 mons') FROM span ORDER BY id",
		"SELECT id, extract(month FROM make_interval(mins => n)), date_part('hour', n * interval '1 mon'), extract(day FROM interval '1 hour' * x), extract(year FROM make_interval(years => n, hours => m)) FROM span ORDER BY id",
		"SELECT extract(year FROM sum(b - a) FILTER (WHERE n > 10000)), extract(month FROM avg(b - a)), date_part('month', sum(b - a)) FROM span",
		"SELECT id FROM span WHERE n * interval '1 day' BETWEEN interval '10 days' AND interval '1 month' ORDER BY id",
		"SELECT id, n * interval '1 day' / 3 FROM span ORDER BY id",
		"SELECT id % 5, round(extract(epoch FROM avg(b - a)) / 3600, 2) FROM span WHERE id BETWEEN 1 AND 100 GROUP BY 1 ORDER BY 1",
		"SELECT date_trunc('month', a + n * interval '1 day') AS mth, count(*) FROM span WHERE id <> -4 GROUP BY 1 ORDER BY 1",
	}
	// Within what is known of zones.
	zoned := []string{
		"SELECT id, age(z, y), age(y, z) FROM span ORDER BY id",
		"SELECT id, age(a, b), age(b, a), age(z, timestamptz '2024-01-31 12:00+00') FROM span ORDER BY id",
		"SELECT id, age(d, e) FROM span WHERE d >= '1970-02-01' AND id <> -4 ORDER BY id",
		"SELECT id, extract(year FROM age(date '2077-05-05', e)) FROM span WHERE id <> -4 ORDER BY id",
		"SELECT id, z + n * interval '1 day', z + s * interval '1 month', z - m * interval '1 hour', z + make_interval(days => n, hours => s) FROM span WHERE id > -4 ORDER BY id",
		"SELECT id, z + n * interval '-1 mon 5 days -02:30' FROM span WHERE id > -4 ORDER BY id",
		"SELECT id % 5, round(extract(epoch FROM avg(b - a)) / 3600, 2), round((date_part('epoch', avg(b - a)) / 60)::numeric, 1) FROM span WHERE id BETWEEN 1 AND 100 GROUP BY 1 ORDER BY 1",
	}
	left := []string{
		"SELECT age(a,b), count(*) FROM span GROUP BY 1",
		"SELECT DISTINCT age(a,b) FROM span",
		"SELECT max(age(a,b)) FROM span",
		"SELECT sum(age(a,b)) FROM span",
		"SELECT greatest(age(a,b), age(b,a)) FROM span",
		"SELECT age(a,b)::text FROM span",
		"SELECT id, 'x' || age(a,b) FROM span",
		"SELECT rank() OVER (ORDER BY age(a,b)) FROM span",
		"SELECT id, age(a,b) FROM span UNION ALL SELECT id, b - a FROM span",
		"SELECT age('infinity'::timestamp, a) FROM span",
		"SELECT id, to_char(age(a,b), 'YY') FROM span",
		"SELECT id, -age(a,b) FROM span",
		"SELECT id, extract(second FROM age(a,b)) FROM span",
		"SELECT count(*) FROM span WHERE d + n * interval '1 year' < e",
		"SELECT extract(epoch FROM b - a) / 60, (b - a) > interval '1h' FROM span ORDER BY id",
		"SELECT a + (m * 100000000) * interval '1 day' FROM span WHERE id = 1",
		"SELECT id, (b - a) * 2 FROM span",
		"SELECT id, age(a,b) / 2 FROM span",
		"SELECT id, x * interval '1 day' FROM span",
		"SELECT id, (b - a) / 0 FROM span",
		"SELECT id, n * interval '1 day' + interval '1 hour' FROM span",
		"SELECT n * interval '1 day', count(*) FROM span GROUP BY 1",
	}
	columnar, oltp := start(t, spans).routes()
	wantAlikeIn(t, columnar, oltp, 1, run)
	for _, sql := range left {
		if alike(t, columnar, oltp, sql, inOrder) != refused {
			t.Errorf("%s ran on the replica", sql)
		}
	}
	for _, c := range []*pgx.Conn{columnar, oltp} {
		exec(t, c, "SET TimeZone = 'Europe/Berlin'")
	}
	wantAlikeIn(t, columnar, oltp, 1, zoned)
	wantAlikeIn(t, columnar, oltp, 0, run)
}

// An interval has a form of its own in each of the protocol's formats, also where a view computes it or a parameter is a part of it.
func TestGateway_sendsIntervalsByTheRowInBothFormats(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, spans+"; CREATE VIEW person AS SELECT id, age(e, d) AS age, extract(year FROM age(e, d)) AS years FROM span").routes()
	for _, sql := range []string{
		"SELECT id, age(a, b), n * interval '1 mon -2 days 3 hours', make_interval(secs => x), (b - a) / 3 FROM span WHERE $1::date IS NOT NULL ORDER BY id",
		"SELECT id, age, years FROM person WHERE years > extract(year FROM age($1::date, '2000-01-31'::date)) ORDER BY years, id",
		"SELECT id, age(d, $1::date), age($1::date, d) FROM span WHERE extract(year FROM age(d, $1::date)) < 5 ORDER BY id",
	} {
		for format := range int16(2) {
			read := func(c *pgx.Conn) [][][]byte {
				r := c.PgConn().ExecParams(t.Context(), sql, [][]byte{[]byte("2003-02-28")}, nil, nil, []int16{format}).Read()
				if r.Err != nil {
					t.Fatalf("%s: %v", sql, r.Err)
				}
				return r.Rows
			}
			if diff := cmp.Diff(read(oltp), read(columnar)); diff != "" {
				t.Errorf("%s, format %d: %s", sql, format, diff)
			}
		}
	}
}
