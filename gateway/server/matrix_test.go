package server_test

import (
	"fmt"
	"strings"
	"testing"
)

// Values of all kinds that the replica computes with, among them the least and the most of a type, ties and NULLs.
const kinds = `CREATE TABLE k (id int PRIMARY KEY, grp int, sm smallint, i int, b bigint, n numeric(10,2), w numeric(24,6), s text COLLATE "C", c char(5), f bool, d date, ts timestamp, tz timestamptz, iv interval);
INSERT INTO k SELECT i, nullif(i % 6, 5), nullif(i % 7, 3) - 2, (ARRAY[2147483647, -2147483648, 0, NULL, 7, -7, 100])[i % 7 + 1], (ARRAY[9223372036854775807, NULL, -9223372036854775808, 12, -12, 3000000000])[i % 6 + 1],
  (ARRAY[99999999.99, -0.05, 0, NULL, 2.5, 3.5, -2.5])[i % 7 + 1], (ARRAY[123456789012345678.123456, 0.000001, NULL, -1.5, 10])[i % 5 + 1],
  (ARRAY['', 'a', 'B', NULL, '42', '-3.50', ' x ', '2024-02-29', 'true', 'é'])[i % 10 + 1], (ARRAY['', 'ab', NULL, 'ab  ', '7'])[i % 5 + 1], nullif(i % 3, 0) = 1,
  (ARRAY['2024-02-29', NULL, '1999-12-31', '2000-01-01', '0001-01-01', '2024-03-31'])[i % 6 + 1]::date,
  (ARRAY['2024-02-29 23:59:59.999999', '1969-12-31 23:59:59.5', NULL, '2000-01-01', '2024-10-27 02:30'])[i % 5 + 1]::timestamp,
  (ARRAY['2024-03-31 01:30+00', NULL, '1969-12-31 23:59:59.5+00', '2024-10-27 01:30+00'])[i % 4 + 1]::timestamptz,
  (ARRAY['1 day', '-25 hours', NULL, '1 mon -1 day 00:00:00.000001', '0'])[i % 5 + 1]::interval FROM generate_series(1, 60) i`

// What an aggregate makes of a group, of one without a value, and of no row.
func TestGateway_aggregatesAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	aggregates := []string{
		"count($)", "count(DISTINCT $)", "min($)", "max($)", "sum($)", "avg($)", "sum(DISTINCT $)", "avg(DISTINCT $)", "count($) FILTER (WHERE $ IS NOT NULL AND f)", "max($) FILTER (WHERE id > 100)",
		"stddev($)", "var_pop($)", "string_agg($::text, ',' ORDER BY id)", "string_agg(DISTINCT $::text, '' ORDER BY $::text)", "array_agg($ ORDER BY id DESC)", "bool_or($ IS NULL)", "every($ = $)",
		"count(*) - count($)", "coalesce(max($), min($)) IS NULL", "percentile_disc(0.5) WITHIN GROUP (ORDER BY $)", "mode() WITHIN GROUP (ORDER BY $)", "mode() WITHIN GROUP (ORDER BY $ DESC) FILTER (WHERE id % 4 > 1)",
		"regr_count(id, $)", "(percentile_disc(ARRAY[0.2, 0.5]) WITHIN GROUP (ORDER BY $))[2]", "(percentile_cont(ARRAY[0.2, 0.5]) WITHIN GROUP (ORDER BY $))[1]",
		"percentile_disc(0.3) WITHIN GROUP (ORDER BY $ DESC)", "percentile_cont(0.3) WITHIN GROUP (ORDER BY $ DESC)", "percentile_disc(ARRAY[0, 0.4, NULL, 1]) WITHIN GROUP (ORDER BY $)", "percentile_cont('{0.15,1}'::float8[]) WITHIN GROUP (ORDER BY $ DESC)",
	}
	places := []string{
		"SELECT grp, @ AS v FROM k GROUP BY grp ORDER BY grp", "SELECT @ AS v FROM k", "SELECT @ AS v FROM k WHERE id < 0", "SELECT grp, @ AS v FROM k WHERE id < 0 GROUP BY grp",
		"SELECT grp, sm, @ AS v FROM k GROUP BY ROLLUP (grp, sm) ORDER BY grp, sm, grouping(grp, sm)", "SELECT grp FROM k GROUP BY grp HAVING (@) IS NOT NULL ORDER BY 1",
		"SELECT grp, (SELECT @ FROM k WHERE k.grp = g.grp AND k.sm > 0) AS v FROM (SELECT DISTINCT grp FROM k) g ORDER BY grp",
	}
	var statements []string
	for i, column := range []string{"sm", "i", "b", "n", "w", "s", "f", "d", "ts", "tz", "iv", "i % 3", "n * 2", "s || 'x'"} {
		for j, a := range aggregates {
			for k, place := range places {
				if everyPair(3, i, j, k) {
					statements = append(statements, strings.ReplaceAll(place, "@", strings.ReplaceAll(a, "$", column)))
				}
			}
		}
	}
	wantAlike(t, kinds, 0.5, statements)
}

