package server_test

import (
	"fmt"
	"strings"
	"testing"
)

// documents are jsonb documents with what is easily mistaken for something else.
var documents = []string{
	`{}`, `{"a": null}`, `{"a": "text"}`, `{"a": ""}`, `{"a": "q\"uo\\te \n\t\u0001 é 😀 \/"}`, `{"a": true, "b": false}`, `{"a": 0, "b": -7}`,
	`{"a": 1.50}`, `{"a": -0.0}`, `{"a": 2.0, "b": {"a": 3}}`, `{"a": 2.0, "c": {"a": 3.0}}`, `{"a": 1e3}`, `{"a": 1e-7}`, `{"a": 9223372036854775807}`,
	`{"a": 18446744073709551615}`, `{"a": 18446744073709551616}`, `{"a": 123456789012345678901234567890.5}`, `{"a": 0.12345678901234567890123456789}`,
	`{"a": {"b": 1, "c": [1, 2]}}`, `{"a": [1, {"b": 2}]}`, `[1, 2]`, `["a", "b"]`, `"a"`, `5`, `null`, `{"a": {"b": {"c": "deep"}}}`, `{"a": {"b": 4.50}}`,
	`{"b": "the \"a\": 5 in a text", "a": 5.0}`, `{"\"a": 1, "a": 7.0}`, `{"xa": 1.0, "a": 2.5}`, `{"A": 1}`, `{"a": "2024-02-29"}`, `{"a": "2024-02-30"}`, `{"a": " 7"}`, `{"a": "+7"}`,
	`{"a": "12.340"}`, `{"a": "yes"}`, `{"a": "0x10"}`, `{"a": "1_000"}`, `{"a": "99999999999"}`, `{"it's": 1, "a\\b": 2}`,
	// With strings like what is around strings, and the same keys at several depths.
	`{"b": {"a": 1}}`, `{"b": {"a": 1}, "aa": 2}`, `{"b": {"b": {"a": 1}, "a": {"b": "x"}}}`, `{"b": [{"a": 5}], "aa": {"a": {"b": "y", "c": {"b": 1}}}, "a": {"b": "z: 1", "c": {"d": [1, {"b": 2.50}], "e": ":f"}}}`,
	`{"a": "[x"}`, `{"a": "}", "b": "{"}`, `{"b": "[{", "a": {"b": "]"}}`, `{"b": "x\\", "a": 12.50}`, `{"b": "\\", "a": ""}`, `{"a": ["\\"], "b": "\\\""}`, `{"a": {"b": "say \"a\": 1", "c": ["]"]}}`, `{"a": {"b": " : x"}, "b": ["\\", "\"b\":"]}`, `{"b": ", ", ", ": ":7"}`,
	`{"b": [", ", ":8", ":", "a", ":9"], "aa": "x : y"}`, `{"a": [{"b": 1, "c": "x:y"}, [], {}, "s"], "b": {}}`, `{"": 1, "a": {"": "empty"}}`, `{"é": {"ü": "ß"}}`, `{"a": {"b": 123456789012345678901234567890, "c": {"b": 0.10}}}`,
	`{"a": {"b\"c": 1, "b": 2}}`, `{"a": [1.0, 2.50, "1"], "b": ["s", "é", "q\"s", null, true, [1], {"s": 1}]}`, `{"a": ["text", "b", 1e2], "b": "a"}`, `{"a": {"c": [{"d": 1}, {"d": 2, "b": "x"}], "b": []}}`, `[{"a": "first", "b": 1}, 2]`, `{"0": "zero", "a": {"0": "key"}}`, `{"a": {"b": null}}`, `{"a": {"b": true, "c": {"b": "deep", "c": "deeper"}}}`, `{"a": -5, "b": 2.50, "c": {"a": 2.50}}`, `{"a": {"b": {"c": {"d": {"e": {"f": "six"}}}}}}`,
}

