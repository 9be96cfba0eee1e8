package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Arrays of all shapes: none, empty, with NULLs, of several dimensions, with other bounds, with elements that are
// written in quotes.
const articles = `CREATE DOMAIN labels AS varchar(12)[];
CREATE TABLE article (id int PRIMARY KEY, tags text[] COLLATE "C", short varchar(12)[], labels labels, ids int[], big bigint[], small smallint[], flags boolean[], tokens uuid[], prices numeric(9,2)[], docs jsonb[], codes char(3)[],
	name text COLLATE "C", wanted int, token uuid, others text[] COLLATE "C");
INSERT INTO article (id, tags, ids, name, wanted) VALUES
	(0, NULL, NULL, NULL, NULL), (1, '{}', '{}', '', 0), (2, '{a}', '{1}', 'a', 1), (3, '{a,b,c}', '{1,-2,3}', 'b', -2), (4, '{NULL}', '{NULL}', 'NULL', 7),
	(5, '{a,NULL,b}', '{1,NULL,2147483647}', 'a', NULL), (6, '{"NULL","null",Null}', '{-2147483648}', 'null', -2147483648), (7, '{"a,b","{a}","\"","\\"," ",""}', '{2,2,2}', '"', 2),
	(8, '{{a,b},{c,d}}', '{{1,2},{3,4}}', 'd', 4), (9, '[0:1]={a,b}', '[-2:-1]={5,6}', 'a', 6), (10, '[2:2][1:2]={{a,"x y"}}', '{{{1}}}', 'x y', 1),
	(11, ARRAY['é', E'tab\t', E'line\nbreak', E'v\v', 'a\b', chr(160), 'x,a,y'], '{0}', E'line\nbreak', 0), (12, '{a,a,"x,a,y"}', '{1,1}', '', 3), (13, '{",a,"}', '{10,100}', ',a,', 10),
	(14, '{"a b",c}', '{11,1}', 'a b', 1), (15, '{"{",a}', '{21,12}', '{', 12), (16, '{"\\\\",a}', '{1,21}', '\\', 21), (17, '{ab,ba}', '{12}', '\', 2), (18, '{"x\"","y"}', '{3}', 'x"', 3);
UPDATE article SET short = tags, big = ids, others = CASE id % 4 WHEN 0 THEN '{a}' WHEN 1 THEN tags WHEN 2 THEN '{b,NULL}' END,
	small = CASE WHEN id IN (5, 6) THEN '{5}' ELSE ids END::smallint[], flags = CASE id % 5 WHEN 0 THEN '{t,f,NULL}' WHEN 1 THEN '{}' WHEN 2 THEN '{f}' END::boolean[],
	token = md5(id::text)::uuid, tokens = ARRAY[md5((id % 3)::text)::uuid, NULL, md5(id::text)::uuid],
	labels = CASE WHEN id % 2 = 0 THEN tags END, prices = CASE id % 3 WHEN 0 THEN '{1.10,NULL}' WHEN 1 THEN '{{NaN,-2},{0,3.5}}' END::numeric[],
	docs = ARRAY['{"a": "x y"}', NULL, '[1, 2]']::jsonb[], codes = '{a,"b c",""}'`

