package server_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// Frames by distances in time, over moments with fractions of seconds.
func TestGateway_framesByTimeAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	const schema = `CREATE TABLE ev (id int PRIMARY KEY, usr int, at timestamp NOT NULL, tz timestamptz, amount numeric(8,2));
INSERT INTO ev SELECT i, i % 5, timestamp '2024-03-30 12:00' + (i * i % 997) * interval '0.25 second' + (i % 11) * interval '17 hours 0.000001 seconds', CASE WHEN i % 13 > 0 THEN timestamptz '2024-03-30 12:00+00' + (i * 7 % 311) * interval '11 minutes 0.5 seconds' END, i % 19 * 1.25 FROM generate_series(1, 400) i;
CREATE TABLE far (id int PRIMARY KEY, at timestamp); INSERT INTO far VALUES (0, 'infinity'), (1, '0044-03-15 BC'), (2, '1700-01-01'), (3, '1750-01-01 00:00:00.5'), (4, '2191-01-01 00:00:00.5'), (5, '2200-01-01'), (6, '-infinity'), (7, NULL), (8, '9999-12-31')`
	g := start(t, schema)
	var statements []string
	for _, order := range []string{"at", "at DESC", "tz", "tz DESC", "tz NULLS FIRST", "tz DESC NULLS LAST", "at - interval '1 day'"} {
		for _, frame := range []string{
			"'7 days' PRECEDING AND CURRENT ROW", "INTERVAL '1 hour' PRECEDING AND INTERVAL '1 hour' FOLLOWING", "INTERVAL '0.25 seconds' PRECEDING AND CURRENT ROW", "'00:00:00.000001' PRECEDING AND CURRENT ROW", "UNBOUNDED PRECEDING AND '17 hours' PRECEDING",
			"'2 days' PRECEDING AND '1 day' PRECEDING", "CURRENT ROW AND '24 hours 0.5 seconds' FOLLOWING", "'30 days' PRECEDING AND '0.1 seconds' PRECEDING", "'400 days' PRECEDING AND CURRENT ROW", "INTERVAL '0' PRECEDING AND '0' FOLLOWING", "'1 month' PRECEDING AND CURRENT ROW", "'5 seconds' FOLLOWING AND '10 seconds' FOLLOWING",
		} {
			statements = append(statements, "SELECT id, count(*) OVER w, sum(amount) OVER w, min(id) OVER w FROM ev WINDOW w AS (PARTITION BY usr ORDER BY "+order+" RANGE BETWEEN "+frame+") ORDER BY id")
		}
	}
	for _, zone := range []string{"UTC", "Europe/Berlin"} {
		columnar, oltp := g.routes()
		for _, c := range []*pgx.Conn{columnar, oltp} {
			exec(t, c, "SET TimeZone = '"+zone+"'")
		}
		wantAlikeIn(t, columnar, oltp, map[string]float64{"UTC": 0.5, "Europe/Berlin": 0.4}[zone], statements)
		wantAlikeByRow(t, columnar, oltp, 0.4, []string{"count(*) OVER (ORDER BY at RANGE '20000 days' PRECEDING)", "count(*) OVER (ORDER BY at DESC RANGE '1 hour' PRECEDING)"}, "far", 9)
	}
}
