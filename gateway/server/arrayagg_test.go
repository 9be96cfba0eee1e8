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
	)
	wantAlike(t, articles, 0.85, statements)
}
