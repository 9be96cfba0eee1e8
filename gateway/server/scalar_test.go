package server_test

import (
	"strings"
	"testing"
)

// scalars are values of which the functions below make something else than of others.
const scalars = `CREATE TABLE v (id int PRIMARY KEY, sm smallint, i int, b bigint, n numeric(10,2), w numeric(24,6), f float8, r real, s text COLLATE "C", t text, c char(5), d date, bo bool);
INSERT INTO v VALUES (0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
 (1, -32768, -2147483648, -9223372036854775808, -99999999.99, -123456789012345678.123456, '-Infinity', '-Infinity', '', '', '', '0001-01-01', true),
 (2, 32767, 2147483647, 9223372036854775807, 99999999.99, 123456789012345678.123456, 'Infinity', 'Infinity', 'it''s', 'a\b', 'a\''', '2299-12-31', false),
 (3, 0, 0, 0, 0, 0, '-0', 0, 'é', 'Zoë', 'é', '2024-02-29', true), (4, 1, 7, 12, 2.5, 0.000001, 'NaN', 'NaN', 'a,b,,c', ',', 'a,b', '1900-01-01', NULL),
 (5, 29, 29, 29, 29.5, 10, 28.999999999999996, 0.1, ',a', 'a,', ',', '2023-12-31', false), (6, -7, -7, -3000000000, -0.05, -1.5, -2.25, -1.5, 'ab', 'ab', 'ab', '1999-02-28', false),
 (7, 2, 2, 2, 2, 2, 2, 2, 'x', 'y', 'z', NULL, NULL), (8, 99, 99, 99, 99.99, 99.999999, 1e300, 1e30, 'aaa', 'aaaa', 'aa', '2024-12-31', true)`

func TestGateway_computesScalarsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	var values []string
	for _, x := range strings.Fields("sm i b n f s c d -2.5 NULL") {
		for _, f := range []string{
			"div($, 3)", "div($, n)", "div(w, $)", "div(-7, $)", "sqrt($)", "|/ $", "@ $", "~ $", "to_hex($)", "$ << 3", "$ >> 1", "$ << 31", "$ >> 63", "1 << $", "$ << -1", "CASE WHEN id > 2 AND id < 7 THEN sqrt(abs($)) END",
			"width_bucket($, 0, 100, 10)", "width_bucket($, 100, 0, 100)", "width_bucket($, 0.5, 3, 7)", "width_bucket($, -5, 99, 1000)", "width_bucket($, ARRAY[-2, 0, 0, 3, 100])", "width_bucket($, ARRAY[0.5, 7.25])", "width_bucket($, '{1,10}'::int[])", "width_bucket($, ARRAY[5, 1])", "width_bucket($, ARRAY[1, NULL])", "width_bucket($, 0, 0, 3)", "width_bucket($, 1, 2, 0)", "width_bucket(29, 0, 100, $)",
			"num_nulls($, s, 1 / i)", "num_nonnulls($, NULL, 'x')", "num_nulls($)", "bit_length($)", "quote_literal($)", "quote_nullable($)", "quote_nullable($) || 'x'",
			"repeat('ab', $)", "repeat($, 3)", "split_part($, ',', -1)", "split_part($, ',', -3)", "split_part($, 'aa', -2)", "split_part($, ',', 0)", "make_date(2024, $, 1)", "make_date($, 2, 29)", "make_date(2023, 2, $)", "pi() * $",
		} {
			values = append(values, strings.ReplaceAll(f, "$", x))
		}
	}
	values = append(values, "make_date(extract(year FROM d)::int, extract(month FROM d)::int, 1)", "make_date(2023, 2, 29)", "make_date(2024, 2, 29)", "make_date(2298, 12, 31) - d", "width_bucket(i, 0, 100, 100)", "width_bucket(sm, 0, 100, 100)", "width_bucket(b, 0, 33, 7)", "width_bucket(f, 0, 1, 3)")
	columnar, oltp := start(t, scalars).routes()
	wantAlikeByRow(t, columnar, oltp, 0.3, values, "v", 9)
	wantAlikeIn(t, columnar, oltp, 1, []string{
		"SELECT width_bucket(n, 0, 100, 10) AS bucket, count(*), min(n) FROM v GROUP BY 1 ORDER BY 1", "SELECT id FROM v WHERE num_nonnulls(s, d) = 1 ORDER BY id", "SELECT repeat('*', id), id FROM v WHERE @ n > 2 ORDER BY sqrt(id) DESC",
		"SELECT make_date(2024, 1 + id, 1) AS month, sum(i >> 2) FROM v GROUP BY 1 ORDER BY 1", "SELECT sqrt(sum(id * id)), pi() FROM v", "SELECT pi()",
	})
}

