package server_test

import "testing"

// #>> leads through arrays, by an array of strings as well.
func TestGateway_readsPathsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	const more = `; INSERT INTO l VALUES (8, 8, 'd', '{"i":{"0":{"sku":"z"}},"o":{"0":"x"}}', NULL, NULL), (9, 9, 'e', '{"i":"text","o":[["a",1.50],{"0":7}]}', NULL, NULL), (10, 1, 'f', '[{"sku":"r"}]', NULL, NULL), (11, 1, 'g', '7', NULL, NULL)`
	var statements []string
	for _, path := range []string{
		"'{i,0,sku}'", "'{i,-1,q}'", "ARRAY['i', '0', 'sku']", "array['o', 'a']::text[]", "ARRAY['o'::text, 'b'::text]", "'{o,a}'::text[]", "'{o,0}'", "'{o,0,0}'", "'{o,1,0}'", "'{i}'", "'{i,00}'", "'{0,sku}'", "'{-1}'", "array['']", "array['é']", "'{i,0}'", "'{i,999999}'", "'{i,0,sku,a}'", "'{}'",
		"array['i', NULL]", "array['i']::varchar[]",
	} {
		for _, rows := range []string{"true", "id < 6", "id < 6 AND id <> 4", "id IN (2, 8)", "id IN (3, 9)", "id IN (1, 10)", "id IN (5, 11)"} {
			statements = append(statements, "SELECT id, doc #>> "+path+" AS v FROM l WHERE "+rows+" ORDER BY id", "SELECT (doc #>> "+path+")::text AS v, count(*) FROM l WHERE "+rows+" GROUP BY 1 ORDER BY v COLLATE \"C\"")
		}
	}
	statements = append(statements, "SELECT id, doc->'i' #>> '{0,sku}' AS v, doc->'i'->0 #>> '{q}' AS w FROM l WHERE id < 6 ORDER BY id")
	wantAlike(t, lists+more, 0.5, statements)
}