func TestGateway_readsDocumentsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	schema := "CREATE TABLE doc (id int PRIMARY KEY, j jsonb);\nINSERT INTO doc VALUES (0, NULL)"
	for i, d := range documents {
		schema += fmt.Sprintf(", (%d, '%s')", i+1, strings.ReplaceAll(d, "'", "''"))
	}
	values := []string{
		"j->>'a'", "j->'a'->>'b'", "j#>>'{a}'", "j#>>'{a,b,c}'", "j#>>'{a,0}'", "j->>'it''s'", `j->>'a\b'`, "j->>'nothing'", "j ? 'a'", "j ? 'b'", `j @> '{}'`, `j @> '{"a": "text"}'`, `j @> '{"a": true, "b": false}'::jsonb`, `j @> '{"a": null}'`, `j @> '{"a": 0}'`, `j @> '{"a": 2}'`, `j @> '{"a": {}}'`, `j @> '{"a": {"b": 1}}'`, `j @> '[1]'`,
		`j @> '{"a": "q\"uo\\te \n\t\u0001 é 😀 /"}'`, `j @> '{"a\\b": 2, "it''s": 1}'`, "(j->'a') ? 'b'",
		"j->>'b'", "j->>''", "j->'a'->>''", "j->>', '", "j->>':'", "j->'é'->>'ü'", "j->'b'->>'a'", "j->'b'->'b'->>'a'", "j->'a'->'c'->>'b'", "j#>>'{a,c,d}'", "j#>>'{a,b,c,d,e,f}'", "j->'a'->'b'->'c'->'d'->>'e'", "j->>'aa'", "j->'aa'->'a'->>'c'", "j ? 'aa'", "j ? ''", "j ? ', '", "j",
		"(j->>'a') || (j->'a'->>'b')", "coalesce(j->'a'->>'b', j->>'b')", "CASE WHEN j->>'b' = 'x' THEN 1 ELSE length(j->>'a') END",
		"(j->>'a')::int", "(j->>'a')::bigint + 1", "(j->>'a')::numeric", "(j->>'a')::numeric(8,1)", "(j->>'a')::numeric * 2", "(j->>'a')::bool", "(j->>'a')::date", "(j->>'a') || 'x'", "upper(j->>'a')",
		"j->'a' IS NULL", "j->'b' IS NOT NULL", "j->'a'->'b' IS NULL", "j->'a'->0 IS NOT NULL", "jsonb_typeof(j)", "jsonb_typeof(j->'a')", "jsonb_typeof(j->'a'->'b')", "jsonb_typeof(j->'a'->'c'->1)", "jsonb_typeof(j->0)",
		"j->'a' ? 'b'", "j->'a' ? 'text'", "j->'b' ? 'a'", "j->'a'->'c' ? 'b'", "j->'b' ? 's'", "j ?| ARRAY['a', 'b']", "j ?& ARRAY['a', 'b']", "j ?| '{zz,NULL,aa}'", "j->'a' ?& ARRAY['b', 'c']", "j->'a' ?| ARRAY[]::text[]",
		"jsonb_array_length(j)", "jsonb_array_length(j->'a')", "jsonb_array_length(j->'a'->'c')", "jsonb_array_length(j->'b')", "j->0->>'a'", "j->>0", "j->'a'->>0", "j->'a'->>1", "j->'a'->>-1", "j->'a'->1->>'b'", "j->'a'->0->>'c'", "j->'a'->'c'->>1", "j->'b'->0->>'a'", "j->'a'->-9->>'b'",
		`j @> '{"a": [1]}'`, `j @> '{"a": [{"b": 2}]}'`, `j @> '{"a": [{"b": 1, "c": "x:y"}, "s"]}'`, `j @> '["a"]'`, `j @> '[2, 1]'`, `j @> '{"b": [", ", "a"]}'`, `j @> '{"a": {"c": [2]}}'`, `j @> '{"a": []}'`, `j @> '{"a": [[1]]}'`, `j @> '"a"'`, `j->'a' @> '{"b": 1}'`, `j->'a' @> '[1]'`, `j->'a'->'c' @> '[1, 2]'`, `j->'a'->0 @> '{"b": 1}'`, `j->'a' @> '{}'`,
		"j->'a'", "j->'a'->'b'", "j->'nothing'", "j->'a'->0", "coalesce(j->'a', j->'b')", "CASE WHEN j ? 'a' THEN j->'b' ELSE j END", "j::text", "(j->'a')::text", "'<' || j", "(j->'a')::text LIKE '%1%'", "length(j::text)", "j::varchar(9)", "jsonb_extract_path_text(j, 'a', 'b')", "jsonb_extract_path_text(j, 'a', '0')", "jsonb_extract_path_text(j, 'b')",
		"(j->>'a') IS NULL", "coalesce(j->>'a', j->>'b', 'none')", "(j->>'a') = '2.0'", "CASE WHEN j ? 'a' THEN j->>'a' END",
	}
	columnar, oltp := start(t, schema).routes()
	wantAlikeByRow(t, columnar, oltp, 0.55, values, "doc", len(documents)+1)
	wantAlikeIn(t, columnar, oltp, 0.6, []string{
		"SELECT j->>'a' AS v, count(*) FROM doc WHERE id BETWEEN 1 AND 4 GROUP BY 1 ORDER BY 2 DESC, 1 NULLS FIRST",
		"SELECT sum((j->>'a')::numeric), count(j->>'a') FROM doc WHERE id BETWEEN 7 AND 10",
		"SELECT d.id, e.id FROM doc d JOIN doc e ON d.j->>'a' = e.j->>'a' WHERE d.id BETWEEN 2 AND 9 AND e.id BETWEEN 2 AND 9 ORDER BY 1, 2",
	})
}