// Arrays are shown as PostgreSQL shows them, copied or streamed, in either format.
func TestGateway_showsArraysAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	g := start(t, articles)
	columnar, oltp := g.routes()
	exec(t, columnar, "SET freshet.freshness = strong")
	check := func() {
		t.Helper()
		wantAlikeIn(t, columnar, oltp, 1, []string{"SELECT * FROM article ORDER BY id", "SELECT a.* FROM article a JOIN article b ON a.id = b.id + 1 ORDER BY a.id"})
		for _, format := range []int16{pgx.TextFormatCode, pgx.BinaryFormatCode} {
			ask := func(c *pgx.Conn) []string {
				r := c.PgConn().ExecParams(t.Context(), "SELECT * FROM article ORDER BY id", nil, nil, nil, []int16{format}).Read()
				if r.Err != nil {
					t.Fatal(r.Err)
				}
				return texts(r.Rows)
			}
			if got, want := strings.Join(ask(columnar), "\n"), strings.Join(ask(oltp), "\n"); got != want {
				t.Errorf("in format %d: %q, PostgreSQL says %q", format, got, want)
			}
		}
	}
	check()
	exec(t, oltp, "INSERT INTO article SELECT (jsonb_populate_record(a, jsonb_build_object('id', id + 100))).* FROM article a; DELETE FROM article WHERE id % 7 = 3; UPDATE article SET tags = tags || '{NULL,\"ä,\",z}' WHERE id % 3 = 1")
	check()
}

