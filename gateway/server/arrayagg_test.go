package server_test

import (
	"slices"
	"strings"
	"testing"
)

// Arrays of what a group has, of types that an array's text has written in several ways.
func TestGateway_makesArraysOfGroupsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	var statements []string
	for _, value := range []string{"id", "name", "wanted", "token", "id > wanted", "wanted::smallint % 3", "id * 3000000000", "name::varchar(2)", "short[1]", "coalesce(name, 'none')", "CASE WHEN id % 3 = 0 THEN name END", "1", "'x'"} {
		for _, sql := range []string{
			"SELECT array_agg($ ORDER BY id), array_agg($ ORDER BY wanted DESC, id DESC), array_agg($ ORDER BY wanted NULLS FIRST, id) FROM article", "SELECT id % 4, array_agg($ ORDER BY id) FROM article GROUP BY 1 ORDER BY 1",
			"SELECT array_agg($ ORDER BY id) FILTER (WHERE wanted > 0), array_agg($ ORDER BY id) FILTER (WHERE false) FROM article", "SELECT array_agg($ ORDER BY id) FROM article WHERE id < 0",
			"SELECT array_agg(DISTINCT $) FROM article", "SELECT array_agg(DISTINCT $ ORDER BY $ DESC) FROM article", "SELECT a.id, x FROM article a, LATERAL (SELECT array_agg($ ORDER BY b.id) AS x FROM (SELECT * FROM article) b WHERE b.wanted = a.id) v ORDER BY 1",
			"SELECT id % 3, cardinality(array_agg($ ORDER BY id)), array_to_string(array_agg($ ORDER BY id), ',', '-'), (array_agg($ ORDER BY id DESC))[1] FROM article GROUP BY 1 ORDER BY 1",
		} {
			if strings.Contains(sql, "b.id") {
				sql = strings.ReplaceAll(sql, "$", "b.name")
			}
			statements = append(statements, strings.ReplaceAll(sql, "$", value))
		}
	}
	statements = append(slices.Compact(statements),
		"SELECT x, count(*) FROM (SELECT array_agg(name ORDER BY id) AS x FROM article GROUP BY id % 5) v GROUP BY x ORDER BY 1", "SELECT id % 2 FROM article GROUP BY 1 HAVING 'a' = ANY (array_agg(name ORDER BY id)) ORDER BY 1",
		"SELECT unnest(x) AS v, count(*) FROM (SELECT array_agg(name ORDER BY id) AS x FROM article GROUP BY id % 5) v GROUP BY 1 ORDER BY 2, 1", "SELECT string_agg(DISTINCT name, '; '), string_agg(DISTINCT name, '') FILTER (WHERE id > 5) FROM article",
		"SELECT id, (SELECT array_agg(b.name ORDER BY b.id) FROM article b WHERE b.wanted = a.wanted) FROM article a ORDER BY 1", "SELECT array_agg(7 / id ORDER BY id) FILTER (WHERE id <> 0) FROM article", "SELECT array_agg(7 / id ORDER BY id) FROM article",
		`SELECT string_agg(NULL COLLATE "C", 'x' ORDER BY (NULL::text || 'a') COLLATE "C" DESC), array_agg(NULL COLLATE "C" ORDER BY id) FROM article`,
	)
	wantAlike(t, articles, 0.85, statements)
}

// Arrays of which all that a statement reads of is written in it, or bound to it.
func TestGateway_makesRowsOfConstantArraysAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, articles).routes()
	var statements []string
	for array, column := range map[string]string{
		"ARRAY[1, NULL, 3, 1]": "id", "'{a,\"x y\",NULL,\"\"}'::text[]": "name", "ARRAY['a', 'b']::varchar[]": "name", "'{}'::int[]": "wanted", "ARRAY[2, 3000000000]": "id", "'{t,f}'::bool[]": "flags[1]",
		"ARRAY[md5('3')::uuid, NULL]": "token", "ARRAY['2024-02-29', NULL]::date[]": "date '2024-02-29'", "ARRAY[timestamp '2024-02-29 12:00', '2024-03-01']": "timestamp '2024-03-01'", "NULL::int[]": "id",
	} {
		for _, sql := range []string{
			"SELECT x FROM unnest($) AS x ORDER BY x", "SELECT t.v, a.id FROM unnest($) AS t(v) LEFT JOIN article a ON # = t.v ORDER BY 1, 2", "SELECT id FROM article WHERE # IN (SELECT unnest($)) ORDER BY id",
			"SELECT id FROM article WHERE # NOT IN (SELECT unnest($) AS v) ORDER BY id", "SELECT a.id FROM article a JOIN unnest($) AS v ON # = v ORDER BY 1", "SELECT unnest($), 'x' ORDER BY 1", "SELECT unnest, count(*) FROM unnest($) GROUP BY 1 ORDER BY 1",
			"SELECT a.id, v FROM article a CROSS JOIN unnest($) v WHERE a.id < 3 ORDER BY 1, 2", "SELECT id FROM article a WHERE EXISTS (SELECT FROM unnest($) v WHERE v = #) ORDER BY 1", "SELECT v FROM unnest($) v WHERE NOT EXISTS (SELECT FROM article a WHERE # = v) ORDER BY 1",
		} {
			statements = append(statements, strings.NewReplacer("$", array, "#", column).Replace(sql))
		}
	}
	statements = append(statements, "SELECT * FROM unnest(ARRAY[1.5, 2]) ORDER BY 1", "SELECT * FROM unnest('{{1,2},{3,4}}'::int[]) ORDER BY 1", "SELECT * FROM unnest('{1,2}'::int[], '{3,4}'::int[]) ORDER BY 1", "SELECT * FROM unnest('{1,2}'::int[]) WITH ORDINALITY ORDER BY 1",
		"SELECT x + y FROM unnest(ARRAY[1, 2]) x, unnest(ARRAY[10, 20]) y ORDER BY 1", "SELECT * FROM unnest('[0:1]={1,2}'::int[]) ORDER BY 1", "SELECT sum(x) FROM unnest(ARRAY[1, 2, 3]) x")
	wantAlikeIn(t, columnar, oltp, 0.8, statements)
	bound := []string{"{}", "{1,2,3}", "{NULL,7}"}
	wantAlikeBound(t, columnar, oltp, "SELECT a.id, v FROM article a JOIN unnest($1::int[]) AS v ON a.wanted = v ORDER BY 1", bound, 1)
	wantAlikeBound(t, columnar, oltp, "SELECT id FROM article WHERE wanted IN (SELECT unnest($1::int[])) ORDER BY 1", bound, 1)
}