// Values of all types as texts, of which some have a form that the replica leaves to PostgreSQL.
func TestGateway_writesTextsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	const schema = `CREATE TYPE mood AS ENUM ('sad', 'o k', 'Happy');
CREATE TABLE v (id int PRIMARY KEY, i int, b bigint, n numeric(12,3), f bool, d date, ts timestamp, tz timestamptz, tm time, u uuid, m mood, s text, c varchar(9), p char(5));
INSERT INTO v (id) VALUES (0);
INSERT INTO v VALUES (1, 0, 0, 0, true, '2024-02-29', '2024-02-29 23:59:59.999999', '2024-03-31 01:30+00', '00:00', '00000000-0000-0000-0000-000000000000', 'sad', '', '', ''),
 (2, -1, -9223372036854775808, -0.050, false, '1900-01-01', '1999-12-31 12:00', '2024-10-27 00:30:00.5+00', '24:00', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'o k', 'é%s''\', 'it''s', 'a b'),
 (3, 2147483647, 5, 999999999.999, true, '2299-12-30', '2000-01-01 00:00:00.1', '1971-06-01 12:34:56.000001+00', '13:05:09.25', 'ffffffff-ffff-4fff-bfff-ffffffffffff', 'Happy', 'abcdefgh', 'Zoë', 'é'),
 (4, 7, 7, 7, false, '2299-12-31', 'infinity', '-infinity', '12:00:00.000001', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'sad', 'x', 'y', 'z'),
 (5, 8, 8, 8, NULL, '1969-12-31', '1969-12-31 23:59:59.5', '1900-01-01 00:00+00', '00:00:59.9', NULL, NULL, NULL, NULL, NULL)`
	templates := []string{
		"Month", "MONTH", "month", "FMMonth", "FMmonth FMDD, YYYY", "Day", "DAY", "FMday", "Dy DY dy", "FMDD.FMMM.YY", "HH12:MI AM", "FMHH:MI:SS pm", "HH24:MI:SS.MS", "FMHH24 FMMI FMSS FMMS FMUS", "D W WW FMWW ID IW",
		"FMDDD DDD", "FMIW FMYYYY FMIYYY", "DDth", "MonDy", "FM", "DY, Mon", "AM.PM", "Q-YYYY", "HH", "A.M.", "FMMon FMDy",
		"YYYY-MM-01", "YYYY-MM-DD HH24:00", "HH2 HH1 HH241", "YYYY0MM", "[YYYY] #Q+{MM}~=*?!@$%^&<>|", "YYYY年MM月DD日", `"Année "YYYY`, "1st", "DD1TH", `\YYYY`, `YYYY\"MM`, "YYYY''MM", "12",
	}
	var values []string
	for _, column := range strings.Fields("i b n f d ts tz tm u m s c p") {
		for _, form := range []string{
			"$::text", "$::varchar(4)", "$::char(6)", "'<' || $", "$ || '>'", "s || $", "$ || c", "concat($, '-', s)", "concat_ws('/', s, $, c)", "format('%s is %s 100%%', s, $)", "length($::text)", "($)::text = '0'", "max($::text)",
		} {
			values = append(values, strings.ReplaceAll(form, "$", column))
		}
	}
	for _, moment := range []string{"d", "ts", "tz"} {
		for _, template := range templates {
			values = append(values, fmt.Sprintf("to_char(%s, '%s')", moment, template))
		}
	}
	for _, moment := range []string{"d", "ts", "tz", "tm", "ts - d", "'13:05:09.25'::time"} {
		for _, field := range []string{"second", "milliseconds", "microseconds", "hour", "minute", "epoch", "day", "dow"} {
			values = append(values, fmt.Sprintf("extract(%s FROM %s)", field, moment), fmt.Sprintf("date_part('%s', %s)", field, moment))
		}
	}
	for _, stride := range []string{"15 minutes", "1 day", "7 days 03:00", "1 month", "-1 hour", "0.001 seconds"} {
		values = append(values, fmt.Sprintf("date_bin('%s', ts, '2001-01-01 00:00:07')", stride), fmt.Sprintf("date_bin('%s', tz, '2030-01-01')", stride), fmt.Sprintf("date_bin(interval '%s', ts, d::timestamp)", stride))
	}
	values = append(values, "ts::time", "tz::time", "ts::time = tm", "max(ts::time)", "overlay(s PLACING 'xyz' FROM 2)", "overlay(s PLACING c FROM 2 FOR 0)", "overlay(c PLACING s FROM 9 FOR 1)", "overlay(s PLACING 'x' FROM 0)", "overlay(s PLACING 'é' FROM 1 FOR 100)",
		"format('%s %s', s)", "format('%%')", "format('%1$s', s)", "format('%I', s)", "format(s, s)", "format('', s)", "format('%s', NULL)", "format('%s', 1.50)", "format('%5s', s)", "format('x', 1 / i)", "format('%s', s, 1 / i)", "coalesce(to_char(ts, '-'), 'none')", `to_char(ts, '"a"') IS NULL`, "date_bin('300000000 days', ts, '2000-01-01')", "overlay(s PLACING 'b' FROM 2147483647 FOR 10)",
		"substring(s, '2')", "substring(s FROM '%')", "substring(s, '2', '3')", "substring(s, '2', 3)", "substring(s, 2, '3')", "substr(s, '2')", "substr(s, '2', '3')", "substring(s FOR '2')", "substring(s FROM '2' FOR 3)",
		"m IN ('sad', 'Happy')", "m NOT IN ('sad', NULL)", "m IN ('nothing')", "m = ANY ('{sad}')", "'x' || true", "'x' || 1.50", "'x' || NULL", "NULL || s", "1 || 'x'", "'{1}' || 2",
		"s::int", "c::numeric", "s::bool", "s::date", "s::timestamp")
	columnar, oltp := start(t, schema).routes()
	wantAlikeByRow(t, columnar, oltp, 0.6, values, "v", 6)
}