// What a window function makes of peers, of frames without a row, and of NULLs.
func TestGateway_windowsAnswerAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	const row, rows, peers = "row_number() | ntile(4) | lag($) | lag($, 2) | lead($, 1, $) | first_value($) | last_value($) | nth_value($, 2)",
		"count($) | sum($) | avg($) | min($) | max($) | count(*) | count($) FILTER (WHERE f)", "rank() | dense_rank() | percent_rank() | cume_dist()"
	all := []string{
		"", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", "ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING", "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING",
		"RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
	}
	// Where rows may be peers, only what treats them alike has one answer.
	ofPeers := []string{"", "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "RANGE BETWEEN CURRENT ROW AND CURRENT ROW", "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"}
	var statements []string
	for _, o := range []struct {
		order, functions string
		frames           []string
	}{
		{"ORDER BY id", row + " | " + rows + " | " + peers, all},
		{"ORDER BY $, id", row + " | " + rows, all},
		{"ORDER BY $ DESC NULLS LAST, id", row + " | " + rows, all},
		{"ORDER BY sm", rows + " | " + peers, ofPeers},
		{"ORDER BY $ DESC", rows + " | " + peers, ofPeers},
		{"", rows + " | " + peers, ofPeers},
	} {
		for i, column := range []string{"sm", "n", "s", "d"} {
			for j, f := range strings.Split(o.functions, " | ") {
				for k, frame := range o.frames {
					if !everyPair(2, i, j, k) {
						continue
					}
					sql := "SELECT id, " + f + " OVER (PARTITION BY grp " + o.order + " " + frame + ") AS v FROM k ORDER BY id"
					statements = append(statements, strings.ReplaceAll(sql, "$", column))
				}
			}
		}
	}
	wantAlike(t, kinds, 0.5, statements)
}

// What an operator makes of operands of different types, and a cast of a value that the other type may not have.
func TestGateway_convertsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columns := []string{"sm", "i", "b", "n", "w", "s", "c", "f", "d", "ts", "tz", "iv", "3", "-1", "2.50", "'7'", "NULL"}
	var statements []string
	for i, left := range columns {
		for _, kind := range []string{"smallint", "int", "bigint", "numeric", "numeric(6,1)", "text", "char(3)", "varchar(2)", "bool", "date", "timestamp", "timestamptz", "timestamp(0)", "interval", "time"} {
			statements = append(statements,
				fmt.Sprintf("SELECT id, (%s)::%s AS v FROM k ORDER BY id", left, kind),
				fmt.Sprintf("SELECT id, (%s)::%s AS v FROM k WHERE i BETWEEN 0 AND 100 AND n < 5 AND b BETWEEN 0 AND 100 AND s ~ '^[0-9]+$' ORDER BY id", left, kind))
		}
		for j, right := range columns {
			for k, operator := range []string{"+", "-", "*", "/", "%", "||", "=", "<>", "<", ">=", "IS DISTINCT FROM"} {
				if everyPair(4, i, j, k) {
					statements = append(statements, "SELECT id, "+left+" "+operator+" "+right+" AS v FROM k WHERE id % 5 <> 0 ORDER BY id")
				}
			}
		}
	}
	wantAlike(t, kinds, 0.2, statements)
}

// Of an integer the functions that round are those of floats, unless they round to a place.
func TestGateway_roundsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	var statements []string
	for _, x := range []string{"sm", "i", "b", "n", "w", "i::float8", "b / 3", "count(*) OVER ()", "9007199254740993", "-1", "0", "nullif(i, 7)", "id % 2"} {
		for _, f := range []string{"round($)", "trunc($)", "ceil($)", "ceiling($)", "floor($)", "sign($)", "abs($)", "round($, 1)", "trunc($, 2)", "round($) / 2", "ceil($)::bigint", "floor($) = $", "floor($ / 2.0)", "-sign($)"} {
			statements = append(statements, "SELECT id, "+strings.ReplaceAll(f, "$", x)+" AS v FROM k ORDER BY id")
		}
	}
	for _, x := range []string{"sm", "i", "b"} {
		for _, sql := range []string{
			"SELECT round($) AS v, count(*) FROM k GROUP BY 1 ORDER BY 1", "SELECT max(ceil($)), min(sign($)), count(DISTINCT floor($)) FROM k", "SELECT id FROM k WHERE round($) > 6.5 ORDER BY trunc($) DESC, id",
			"SELECT grp, round(sum($)), round(avg($)), floor(count($) / 2), round(max($)) FROM k GROUP BY grp ORDER BY grp", "SELECT k.id FROM k JOIN k o ON round(k.$) = o.id ORDER BY 1",
		} {
			statements = append(statements, strings.ReplaceAll(sql, "$", x))
		}
	}
	wantAlike(t, kinds, 0.9, statements)
}