// Statements of which the answers are found in the elements of arrays.
func TestGateway_looksIntoArraysAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, articles).routes()
	texts := []string{"tags", "short", "labels", "coalesce(short, '{NULL,b}')", "(SELECT max(s.short) FROM article s WHERE s.id = article.id)"}
	var values []string
	add := func(columns []string, forms ...string) {
		for _, c := range columns {
			for _, f := range forms {
				values = append(values, strings.ReplaceAll(f, "$", c))
			}
		}
	}
	for _, x := range []string{"a", "x", "b", "x y", "", "NULL", "null", "a,b", "{a}", `"`, `\`, " ", "é", "a b", ",a,", "{", "d"} {
		add(texts[:4], "'"+x+"' = ANY ($)", "'"+x+"' <> ALL ($)", "NOT ('"+x+"' = ANY ($))")
	}
	add(texts[:4], `E'line\nbreak' = ANY ($)`, `E'v\v' = ANY ($)`, "name = ANY ($)", "name <> ALL ($)", "upper(name) = ANY ($)", "left(name, 1) = ANY ($) IS NULL", "$::text", "'<' || $::text", "concat($, '!')",
		"$ = '{}'", "$ <> '{}'", "$ = '{a}'", "$ = '{\"a\",b, c}'", "$ IS NULL", "$ IS DISTINCT FROM '{a,NULL,b}'", "$ IN ('{}', '{a,b,c}', NULL)", "coalesce($, '{}')", "nullif($, '{a}')", "CASE WHEN id % 2 = 0 THEN $ END",
		"$[1]", "$[2]", "$[3] || '!'", "$[1] = 'a'", "$[7]", "cardinality($)", "array_length($, 1)", "array_upper($, 1)", "array_to_string($, ',')", "array_to_string($, '', '-')", "cardinality($) > 2 AND $[2] <> 'b'",
		"array_to_string($, ',') LIKE '%a%'", "length($[1])")
	for _, list := range []string{"{}", "{a}", "{b,a}", `{a,NULL}`, "{NULL}", `{"x y"}`, `{"a,b",""}`, `{zzz}`, `{"NULL"}`} {
		add([]string{"tags"}, "$ @> '"+list+"'", "$ <@ '"+list+"'", "$ && '"+list+"'", "'"+list+"' <@ $", "$ @> '"+list+"'::text[]", "NOT ($ && '"+list+"')")
		add([]string{"short"}, "$ @> '"+list+"'", "$ <@ '"+list+"'::varchar[]", "'"+list+"' && $")
	}
	add([]string{"tags"}, "$ @> ARRAY['a', 'b']", "$ && ARRAY['zzz', name]", "$ @> ARRAY[name]", "$ @> ARRAY[name, NULL]", "ARRAY['a', 'b', 'c', name] @> $", "ARRAY[name] <@ $", "$ = ARRAY['a', 'b', 'c']", "$ = ARRAY[name]", "$ = ARRAY[]::text[]",
		"$ @> ARRAY[]::text[]", "$ && others", "$ @> others", "others <@ $", "$ = others", "$ @> $", "$::varchar[] = short")
	add([]string{"ids", "big", "small"}, "1 = ANY ($)", "-2 = ANY ($)", "2147483647 = ANY ($)", "3000000000 = ANY ($)", "wanted = ANY ($)", "wanted::bigint <> ALL ($)", "id % 3 = ANY ($)", "'1' = ANY ($)", "NOT 1 = ANY ($)",
		"$ = '{}'", "$ = '{1,-2,3}'", "$[1]", "$[1] + $[2]", "$[2] IS NULL", "cardinality($)", "array_length($, 1) * 2", "array_to_string($, '-', '?')", "$ && '{2,3,NULL}'", "$ @> '{1,2}'", "$ <@ '{1,2,3,NULL}'", "$::text", "sum(id) OVER (PARTITION BY $)")
	add([]string{"ids"}, "$ @> ARRAY[1]", "$ @> ARRAY[wanted]", "$ && ARRAY[wanted, 3]", "ARRAY[1, 2] && $", "$ @> ARRAY[1, NULL]")
	add([]string{"flags"}, "true = ANY ($)", "false <> ALL ($)", "(id > 5) = ANY ($)", "$[1]", "$ @> '{t}'", "$ = '{true,f,NULL}'", "array_to_string($, ',')", "cardinality($)")
	add([]string{"tokens"}, "token = ANY ($)", "'CFCD2084-95d5-65ef-66e7-dff9f98764da' = ANY ($)", "$[1]", "$[3] = token", "$ @> ARRAY[token]", "$ && ARRAY['cfcd2084-95d5-65ef-66e7-dff9f98764da'::uuid]", "$ = '{cfcd2084-95d5-65ef-66e7-dff9f98764da,NULL,CFCD208495D565EF66E7DFF9F98764DA}'")
	add([]string{"prices", "docs", "codes"}, "cardinality($)", "array_to_string($, ';')", "$ IS NULL")
	wantAlikeByRow(t, columnar, oltp, 0.8, values, "article", 19)
}

// Statements that group, join and filter by arrays, and those that make rows of the elements.
func TestGateway_groupsByArraysAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	wantAlike(t, articles, 0.75, []string{
		"SELECT count(*) FROM article WHERE 'a' = ANY (tags)", "SELECT count(*) FROM article WHERE NOT 'a' = ANY (tags)", "SELECT count(*) FROM article WHERE 'a' <> ALL (tags)", "SELECT id FROM article WHERE 'a' = ANY (tags) OR 'b' = ANY (short) ORDER BY id",
		"SELECT id FROM article WHERE NOT (tags @> '{a}') ORDER BY id", "SELECT id FROM article WHERE tags && '{b,c}' AND ids @> '{1}' ORDER BY id", "SELECT id FROM article WHERE ('a' = ANY (tags)) IS NULL ORDER BY id",
		"SELECT tags::text, count(*) FROM article GROUP BY tags ORDER BY 1", "SELECT flags::text, count(*), min(id) FROM article GROUP BY flags ORDER BY 3", "SELECT count(DISTINCT tags), count(DISTINCT ids), count(tags) FROM article",
		"SELECT count(*) FROM (SELECT DISTINCT others FROM article) v", "SELECT cardinality(ids) AS n, count(*) FROM article GROUP BY 1 ORDER BY 1", "SELECT a.id, b.id FROM article a JOIN article b ON a.tags = b.others ORDER BY 1, 2",
		"SELECT a.id, b.id FROM article a JOIN article b ON a.name = ANY (b.tags) ORDER BY 1, 2", "SELECT a.id, b.id FROM article a LEFT JOIN article b ON a.tags && b.others ORDER BY 1, 2", "SELECT id FROM article WHERE others IN (SELECT tags FROM article) ORDER BY id",
		"SELECT max(cardinality(tags)), sum(cardinality(ids)) FROM article", "SELECT min(tags) FROM article", "SELECT id FROM article ORDER BY tags, id", "SELECT 'a' = ANY (tags) AS has, count(*) FROM article GROUP BY 1 ORDER BY 1",
		"SELECT id, tags FROM article WHERE tags = '{}' UNION ALL SELECT id, others FROM article WHERE id < 4 ORDER BY 1, 2", "SELECT tags FROM article INTERSECT SELECT others FROM article ORDER BY 1",
		"SELECT v.tags FROM (SELECT tags, id FROM article WHERE id < 9) v WHERE 'a' = ANY (v.tags) ORDER BY v.id", "SELECT count(*) FILTER (WHERE 'b' = ANY (tags)), bool_or(tags @> '{c}') FROM article",
		"SELECT ids[1] AS first, string_agg(name, ',' ORDER BY id) FROM article WHERE id < 8 GROUP BY ids[1] ORDER BY 1", "SELECT id FROM article WHERE id = ANY (ids) ORDER BY id", "SELECT id FROM article a WHERE EXISTS (SELECT FROM article b WHERE a.name = ANY (b.tags) AND b.id < 4) ORDER BY id",
	})
}

func TestGateway_makesRowsOfElementsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	var statements []string
	for _, c := range []string{"tags", "short", "labels", "ids", "big", "small", "flags", "tokens"} {
		for _, sql := range []string{
			"SELECT v, count(*), min(p.id), count(DISTINCT p.name) FROM article p, unnest(p.$) AS t(v) GROUP BY v ORDER BY 2, 3, v::text", "SELECT p.id, p.name, v::text FROM article p CROSS JOIN LATERAL unnest(p.$) v ORDER BY 1, 3",
			"SELECT p.id, v::text, p.$ FROM article p LEFT JOIN LATERAL unnest($) AS t(v) ON true ORDER BY 1, 2", "SELECT unnest($) AS v, count(*) FROM article GROUP BY 1 ORDER BY 2, 1", "SELECT DISTINCT unnest($)::text FROM article ORDER BY 1",
		} {
			statements = append(statements, strings.ReplaceAll(sql, "$", c))
		}
	}
	statements = append(statements,
		"SELECT * FROM article p, unnest(p.tags) t WHERE p.id < 8 ORDER BY p.id, t", "SELECT p.id, t FROM article p, unnest(p.tags) t WHERE t = 'a' AND p.wanted > 0 ORDER BY 1", "SELECT count(*) FROM article p, unnest(p.tags) t WHERE t IS NULL",
		"SELECT p.id, q.id, t FROM article p JOIN article q ON q.id = p.id + 1, unnest(p.tags) AS t ORDER BY 1, 2, 3", "SELECT p.id, q.id, t FROM article p JOIN article q ON q.wanted = p.wanted CROSS JOIN unnest(q.tags) AS t WHERE p.name <> t ORDER BY 1, 2, 3",
		"SELECT p.id, t, q.id FROM article p CROSS JOIN LATERAL unnest(p.tags) t JOIN article q ON q.name = t ORDER BY 1, 2, 3", "SELECT p.id, q.id, t FROM article p LEFT JOIN article q ON q.id = p.wanted CROSS JOIN LATERAL unnest(p.tags) t ORDER BY 1, 2, 3",
		"SELECT p.id, t.v FROM article p JOIN LATERAL unnest(p.ids) AS t(v) ON t.v > 1 ORDER BY 1, 2", "SELECT p.id, q.id, t.v FROM article p JOIN (article q CROSS JOIN LATERAL unnest(q.ids) AS t(v)) ON t.v = p.id ORDER BY 1, 2, 3",
		"SELECT p.id, q.id, t.v FROM article p LEFT JOIN (article q CROSS JOIN LATERAL unnest(q.ids) AS t(v)) ON t.v = p.id ORDER BY 1, 2, 3", "SELECT p.id, t.v FROM article p JOIN LATERAL unnest(p.ids) AS t(v) ON t.v > 1 LEFT JOIN article q ON q.id = t.v ORDER BY 1, 2",
		"SELECT p.id, sum(v), p.name FROM article p, unnest(p.ids) v GROUP BY p.id ORDER BY 1", "SELECT v, row_number() OVER (PARTITION BY v ORDER BY p.id, p.id) FROM article p, unnest(p.flags) v WHERE p.id < 5 ORDER BY 1, 2",
		"SELECT p.id FROM article p WHERE p.wanted IN (SELECT v FROM article q, unnest(q.ids) v WHERE q.id < 5) ORDER BY 1", "SELECT (SELECT count(*) FROM article q, unnest(q.ids) v WHERE v = 1)", "SELECT p.id, t FROM article p, unnest(coalesce(p.tags, '{none}')) t ORDER BY 1, 2",
		"SELECT x.t, count(*) FROM (SELECT id, unnest(tags) AS t FROM article) x WHERE x.id > 2 GROUP BY 1 ORDER BY 2, 1", "SELECT upper(unnest(short)) AS u, max(id) FROM article WHERE id NOT IN (11) GROUP BY 1 ORDER BY 1", "SELECT unnest(tags), count(*) FROM article GROUP BY unnest(tags) ORDER BY 2, 1",
		"SELECT id, unnest(ids) FROM article ORDER BY 1, 2", "SELECT id, unnest(ids) * 2 AS v FROM article WHERE id <> 5 AND id <> 6 ORDER BY v, id LIMIT 5", "SELECT 1 FROM article, unnest(ids)", "WITH e AS (SELECT id, unnest(ids) AS v FROM article) SELECT a.v, count(*) FROM e a JOIN e b ON a.v = b.v GROUP BY a.v ORDER BY 1",
		"SELECT v, count(*) FROM article p, unnest(p.tags) v GROUP BY v HAVING count(*) > 1 ORDER BY 2 DESC, 1 LIMIT 3", "SELECT p.name, count(v) FROM article p LEFT JOIN LATERAL unnest(p.tags) v ON true GROUP BY 1 ORDER BY 1", "SELECT avg(v), count(*) FROM article, unnest(big) v WHERE v < 100",
		"SELECT v.t, count(*) FROM (SELECT id, tags FROM article WHERE id > 2) x, unnest(x.tags) AS v(t) GROUP BY 1 ORDER BY 2, 1", "SELECT g.n, v FROM (SELECT tags, count(*) AS n FROM article GROUP BY tags) g, unnest(g.tags) v ORDER BY 1, 2",
		"SELECT x.id, v FROM (SELECT id, ids FROM article ORDER BY id DESC LIMIT 5) x, unnest(x.ids) v ORDER BY 1, 2", "SELECT v, count(*) FROM tagged, unnest(tags) v GROUP BY v ORDER BY 2, 1", "SELECT unnest(tags) AS v, sum(next) FROM tagged GROUP BY 1 ORDER BY 1",
		"SELECT x.id, v FROM (SELECT tags, id FROM article WHERE id < 3 UNION ALL SELECT others, id + 100 FROM article) x, unnest(x.tags) v ORDER BY 1, 2", "SELECT p.id, a, b FROM article p, unnest(p.tags) a, unnest(p.ids) b ORDER BY 1, 2, 3", "SELECT x.id, v, p.id FROM article p LEFT JOIN tagged x ON p.id = x.next, unnest(p.tags) v ORDER BY 1, 2, 3",
		"SELECT p.wanted, count(DISTINCT v), sum(q.id) FROM article p, unnest(p.ids) v, article q WHERE q.id = v GROUP BY 1 ORDER BY 1",
	)
	wantAlike(t, articles+"; CREATE VIEW tagged AS SELECT a.id, a.tags, b.id AS next FROM article a JOIN article b ON b.id = a.id + 1", 0.95, statements)
	// Values that may fail, and that nobody reads, beside an outer join.
	wantAlike(t, articles, 1, []string{
		"SELECT count(*) FROM (SELECT 100 / (p.id + 1) AS c FROM (SELECT * FROM article) p LEFT JOIN article q ON q.id = p.wanted CROSS JOIN unnest(p.ids) v) x",
		"SELECT count(*) FROM (SELECT p.wanted + v AS c FROM article p LEFT JOIN article q ON q.id = p.wanted CROSS JOIN unnest(p.ids) v WHERE p.id < 5) x",
		"SELECT count(*) FROM (SELECT p.wanted + v AS c FROM article p LEFT JOIN article q ON q.id = p.wanted LEFT JOIN LATERAL unnest(p.ids) AS t (v) ON true WHERE p.id < 5) x",
	})
	// What means something else, or is not translated.
	wantAlike(t, articles, 0, []string{
		"SELECT unnest(tags) AS tags, count(*) FROM article GROUP BY tags ORDER BY 1, 2", "SELECT unnest(tags) AS id, count(*) FROM article GROUP BY id ORDER BY 1, 2", "SELECT unnest(tags), unnest(ids) FROM article ORDER BY 1, 2", "SELECT *, unnest(tags) AS t FROM article ORDER BY id, t",
		"SELECT id, unnest(ids), row_number() OVER (ORDER BY id) FROM article ORDER BY 1, 2", "SELECT DISTINCT ON (id) id, unnest(ids) AS v FROM article ORDER BY id, v", "SELECT q.id, t FROM article p LEFT JOIN article q ON q.id = p.wanted CROSS JOIN LATERAL unnest(q.tags) t ORDER BY 1, 2",
		"WITH x AS (SELECT id, tags FROM article) SELECT v, count(*) FROM x, unnest(x.tags) v WHERE x.id > (SELECT min(id) FROM x) GROUP BY v ORDER BY 2, 1", "SELECT v FROM (SELECT tags, 10 / wanted AS d FROM article WHERE wanted <> 0 ORDER BY id LIMIT 4) x, unnest(x.tags) v WHERE d < 5 ORDER BY 1",
		"SELECT p.id, v FROM article p LEFT JOIN LATERAL unnest(p.ids) v ON v > 1 ORDER BY 1, 2",
		"SELECT id, 'a' < ANY (tags) AS v, tags || 'x' AS w FROM article ORDER BY 1", "SELECT id, array_position(tags, 'b') AS v FROM article WHERE id < 8 ORDER BY 1", "SELECT id FROM article WHERE tags < others ORDER BY 1", "SELECT id, codes[1] AS v, prices[1] AS w FROM article ORDER BY 1",
		"SELECT id FROM article WHERE 1.0 = ANY (ids) ORDER BY 1", "SELECT id, array_length(tags, 2) AS v, tags[1:2] AS w, tags[id] AS x FROM article ORDER BY 1", "SELECT id FROM article WHERE codes = others::char(3)[] OR prices @> prices OR codes @> codes ORDER BY 1",
		"SELECT id, count(unnest) FROM article, unnest(tags) GROUP BY id ORDER BY 1", "SELECT id FROM article p WHERE EXISTS (SELECT FROM unnest(p.tags) t WHERE t LIKE 'a%') ORDER BY 1",
	})
}

// What an array is compared with arrives as a parameter, in either format.
func TestGateway_looksForParametersInArrays(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, articles).routes()
	types := pgtype.NewMap()
	for _, p := range []struct {
		oid        uint32
		conditions []string
		values     []string
	}{
		{pgtype.TextOID, []string{"$1 = ANY (tags)", "$1 <> ALL (tags)", "tags @> ARRAY[$1]", "array_to_string(tags, $1) = 'axbxc'"}, []string{"a", "x", "NULL", "", "a,b", `"`, `\`, "x y", "é"}},
		{pgtype.VarcharOID, []string{"$1 = ANY (short)", "$1 <> ALL (labels)"}, []string{"a", "x,a,y"}},
		{pgtype.TextArrayOID, []string{"tags @> $1", "tags <@ $1", "tags && $1", "tags = $1", "$1 && tags", "coalesce(tags, $1) = $1"}, []string{"{}", "{a}", "{a,b,c}", "{NULL}", `{"NULL","a,b",zzz}`, `{"x y",NULL}`}},
		{pgtype.VarcharArrayOID, []string{"short @> $1", "labels && $1", "labels = $1"}, []string{"{}", `{"a b",c}`}},
		{pgtype.Int8OID, []string{"$1 = ANY (ids)", "$1 = ANY (big)"}, []string{"1", "-2", "5000000000"}},
		{pgtype.Int4ArrayOID, []string{"ids && $1", "ids @> $1", "ids <@ $1", "ids = $1"}, []string{"{1,-2}", "{}", "{1,NULL}", "{2,2,2}"}},
		{pgtype.UUIDOID, []string{"$1 = ANY (tokens)", "$1 <> ALL (tokens)"}, []string{"cfcd2084-95d5-65ef-66e7-dff9f98764da", "00000000-0000-0000-0000-000000000000"}},
		{pgtype.UUIDArrayOID, []string{"tokens @> $1", "tokens && $1"}, []string{"{cfcd2084-95d5-65ef-66e7-dff9f98764da,NULL}", "{C4CA4238-a0b9-2382-0dcc-509a6f75849b}"}},
		{pgtype.BoolArrayOID, []string{"flags @> $1"}, []string{"{t}", "{false,true}"}},
	} {
		for _, condition := range p.conditions {
			sql := "SELECT id FROM article WHERE " + condition + " ORDER BY id"
			for _, text := range p.values {
				for _, format := range []int16{pgx.TextFormatCode, pgx.BinaryFormatCode} {
					value := []byte(text)
					if format == pgx.BinaryFormatCode {
						value = binaryArray(t, types, columnar, sql, p.oid, text)
						value = append([]byte{}, value...) // nil is NULL
					}
					got, want := bound(t, columnar, sql, value, p.oid, format), bound(t, oltp, sql, value, p.oid, format)
					if !slices.Equal(got, want) {
						t.Errorf("%s with %s in format %d: %v, PostgreSQL says %v", sql, text, format, got, want)
					}
				}
			}
		}
	}
}