// A float becomes a numeric by its text, of as many digits as all floats hold.
func TestGateway_makesNumericsOfFloatsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, `CREATE TABLE v (id int PRIMARY KEY, grp int, f float8, r real);
INSERT INTO v SELECT i - 1, i % 3, x, x FROM unnest(ARRAY[NULL, 0, '-0', 1, -1, 0.1, 1.0 / 3, -2.0 / 3, 0.30000000000000004, 12345.65, 1234565, 1234575, 1000000000000.125, 1000000000000.375, 33333333333333.332,
  99999999999999.96, 999999999999999.9, 999999999999999, 1e15, 1e20, 0.0001, 0.00012345678901234567, 0.000099, 1e-5, 1.5e-7, -1e-13, 1.23456789e-8, 1e-30, 0.5, 2.675, 1.005, 'NaN', 'Infinity', '-Infinity']::float8[]) WITH ORDINALITY AS u(x, i)`).routes()
	var values []string
	for _, x := range []string{"f", "r", "f * 3", "f / 7.0::float8", "-f", "r::float8", "2.5::float8"} {
		for _, form := range []string{"$::numeric", "round($::numeric, 2)", "($)::numeric(20,3)", "$::numeric + 1", "$::numeric * 1.50", "$::numeric > 0.5", "coalesce(trunc($::numeric, 1), 0)", "to_char(round($::numeric, 2), 'FM990.00')", "$::numeric(3,2)"} {
			values = append(values, strings.ReplaceAll(form, "$", x))
		}
	}
	wantAlikeByRow(t, columnar, oltp, 0.6, values, "v", 34)
	wantAlikeIn(t, columnar, oltp, 1, []string{
		"SELECT grp, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY id)::numeric, 2) FROM v GROUP BY grp ORDER BY grp", "SELECT round(r::numeric, 1), count(*) FROM v WHERE id < 12 GROUP BY 1 ORDER BY 1", "SELECT sum(f::numeric), avg(round(f::numeric, 2)), max(f::numeric) FROM v WHERE id BETWEEN 1 AND 12",
		"SELECT id, round(sqrt(id)::numeric, 3) FROM v ORDER BY id", "SELECT id, CASE WHEN id > 0 THEN (1 / id::float8)::numeric END FROM v WHERE id < 9 ORDER BY id",
	})
}

func TestGateway_splitsTextsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, `CREATE TABLE note (id int PRIMARY KEY, tags text);
INSERT INTO note VALUES (1, NULL), (2, ''), (3, ','), (4, 'a,b,,c'), (5, 'NULL,null'), (6, ' a , b '), (7, '{x},"y",\,z''s'), (8, 'é,ü'), (9, 'a')`).routes()
	wantAlikeIn(t, columnar, oltp, 1, []string{
		"SELECT id, string_to_array(tags, ','), (string_to_array(tags, ','))[1], (string_to_array(tags, ', '))[2], cardinality(string_to_array(tags, ',')), array_length(string_to_array(tags, 'a'), 1) FROM note ORDER BY id",
		"SELECT x, count(*) FROM note, unnest(string_to_array(tags, ',')) AS x GROUP BY x ORDER BY x", "SELECT id FROM note WHERE 'b' = ANY (string_to_array(tags, ',')) ORDER BY id", "SELECT id FROM note WHERE tags = ANY (string_to_array('a,é,', ',')) ORDER BY id",
		"SELECT id, trim(x) FROM note LEFT JOIN LATERAL unnest(string_to_array(tags, ',')) AS u (x) ON true WHERE id < 7 ORDER BY 1, 2", "SELECT id, string_to_array(tags, ',') && ARRAY['c', 'NULL'] FROM note ORDER BY id", "SELECT string_to_array('', ','), string_to_array('a,b', ',')",
		"SELECT id, array_to_string(string_to_array(tags, ','), '|') FROM note ORDER BY id",
		"SELECT id FROM note WHERE id = ANY (string_to_array('1, 3,007', ',')::int[]) ORDER BY id", "SELECT id FROM note WHERE id <> ALL (string_to_array('', ',')::bigint[]) ORDER BY id", "SELECT id FROM note WHERE id IN (SELECT unnest(string_to_array('2|4', '|')::int[])) ORDER BY id",
	})
	wantAlikeIn(t, columnar, oltp, 0, []string{"SELECT string_to_array(tags, NULL) FROM note ORDER BY id", "SELECT string_to_array(tags, '') FROM note ORDER BY id", "SELECT string_to_array(tags, ',', 'a') FROM note ORDER BY id"})
}