// Equal numerics look different: the first one is shown.
func TestGateway_choosesExtremesAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	const schema = `CREATE TABLE x (id int PRIMARY KEY, grp int, a numeric(8,2), b numeric(6,4), i int, w bigint, s text, f float8);
INSERT INTO x VALUES (0, 0, NULL, NULL, NULL, NULL, NULL, NULL), (1, 0, 1.50, 1.5, 1, 1, '1.500', 1.5), (2, 0, 2, 2, 2, 2, '2.0', 2), (3, 1, -0.05, 0.05, 0, 0, '0', 0), (4, 1, NULL, 3, 3, NULL, '3.00', NULL),
 (5, 1, 0, NULL, 0, -9223372036854775808, '-0.0', 1), (6, 1, 999999.99, 99.9999, 2147483647, 9223372036854775807, '7', 3)`
	values := []string{
		"greatest(a, 0)", "least(a, 0)", "greatest(0, a)", "greatest(0.000, a)", "least(a, b)", "greatest(b, a)", "least(b, a, i)", "greatest(i, a, b)", "greatest(w, b)", "least(NULL, a, 2.000)", "greatest(a, NULL, b)",
		"greatest(a / 3, b)", "least(a / 7, b / 7, 0)", "greatest(s::numeric, a)", "least(a, s::numeric, 1.5)", "greatest(a, b) + 1", "round(greatest(a, b), 1)", "greatest(a, b) / 3", "coalesce(least(a, b), 0)", "greatest(least(a, b), 0)",
		"CASE WHEN id > 2 THEN greatest(a, b) ELSE i END", "greatest(a, b) = b", "greatest(a, i)::int", "greatest(1.5, 1.50)", "least(2.00, 2, a)", "greatest(a, b)::text", "greatest(f, a)", "greatest(avg(a) OVER (PARTITION BY grp), 0)",
	}
	var statements []string
	for _, v := range values {
		statements = append(statements, "SELECT id, "+v+" AS v FROM x ORDER BY id", "SELECT id FROM x WHERE "+v+" IS NOT NULL ORDER BY "+v+", id", "SELECT v, id FROM (SELECT "+v+" AS v, id FROM x) y ORDER BY v, id")
	}
	for _, v := range []string{"greatest(a, b)", "least(a, 0)", "greatest(s::numeric, b)"} {
		statements = append(statements, "SELECT grp, sum("+v+"), max("+v+") > 1, count(DISTINCT "+v+") FROM x GROUP BY grp ORDER BY grp", "SELECT "+v+" AS v, count(*) FROM x WHERE id > 2 GROUP BY 1 ORDER BY 1", "SELECT greatest(sum(a), 0), least(max(b), max(a), 5) FROM x GROUP BY grp ORDER BY grp",
			"SELECT avg("+v+") FROM x", "SELECT count(*), sum(v) FROM (SELECT "+v+" AS v FROM x UNION ALL SELECT i FROM x) y", "SELECT id, "+v+" AS v FROM x UNION ALL SELECT id + 10, i FROM x ORDER BY 1")
	}
	wantAlike(t, schema, 0.8, statements)
}

// A list is compared with as one of a type, or element by element: numbers that are one float8, and blanks that count for a text only.
func TestGateway_searchesListsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	const schema = `CREATE TABLE l (id int PRIMARY KEY, a bigint, b bigint, n numeric(20,1), f float8, s text, v varchar(9), c char(5));
INSERT INTO l VALUES (0, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (1, 9007199254740993, 9007199254740992, 1.5, 1.5, 'a ', 'a ', 'a'), (2, 9007199254740993, 1, 9007199254740992, 9007199254740992, 'a', 'b', 'c '),
 (3, 1, 1, 1, 1, '', '', ''), (4, 1, NULL, 1.5, 2.5, '1', '1', '1'), (5, 9007199254740992, 3, 9007199254740993.0, 9007199254740992, 'x', NULL, 'x')`
	var statements []string
	left := []string{"a", "b", "n", "f", "s", "v", "c", "id", "1", "1.5", "9007199254740993", "'a '", "'1'"}
	for _, x := range left {
		for _, list := range []string{
			"b, f", "f, b", "a, b", "b, n", "n, f", "id, n", "b, 1.5", "9007199254740992, f", "9007199254740992, 1.5::float8", "9007199254740992, 1.5", "f", "b, NULL", "'1', b", "1, '2'",
			"s, v", "v, s", "c, s", "s, c", "v, c", "'a ', c", "c, 'a '", "'a', s", "'a ', 'b'", "v, 'a ', NULL",
		} {
			statements = append(statements, fmt.Sprintf("SELECT id, %s IN (%s) AS x, %[1]s NOT IN (%[2]s) AS y FROM l ORDER BY id", x, list))
		}
	}
	wantAlike(t, schema, 0.5, statements)
}

// everyPair thins a product of three lists out to one in n of its elements. As long as no list is shorter than n, whatever is in
// two of the lists still meets somewhere.
func everyPair(n, i, j, k int) bool { return (i+j+k)%n == 0 }
