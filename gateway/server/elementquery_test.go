package server_test

import (
	"strings"
	"testing"
)

// Subqueries over the elements of an array or a document of the query around.
func TestGateway_queriesElementsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	const schema = `CREATE TABLE b (id int PRIMARY KEY, grp int, tags text[], nums int[], doc jsonb);
INSERT INTO b SELECT ordinality - 1, nullif(ordinality % 3, 0), tags::text[], nums::int[], doc::jsonb FROM ROWS FROM (
 unnest(ARRAY['{}', '{a}', '{a,b,a}', '{NULL}', '{"",NULL,ä,"x y"}', NULL, '{"a,b","c\"d"}', '{{a,b},{c,d}}', '[0:1]={a,b}']),
 unnest(ARRAY['{1,2,3}', '{}', '{NULL}', '{NULL,5,NULL,5}', NULL, '{2147483647,2147483647}', '{-1,0,1}', '{{1,2},{3,4}}', '{7}']),
 unnest(ARRAY['{"items": []}', '{"items": [{"k": "a", "q": 1}]}', '{"items": [{"k": "a", "q": 2}, {"k": "b", "q": 30}, {"k": "a"}]}', '{"items": null}', '{}', NULL, '{"items": [{"k": "a\"b", "q": null, "x": [1, {"k": "no"}]}, {"q": -4, "k": null}]}', '{"items": [{"k": "é", "q": 5}, {}]}', '{"items": [{"k": "b", "q": 7}]}'])) WITH ORDINALITY AS t(tags, nums, doc, ordinality);
CREATE TABLE odd (id int PRIMARY KEY, doc jsonb); INSERT INTO odd VALUES (0, '{"items": {"k": 1}}'), (1, '{"items": "a"}'), (2, '{"items": [1, "a", null, true, [2]]}'), (3, '{"items": [{"k": "a", "q": "x"}]}'), (4, '{"items": [{"q": 1.5}]}'), (5, '[]')`
	columnar, oltp := start(t, schema).routes()
	array, document := "(SELECT @ FROM unnest($) AS x WHERE #)", "(SELECT @ FROM jsonb_array_elements(doc->'items') AS x WHERE #)"
	var values []string
	filled := 0
	fill := func(form, value, result, cond string) {
		if filled++; filled%4 > 0 { // each condition meets a fourth of the results
			return
		}
		values = append(values, strings.NewReplacer("@", result, "#", cond, "$", value).Replace(form))
	}
	for _, cond := range []string{"true", "x = 'a'", "x <> 'a' AND length(x) < 4", "x LIKE '%a%'", "x IS NULL", "x = ANY (ARRAY['b', 'c'])", "length(x) = grp", "x = (tags)[1]"} {
		for _, result := range []string{"count(*)", "count(x)", "count(DISTINCT x)", "max(length(x))", "bool_or(x = 'a')", "every(x < 'b' COLLATE \"C\")", "sum(length(x)) * 2", "avg(length(x))"} {
			fill(array, "tags", result, cond)
		}
		fill("EXISTS "+array, "tags", "1", cond)
		fill("NOT EXISTS "+array, "tags", "x", cond)
		fill(array+" || '!'", "tags", "x", cond)
	}
	for _, cond := range []string{"true", "x > 1", "x = id", "x IS DISTINCT FROM 5", "x BETWEEN grp AND 4", "x / 2 = 1", "10 / x > 3"} {
		for _, result := range []string{"sum(x)", "avg(x)", "min(x) - max(x)", "coalesce(sum(x), 0)", "sum(x::float8)", "round(avg(x), 1)"} {
			fill(array, "nums", result, cond)
		}
		fill(array, "nums", "x + 1", cond)
	}
	for _, cond := range []string{"true", "x->>'k' = 'a'", "x->>'k' = 'a' AND x->>'q' <> '2'", "(x->>'q')::int > 1", "x ? 'q'", "x->>'q' IS NULL"} {
		for _, result := range []string{"count(*)", "count(x->>'q')", "sum((x->>'q')::int)", "max(x->>'k' COLLATE \"C\")"} {
			fill(document, "", result, cond)
		}
		fill("EXISTS "+document, "", "", cond)
		fill(document, "", "x->>'k'", cond)
		fill(document, "", "(x->>'q')::int", cond+" LIMIT 1")
	}
	wantAlikeByRow(t, columnar, oltp, 0.7, values, "b", 9)
	wantAlikeByRow(t, columnar, oltp, 0.1, values[len(values)-9:], "odd", 6)
	wantAlikeIn(t, columnar, oltp, 1, []string{
		"SELECT id FROM b WHERE id < 7 AND EXISTS (SELECT FROM unnest(tags) x WHERE x = 'a') ORDER BY id", "SELECT id FROM b WHERE 'a' IN (SELECT x FROM unnest(tags) x) ORDER BY id",
		"SELECT (SELECT count(*) FROM unnest(tags)) AS n, count(*), sum((SELECT max(x) FROM unnest(nums) x)) FROM b GROUP BY 1 ORDER BY 1", "SELECT a.id, c.id, EXISTS (SELECT 1 FROM unnest(c.tags) x WHERE x = 'a'), (SELECT count(*) FROM unnest(c.nums)) FROM b a LEFT JOIN b c ON c.id = a.id + 4 ORDER BY 1",
		"SELECT id FROM b WHERE EXISTS (SELECT 1 FROM unnest(tags) x WHERE EXISTS (SELECT 1 FROM unnest(nums) y WHERE y = length(x))) ORDER BY id", "SELECT a.id, c.id FROM b a JOIN b c ON a.id < c.id AND EXISTS (SELECT 1 FROM unnest(a.nums) x WHERE x = c.id) ORDER BY 1, 2",
		"SELECT id, (SELECT count(*) FROM jsonb_object_keys(doc) k WHERE k LIKE 'i%'), (SELECT count(*) FROM jsonb_each_text(doc) WHERE value LIKE '%a%') FROM b ORDER BY id", "SELECT y.id FROM (SELECT id, tags AS t FROM b ORDER BY id LIMIT 5) y WHERE (SELECT count(*) FROM unnest(t) x WHERE x > '' COLLATE \"C\") > 1 ORDER BY 1",
		"SELECT id, (SELECT sum(x / n) FROM unnest(nums) x WHERE x <> '5'::text::int) FROM (SELECT id, nums, 7 AS n FROM b WHERE id < 5) s ORDER BY id",
		"SELECT id, CASE WHEN jsonb_typeof(doc->'items') = 'array' THEN (SELECT count(*) FROM jsonb_array_elements(doc->'items')) END FROM odd WHERE id < 5 ORDER BY id",
	})
	wantAlikeIn(t, columnar, oltp, 0, []string{
		"SELECT id FROM b WHERE id < 3 AND EXISTS (SELECT 1 FROM jsonb_array_elements(b.doc->'items') AS i(v) WHERE v->>'k' = 'a' AND v->>'q' = '1') ORDER BY id",
		"SELECT id, (SELECT array_agg(x) FROM unnest(tags) x) FROM b ORDER BY id", "SELECT id, (SELECT string_agg(x, ',' ORDER BY x) FROM unnest(tags) x) FROM b ORDER BY id", "SELECT id, (SELECT x FROM unnest(nums) x ORDER BY x DESC LIMIT 1) FROM b ORDER BY id", "SELECT id, (SELECT sum(x) FILTER (WHERE x > 1) FROM unnest(nums) x) FROM b ORDER BY id",
		"SELECT id, (SELECT count(*) FROM unnest(nums) x HAVING count(*) > 1) FROM b ORDER BY id", "SELECT id, (SELECT count(*) FROM unnest(nums) x GROUP BY x) FROM b ORDER BY id", "SELECT id FROM b WHERE 3 NOT IN (SELECT x FROM unnest(nums) x) ORDER BY id", "SELECT grp, (SELECT count(*) FROM unnest(array_agg(b.id ORDER BY b.id)) x) FROM b GROUP BY grp ORDER BY grp",
		"SELECT id, (SELECT n FROM unnest(nums) WITH ORDINALITY AS u(x, n) WHERE x = 2) FROM b WHERE id < 7 ORDER BY id", "SELECT id, (SELECT x FROM unnest(nums) x LIMIT 2) FROM b ORDER BY id", "SELECT id, (SELECT x FROM unnest(nums) x OFFSET 1) FROM b ORDER BY id", "SELECT id, (SELECT row_number() OVER () FROM unnest(nums) x) FROM b WHERE id < 2 ORDER BY id",
	})
}