// The database's own collation goes before that of a column where a statement asks for it.
func TestGateway_takesTheDefaultCollationAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, `CREATE TABLE word (id int PRIMARY KEY, g text COLLATE "de-x-icu", c varchar(9) COLLATE "C", d text);
INSERT INTO word SELECT i, w, w, w FROM unnest(ARRAY['b', 'B', 'a b', 'ab', NULL, '', 'z', 'Z', '-a', '10', '9']) WITH ORDINALITY AS x(w, i)`).routes()
	var statements []string
	for _, x := range []string{`g COLLATE "default"`, `c COLLATE "default"`, `d COLLATE pg_catalog."default"`, `(g || d) COLLATE "default"`, `upper(g COLLATE "default")`, `left(g, 1) COLLATE "default"`} {
		for _, sql := range []string{
			"SELECT id FROM word ORDER BY $, id", "SELECT min($), max($) FROM word", "SELECT $ AS x, count(*) FROM word GROUP BY 1 ORDER BY 1 DESC", "SELECT id FROM word WHERE $ < 'a' ORDER BY id", "SELECT id FROM word WHERE $ >= d ORDER BY id",
			"SELECT id, rank() OVER (ORDER BY $) FROM word ORDER BY id", "SELECT string_agg($, ',' ORDER BY $) FROM word",
		} {
			statements = append(statements, strings.ReplaceAll(sql, "$", x))
		}
	}
	wantAlikeIn(t, columnar, oltp, 1, statements)
	wantAlikeIn(t, columnar, oltp, 0, []string{`SELECT id FROM word WHERE g COLLATE "default" < c ORDER BY id`, `SELECT id FROM word WHERE g COLLATE "default" < c COLLATE "C"`, `SELECT g COLLATE "nothing" FROM word`, `SELECT id COLLATE "default" FROM word`})
}

// NaN is equal to itself in PostgreSQL, and a constant that asks for it needs no guard.
func TestGateway_findsNaNAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, `CREATE TABLE measure (id int PRIMARY KEY, f float8, g float4, n int);
INSERT INTO measure VALUES (1, 1.5, 'NaN', 1), (2, 'NaN', 2, 2), (3, NULL, NULL, 3), (4, 'Infinity', '-Infinity', NULL), (5, '-0', 0, 0)`).routes()
	for _, sql := range []string{
		"SELECT id, f = 'NaN', f <> 'nan', 'NaN' = g, g != 'NAN', NOT f = 'NaN' FROM measure ORDER BY id", "SELECT id FROM measure WHERE f <> 'NaN' ORDER BY id", "SELECT count(*) FROM measure WHERE NOT (g = 'NaN' OR f = 'NaN')",
		"SELECT f = 'NaN', count(*) FROM measure GROUP BY 1 ORDER BY 1", "SELECT count(*) FILTER (WHERE f <> 'NaN'), sum(CASE WHEN g = 'NaN' THEN 1 ELSE 0 END) FROM measure", "SELECT a.id, b.id FROM measure a LEFT JOIN measure b ON a.id = b.n AND b.f <> 'NaN' ORDER BY 1, 2",
		"SELECT max(f) FROM measure WHERE f <> 'NaN' AND n > 0",
	} {
		wantSameOutcome(t, columnar, oltp, sql)
	}
	wantAlikeIn(t, columnar, oltp, 0.4, []string{"SELECT id, f = 'NaN', g <> 'NaN' FROM measure ORDER BY id", "SELECT id, f > 'NaN' FROM measure ORDER BY id", "SELECT id, f = ' NaN ', f = '-nan' FROM measure ORDER BY id", "SELECT id, n = 'NaN' FROM measure ORDER BY id", "SELECT id, f IN ('NaN', 1.5) FROM measure ORDER BY id",
		"SELECT count(*) FROM measure WHERE f <> 'NaN'", "SELECT id, n + f = 'NaN', f / 2 <> 'NaN' FROM measure WHERE id = 1"})
}