// Text that is computed of no column of strings has the database's collation, which orders by bytes here.
func TestGateway_ordersComputedTextAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, `CREATE TYPE kind AS ENUM ('zero', 'One', 'two');
CREATE TABLE made (id int PRIMARY KEY, day date, at timestamptz, j jsonb, k kind, n numeric(8,2), s text, g text COLLATE "de-x-icu", c text COLLATE "C");
INSERT INTO made SELECT i, date '2024-01-31' + i * 3, timestamptz '2024-03-30 22:00+00' + i * interval '13 hours', jsonb_build_object('path', (ARRAY['/a', '/B', 'ä', '~', '/a-b', NULL])[i % 6 + 1]),
  (ARRAY['zero', 'One', 'two', NULL])[i % 4 + 1]::kind, i * 7.25 - 300, (ARRAY['b', 'B', 'ä', 'a b', NULL])[i % 5 + 1], (ARRAY['b', 'B', 'ä', 'a b', NULL])[i % 5 + 1], 'c' || i % 3 FROM generate_series(1, 200) i`).routes()
	var runs []string
	for _, text := range []string{
		"to_char(day, 'YYYY-MM')", "to_char(at, 'Dy HH24:00')", "id::text", "n::text", "j->>'path'", "k::text", "day::text", "CASE WHEN n > 100 THEN 'high' WHEN n > 0 THEN 'low' ELSE 'Loss' END", "coalesce(j->>'path', k::text, 'none')", "'<' || id", "s || id", "concat(k, '-', id)", "md5(id::text)", "left(id::text, 1) || c",
		"(SELECT max(k::text) FROM made)", "lower(k::text)", "nullif(k::text, 'two')", "greatest(k::text, id::text)",
	} {
		runs = append(runs, strings.NewReplacer("$", text).Replace("SELECT count(*) FROM made WHERE $ >= '2'"), strings.ReplaceAll("SELECT min($), max($), count(*) FILTER (WHERE $ BETWEEN '-' AND 'a') FROM made", "$", text),
			strings.ReplaceAll("SELECT id, rank() OVER (ORDER BY $ DESC), lag($) OVER (ORDER BY $, id) FROM made ORDER BY id", "$", text), strings.ReplaceAll("SELECT $, count(*) FROM made GROUP BY 1 ORDER BY 1", "$", text),
			strings.ReplaceAll("SELECT x FROM (SELECT $ AS x, id FROM made ORDER BY $, id LIMIT 3) y ORDER BY x DESC, id", "$", text), strings.ReplaceAll("SELECT string_agg(x, ',' ORDER BY x) FROM (SELECT DISTINCT $ AS x FROM made UNION SELECT 'y') y", "$", text))
	}
	wantAlikeIn(t, columnar, oltp, 1, runs)
	var left, extremes []string
	for _, text := range []string{
		"g || id", "coalesce(g, id::text)", "CASE WHEN n > 0 THEN 'low' ELSE g END", "left(g, 2)", "nullif('b', g)", "g::varchar(3)", "concat(id, g)", "concat_ws('-', id, g)", "format('%s %s', id, g)", "replace('xbx', 'x', g)", "overlay('abc' PLACING g FROM 2)", "(SELECT max(m.g) FROM made m WHERE m.id = made.id)", "(SELECT g FROM made LIMIT 1)",
		"CASE WHEN n > 0 THEN 'low' ELSE g || NULL END", "lag(g) OVER (ORDER BY id)", "any_value(g) OVER ()", "md5(g)", "split_part(g, ' ', 1)", "substring(g, 1, 1)", "rpad(g, 5)", "repeat(g, 2)", "btrim(g)", "translate(g, 'b', 'c')", "reverse(g)", "initcap(g)", "regexp_replace(g, 'b', 'c')", "greatest(g, 'c')",
	} {
		left = append(left, strings.ReplaceAll("SELECT count(*) FROM (SELECT $ AS x FROM made) y WHERE x < 'c'", "$", text), strings.ReplaceAll("SELECT count(x) FROM (SELECT max(x) AS x FROM (SELECT $ AS x FROM made) y) z", "$", text),
			strings.ReplaceAll("SELECT max(x) || '' FROM (SELECT 'a' AS x UNION ALL SELECT $ FROM made) y", "$", text))
		extremes = append(extremes, strings.ReplaceAll("SELECT min(x), max(x) FROM (SELECT $ AS x FROM made) y", "$", text),
			strings.ReplaceAll("SELECT max(x) FROM (SELECT 'a' AS x UNION ALL SELECT $ FROM made) y", "$", text))
	}
	for _, sql := range left {
		if alike(t, columnar, oltp, sql, inOrder) != refused {
			t.Errorf("%s ran on the replica, whose order is another", sql)
		}
	}
	wantAlikeIn(t, columnar, oltp, 0.7, extremes) // which PostgreSQL ranks
}

