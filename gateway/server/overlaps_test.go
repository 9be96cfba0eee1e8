package server_test

import (
	"slices"
	"strings"
	"testing"
)

// Periods meet by PostgreSQL's reading of the standard, also those without an end or a length, and in either order.
func TestGateway_comparesPeriodsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, `CREATE TABLE stay (id int PRIMARY KEY, d date, e date, f timestamp, u timestamp, z timestamptz, n int NOT NULL, a date NOT NULL, b date NOT NULL);
INSERT INTO stay SELECT i, CASE WHEN i % 7 > 0 THEN date '2024-03-25' + i % 11 END, CASE WHEN i % 5 > 0 THEN date '2024-03-30' + i % 3 END, timestamp '2024-03-29 12:00' + i % 6 * interval '1 day',
  CASE WHEN i % 3 > 0 THEN timestamp '2024-04-02' - i % 8 * interval '12 hours' END, timestamptz '2024-03-31 00:30+00' + i % 9 * interval '30 min', i % 4, date '2024-03-28' + i % 4, date '2024-03-30' - i % 3 FROM generate_series(1, 120) i`).routes()
	periods := []string{
		"(d, e)", "(f, u)", "(e, d)", "(z, z)", "(a, b)", "(d, u)", "(f, interval '36 hours')", "(d, interval '-2 days')", "(z, make_interval(days => n))", "(a, a + n)", "(date '2024-03-29', date '2024-03-31')", "(timestamp '2024-03-29 12:00', timestamp '2024-03-30')",
	}
	for zone, left := range map[string][]string{"UTC": periods, "Europe/Berlin": periods[:2]} {
		exec(t, columnar, "SET TimeZone = '"+zone+"'")
		exec(t, oltp, "SET TimeZone = '"+zone+"'")
		for _, p := range left {
			for some := range slices.Chunk(periods, 3) {
				wantSameAnswer(t, columnar, oltp, "SELECT id, "+p+" OVERLAPS "+strings.Join(some, ", "+p+" OVERLAPS ")+" FROM stay ORDER BY id")
			}
		}
	}
	wantSameAnswer(t, columnar, oltp, "SELECT s.id, o.id FROM stay s JOIN stay o ON s.n = o.n AND (s.d, s.e) OVERLAPS (o.d, o.e) WHERE s.id < o.id AND o.id < 40 ORDER BY 1, 2")
	wantSameAnswer(t, columnar, oltp, "SELECT id FROM stay WHERE NOT (d, e) OVERLAPS (date '2024-03-29', date '2024-03-31') ORDER BY id")
}
