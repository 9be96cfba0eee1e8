package server_test

import (
	"fmt"
	"strings"
	"testing"
)

// Fields of moments and intervals have several names, of which PostgreSQL knows these and no others.
func TestGateway_readsFieldsByAnyNameAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	var statements []string
	for _, field := range strings.Fields("years yr yrs months mon mons weeks days hours hr hrs minutes min mins seconds sec secs qtr decade decades century centuries millennium millennia julian MONTHS quarters day2") {
		for _, x := range []string{"d", "ts", "tz", "ts - '2000-01-01'::timestamp", "make_interval(months => id, days => sm)", "'2024-02-29 12:34:56.789'::timestamp"} {
			statements = append(statements, fmt.Sprintf("SELECT id, extract(%s FROM %s) AS v, date_part('%[1]s', %[2]s) AS w FROM k WHERE d > '1990-01-01' AND ts > '1960-01-01' ORDER BY id", field, x))
		}
		statements = append(statements, fmt.Sprintf("SELECT id, date_trunc('%s', ts) AS v FROM k WHERE ts > '1960-01-01' ORDER BY id", field))
	}
	for year := 1901; year <= 2299; year += 7 {
		statements = append(statements, fmt.Sprintf("SELECT extract(century FROM d), extract(decade FROM d), extract(millennium FROM d), extract(julian FROM d) FROM (SELECT make_date(%d + sm, 1, 1) AS d FROM k WHERE sm >= 0 AND id < 9) x ORDER BY d", year))
	}
	wantAlike(t, kinds, 0.5, statements)
}

func TestGateway_tellsInfinitiesAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	const schema = `CREATE TABLE m (id int PRIMARY KEY, d date, ts timestamp, tz timestamptz);
INSERT INTO m VALUES (0, NULL, NULL, NULL), (1, 'infinity', 'infinity', 'infinity'), (2, '-infinity', '-infinity', '-infinity'), (3, '5870000-12-31', '290000-12-31 23:59:59.999999', '290000-12-31 23:59:59.999999+00'),
 (4, '4713-01-01 BC', '4713-01-01 BC', '4713-01-02 00:00+00 BC'), (5, '2024-02-29', '2024-02-29', '2024-02-29')`
	var statements []string
	for _, x := range []string{"d", "ts", "tz", "max(d) OVER ()", "nullif(d, '2024-02-29')"} {
		statements = append(statements, fmt.Sprintf("SELECT id, isfinite(%s) AS v FROM m ORDER BY id", x))
	}
	for _, x := range []string{"d", "ts", "tz"} {
		statements = append(statements, fmt.Sprintf("SELECT id FROM m WHERE NOT isfinite(%s) ORDER BY id", x), fmt.Sprintf("SELECT isfinite(%s) AS v, count(*) FROM m GROUP BY 1 ORDER BY 1", x))
	}
	wantAlike(t, schema, 1, statements)
}

// Powers of constants, as dbt's series of numbers has them.
func TestGateway_raisesConstantsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	var statements []string
	for _, e := range []string{
		"power(2, 0)", "power(2, 10)", "2 ^ 10", "power(-2, 3)", "power(0, 0)", "2 ^ -1", "power(2, 53)", "power(2, 54)", "power(3, 40)", "power(2.0, 2)", "2::bigint ^ 3", "power(id, 2)", "id * power(2, 3)", "id * 2 ^ 3 + 1", "pow(2, 2)", "power(NULL, 2)",
		"-2 ^ 2", "power(10, 3)::int", "round(power(10, 2))", "sum(id * power(2, 2)) OVER ()", "power(2, 3) = 8", "power(7, 18)",
	} {
		statements = append(statements, "SELECT id, "+e+" AS v FROM k ORDER BY id")
	}
	statements = append(statements, `WITH p AS (SELECT 0 AS n UNION ALL SELECT 1), numbers AS (SELECT a.n * power(2, 0) + b.n * power(2, 1) + c.n * power(2, 2) + 1 AS n FROM p a CROSS JOIN p b CROSS JOIN p c)
SELECT numbers.n, count(k.id) FROM numbers LEFT JOIN k ON k.grp = numbers.n WHERE numbers.n <= 6 GROUP BY 1 ORDER BY 1`)
	wantAlike(t, kinds, 0.6, statements)
}
