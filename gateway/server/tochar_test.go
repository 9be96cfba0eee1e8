package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// amounts are numbers at the edges of rounding, of templates' widths, and of types.
const amounts = `CREATE TABLE amount (id int PRIMARY KEY, n numeric(14,4), i int, b bigint, s smallint, w numeric(40,10));
INSERT INTO amount SELECT i, hashint8(i) / (10 ^ (i % 9))::numeric(12,2), hashint8(i * 7) / (10 ^ (i % 10))::int, hashint8extended(i, 5) / (10 ^ (i % 18))::bigint,
  (hashint8(i * 3) % 30000 / (10 ^ (i % 5))::int)::smallint, hashint8extended(i, 9) * 1000000::numeric / (10 ^ (i % 25))::numeric FROM generate_series(1, 300) i;
INSERT INTO amount VALUES (-1, 0, 0, 0, 0, 0), (-2, NULL, NULL, NULL, NULL, NULL), (-3, 0.005, -2147483648, -9223372036854775808, -32768, 0.5), (-4, -0.005, 2147483647, 9223372036854775807, 32767, -0.5),
 (-5, 0.0049, 999, 9999, 999, 999.995), (-6, -0.0049, -999, 1000, 1000, -999.994999), (-7, 999.995, 10, -10, -10, 123456789012345678901234567890.0123456789), (-8, 9.5, 1, 1, 1, 0.1), (-9, -9.5, -1, -1, -1, -0.1),
 (-10, 0.5, 9, 9, 9, 0.0000000001), (-11, -0.5, -9, -9, -9, -1234.5), (-12, 1234567890.1234, 123456, 1234567, 12345, 1000000)`

func TestGateway_writesNumbersByTemplateAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	shown := []string{
		"FM999,999,990.00", "999,999", "FM00", "0.00", "9.99", "FM9.99", "FM9.90", "FM9.09", "999", "FM999", "000", "0,000", "FM0,000", "9,999,999.99", "90", "FM90", "0099.90", "FM0099.90", "9990.0999", "FM9990.0999", "9", "0", "FM9", "FM99,99,99.99",
		"9,9", "0,9", "9,0.0", "FM9,0.9", "999,999,999,999,999,999,999", "FM999,999,999,999,999,999,999.999999", "000000000000000000000000.0000", "FM99999999999999999999999999999999999999.9999999999", "fm999", "99FM9",
		"$999,990.00", "FM$999,990.00", "990.0%", "FM990.0%", `FM999"%"`, `FM999" EUR"`, `"n: "999`, "[999]", "€ 9990.00 €",
	}
	// What depends on the locale, other signs and forms, and templates of which PostgreSQL makes something odd.
	left := []string{
		"FM999 999", "9.", ".99", "9,", "9.9.9", "99D99", "9G999", "L99", "S99", "99MI", "PL9", "SG9", "9PR", "9V9", "RN", "9th", "9.9EEEE", "B9", "", "x", "9 9", `9\9`, "1", "9a", ",9", "9,.9", "FM", `9"`, `9"a\"b"`, "9,,9", "9.9,9",
	}
	var run, leave []string
	for _, value := range []string{"n", "i", "b", "s", "w", "n * 2 - i", "abs(n)", "round(n)", "1234.565", "-7", "CASE WHEN id > 0 THEN n / 3 END", "n::text::numeric(20,3)"} {
		for _, template := range shown {
			run = append(run, fmt.Sprintf("SELECT id, to_char(%s, '%s') FROM amount ORDER BY id", value, template))
		}
	}
	for _, template := range left {
		leave = append(leave, fmt.Sprintf("SELECT id, to_char(n, '%s'), to_char(i, '%[1]s') FROM amount ORDER BY id", template))
	}
	run = append(run,
		"SELECT id % 7, to_char(sum(n), 'FM999,999,999,990.00'), to_char(avg(i), '999,999,999.999'), to_char(sum(b) / count(*), 'FM0.0'), to_char(count(*), 'FM000') FROM amount GROUP BY 1 ORDER BY 1",
		"SELECT to_char(n, 'FM990.0') || ' %', count(*) FROM amount GROUP BY 1 ORDER BY 1",
		"SELECT id FROM amount WHERE to_char(s, 'FM00') LIKE '#%' OR to_char(n, 'FM9.9') = '.5' ORDER BY id",
		"SELECT to_char(100.0 * sum(i) FILTER (WHERE id > 0) / nullif(sum(b), 0), '990.00%') FROM amount",
	)
	leave = append(leave, "SELECT to_char(s, 'FM9.99999999999') FROM amount", "SELECT to_char(n::float8, 'FM9.9') FROM amount", "SELECT to_char(n, s::text) FROM amount")
	columnar, oltp := start(t, strings.ReplaceAll(amounts, "\n", " ")).routes()
	wantAlikeIn(t, columnar, oltp, 1, run)
	for _, sql := range leave {
		if alike(t, columnar, oltp, sql, inOrder) != refused {
			t.Errorf("%s ran on the replica", sql)
		}
	}
}

// PostgreSQL makes an interval of a time, and of an interval's fields shows each by itself.
func TestGateway_writesTimesByTemplateAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, `CREATE TABLE shift (id int PRIMARY KEY, at time, f timestamp NOT NULL, u timestamp);
INSERT INTO shift SELECT i, time '00:00' + i * interval '11 min 7.000123 s', timestamp '2024-03-01' + i * interval '5 hours', timestamp '2024-03-01' + i * interval '6 hours 1 min 0.25 s' FROM generate_series(1, 120) i;
INSERT INTO shift VALUES (-1, NULL, '2024-03-01', NULL), (-2, '24:00', '2024-03-01', '2024-03-01'), (-3, '23:59:59.999999', '2024-03-01', '2024-03-09 12:00:00.000001')`).routes()
	for _, template := range []string{"HH24:MI", "HH24:MI:SS", "HH12:MI", "hh:mi", "FMHH24:FMMI", "MI:SS.MS", "SS.US", `HH24"h "MI"m"`, "FMMS"} {
		for _, value := range []string{"at", "u - f", "age(u, f)", "make_interval(hours => id * 0 + 99, mins => 50)", "f::time", "(u - f) / 7", "CASE WHEN id > 0 THEN at END"} {
			wantSameAnswer(t, columnar, oltp, fmt.Sprintf("SELECT id, to_char(%s, '%s') FROM shift ORDER BY id", value, template))
		}
		wantSameAnswer(t, columnar, oltp, fmt.Sprintf("SELECT id %% 4, to_char(avg(u - f), '%s'), to_char(max(u - f), '%[1]s') FROM shift GROUP BY 1 ORDER BY 1", template))
	}
	for _, left := range []string{"to_char(at, 'HH24:MI AM')", "to_char(at, 'DD')", "to_char(u - f, 'DD HH24')", "to_char(f - u, 'HH24')", "to_char(make_interval(hours => id), 'HH24')"} {
		if got := outcome(t, columnar, "SELECT id, "+left+" FROM shift ORDER BY id"); !slices.Equal(got, []string{"SQLSTATE 0A000"}) {
			t.Errorf("%s: %v", left, got)
		}
	}
}