// An array in binary format may start at any number, which is a part of its value.
func TestGateway_heedsWhereArrayParametersStart(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, articles).routes()
	exec(t, columnar, "SET freshet.route = auto")
	types := pgtype.NewMap()
	for _, p := range []struct {
		oid       uint32
		condition string
		value     string
	}{
		{pgtype.TextArrayOID, "tags = $1", "[0:1]={a,b}"},
		{pgtype.TextArrayOID, "tags IN ($1, '{a}')", "[0:0]={a}"},
		{pgtype.TextArrayOID, "coalesce(tags, $1) <> '{a}'", "[0:0]={a}"},
		{pgtype.Int4ArrayOID, "ids = $1", "[-2:-1]={5,6}"},
		{pgtype.Int4ArrayOID, "ids = $1", "[0:0]={1}"},
		{pgtype.Int4ArrayOID, "id = ANY ($1)", "[5:6]={1,2}"},
	} {
		sql := "SELECT id FROM article WHERE " + p.condition + " ORDER BY id"
		value := binaryArray(t, types, columnar, sql, p.oid, p.value)
		got, want := bound(t, columnar, sql, value, p.oid, pgx.BinaryFormatCode), bound(t, oltp, sql, value, p.oid, pgx.BinaryFormatCode)
		if !slices.Equal(got, want) {
			t.Errorf("%s with %s: %v, PostgreSQL says %v", sql, p.value, got, want)
		}
	}
}