// A zone's offset is part of a text.
func TestGateway_writesOffsetsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE TABLE at (id int PRIMARY KEY, tz timestamptz);
		INSERT INTO at VALUES (1, '2024-03-31 00:59:59+00'), (2, '2024-03-31 01:00+00'), (3, '2024-10-27 01:00+00'), (4, '1971-01-01 00:00+00'), (5, NULL), (6, '2024-06-01 12:00:00.123+00')`)
	columnar, oltp := g.routes()
	for _, zone := range []string{"UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"} {
		exec(t, columnar, "SET TIME ZONE '"+zone+"'")
		exec(t, oltp, "SET TIME ZONE '"+zone+"'")
		wantSameAnswer(t, columnar, oltp, "SELECT id, tz::text, 'at ' || tz, tz::time, to_char(tz, 'FMDay HH12 AM'), extract(second FROM tz), date_bin('1 day', tz, '2024-01-01') FROM at ORDER BY id")
	}
}

// What the engine had to leave to PostgreSQL goes there at once the next time.
func TestGateway_remembersWhatOnlyPostgreSQLComputes(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE TABLE doc (id int PRIMARY KEY, j jsonb); INSERT INTO doc VALUES (1, '{"a": 1}'), (2, '{"a": [1.5]}')`)
	c := g.client()
	const all, first = "SELECT j->'a'->>0 FROM doc ORDER BY id", "SELECT j->'a'->>0 FROM doc WHERE id > 2"
	if got := query(t, c, "EXPLAIN (FRESHET) "+all)[0]; got != "Route: columnar" {
		t.Fatalf("before: %s", got)
	}
	query(t, c, all)
	for sql, want := range map[string]string{all: "Route: oltp", first: "Route: columnar"} {
		if got := query(t, c, "EXPLAIN (FRESHET) "+sql)[0]; got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}
