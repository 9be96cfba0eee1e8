package server_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

const seriesSchema = `CREATE TABLE orders (id int PRIMARY KEY, at timestamptz, shown timestamp, day date, amount int);
INSERT INTO orders SELECT i, timestamptz '2024-02-27 10:00+00' + i * interval '31 hours', timestamp '2024-02-27 10:00' + i * interval '31 hours', date '2024-02-27' + i, i * 3 FROM generate_series(0, 39) i;
CREATE TABLE stay (id int PRIMARY KEY, arrives date, leaves date, low int, high bigint, since timestamptz);
INSERT INTO stay SELECT i, date '2023-12-28' + i % 40, date '2023-12-28' + i % 40 + (i * 7) % 90 - 5, i % 9 - 3, i % 5 * 2 - 1, timestamptz '2024-10-25 22:30+00' + i * interval '17 minutes' FROM generate_series(1, 200) i;
INSERT INTO stay VALUES (901, NULL, '2024-01-01', NULL, 1, NULL), (902, '2024-01-01', NULL, 1, NULL, NULL); CREATE TABLE none (id int PRIMARY KEY, at timestamptz)`

// Series from and to what is read: the calendars of reports, between the first day and the last of a table, and those of each row.
func TestGateway_makesSeriesBetweenComputedValues(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, seriesSchema).routes()
	for _, zone := range []string{"UTC", "Europe/Berlin", "Asia/Kathmandu"} {
		for _, c := range []*pgx.Conn{columnar, oltp} {
			exec(t, c, "SET TimeZone = '"+zone+"'")
		}
		wantAlikeIn(t, columnar, oltp, 1, []string{
			"SELECT d FROM generate_series((SELECT min(at)::date FROM orders), (SELECT max(at)::date FROM orders), '1 day') d ORDER BY 1",
			"SELECT d::date AS day, count(o.id), coalesce(sum(o.amount), 0) FROM generate_series((SELECT min(day) FROM orders), (SELECT max(day) FROM orders), interval '1 day') d LEFT JOIN orders o ON o.day = d::date + 2 GROUP BY 1 ORDER BY 1",
			"SELECT w, count(o.id) FROM generate_series(date_trunc('week', (SELECT min(at) FROM orders)), now(), '1 week') w LEFT JOIN orders o ON o.at >= w AND o.at < w + interval '1 week' GROUP BY 1 ORDER BY 1",
			"SELECT m, n FROM generate_series((SELECT date_trunc('month', min(at)) FROM orders), (SELECT max(at) FROM orders), '1 month') WITH ORDINALITY AS g(m, n) ORDER BY n",
			"SELECT m FROM generate_series((SELECT date_trunc('quarter', max(shown)) FROM orders), timestamp '2022-05-01', '-3 months') m ORDER BY 1",
			"SELECT h FROM generate_series((SELECT min(shown) FROM orders), (SELECT min(shown) + interval '1 day' FROM orders), '45 minutes') h ORDER BY 1",
			"SELECT h FROM generate_series((SELECT max(at) FROM orders), (SELECT max(at) - interval '1 day' FROM orders), '-1 hour') h ORDER BY 1",
			"SELECT n, count(o.id) FROM generate_series(1, (SELECT max(amount) / 10 FROM orders)) n LEFT JOIN orders o ON o.amount / 10 = n GROUP BY n ORDER BY n",
			"SELECT generate_series((SELECT count(*) FROM orders), 0, -7) AS n", "SELECT n FROM generate_series((SELECT min(id) FROM orders), (SELECT max(id) FROM orders), 5) n ORDER BY n DESC",
			"SELECT d FROM generate_series((SELECT min(at) FROM none), now(), '1 day') d", "SELECT n FROM generate_series(5, (SELECT min(id) FROM orders)) n",
			"SELECT y, (SELECT count(*) FROM orders o WHERE o.day = y::date) FROM generate_series((SELECT min(day) FROM orders), timestamp '2024-03-05', '1 day') y ORDER BY 1",
			"SELECT id, n FROM stay, generate_series(low, high) n ORDER BY 1, 2", "SELECT id, n FROM stay LEFT JOIN LATERAL generate_series(low, high, 2) n ON true ORDER BY 1, 2", "SELECT id, n FROM stay CROSS JOIN generate_series(low::int, 3) n ORDER BY 1, 2",
			"SELECT g::date AS night, count(*) FROM stay s, generate_series(s.arrives, s.leaves - 1, '1 day') g GROUP BY 1 ORDER BY 1", "SELECT id, g, n FROM stay, generate_series(arrives::timestamp, leaves::timestamp, '36 hours') WITH ORDINALITY x(g, n) WHERE id % 7 = 1 ORDER BY 1, 3",
			"SELECT m, count(DISTINCT s.id) FROM stay s CROSS JOIN LATERAL generate_series(date_trunc('month', s.arrives), s.leaves, '1 month') m GROUP BY 1 ORDER BY 1", "SELECT id, generate_series(arrives, leaves, '1 month') FROM stay WHERE extract(day FROM arrives) < 29 ORDER BY 1, 2",
			"SELECT o.id, n FROM orders o JOIN stay s ON s.id = o.id, generate_series(1, s.low) n ORDER BY 1, 2", "SELECT id, generate_series(1, 2) AS n FROM orders WHERE id < 3 ORDER BY 1, 2",
			"SELECT id, d FROM stay, generate_series(since, since + interval '2 days', '1 day') d WHERE since < '2024-10-26 12:00+00' ORDER BY 1, 2",
		})
		// Where a month ends, clocks that change, and series that are too long or of another type.
		wantAlikeIn(t, columnar, oltp, 0, []string{
			"SELECT id, m FROM stay, generate_series(arrives, arrives + 100, '1 month') m ORDER BY 1, 2", "SELECT id, d FROM stay, generate_series(since, since + interval '3 days', '1 day') d ORDER BY 1, 2", "SELECT count(*) FROM generate_series(1, (SELECT 1200000 + max(id) FROM orders)) n",
			"SELECT id, d FROM stay, generate_series(since - interval '210 days', since - interval '207 days', '1 day') d ORDER BY 1, 2", "SELECT id, d FROM stay, generate_series(since, since + interval '70 days', '1 month 1 day') d ORDER BY 1, 2",
			"SELECT id, n FROM stay, generate_series(1, 10 / low) n WHERE low > 0 OR low IS NULL ORDER BY 1, 2", "SELECT count(*) FROM (SELECT id, n FROM stay, generate_series(1, 10 / low) n OFFSET 0) x WHERE id < 0",
			"SELECT n FROM generate_series((SELECT max(amount) / 7.0 FROM orders), 20) n", "SELECT n FROM generate_series(1, (SELECT max(id) FROM orders), 0) n", "SELECT d FROM generate_series((SELECT max(at) FROM orders), 'infinity', '1 day') d LIMIT 1",
		})
	}
}
