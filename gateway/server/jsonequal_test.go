package server_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Django writes a filter on a key of a document as an equality of documents.
func TestGateway_comparesPartsOfDocumentsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, `CREATE TABLE doc (id int PRIMARY KEY, d jsonb);
		INSERT INTO doc SELECT row_number() OVER (), v::jsonb FROM unnest(ARRAY['{"k": "a"}', '{"k": "A"}', '{"k": "a b: [c] {d} x :y"}', '{"k": ": :"}', '{"k": "ü€"}', '{"k": ""}', '{"k": true}', '{"k": false}', '{"k": null}',
			'{"k": 5}', '{"k": 5.0}', '{"k": 5.00}', '{"k": 5.01}', '{"k": 50}', '{"k": -5}', '{"k": 0}', '{"k": 0.0}', '{"k": -0.0}', '{"k": 5e0}', '{"k": 500e-2}', '{"k": "5"}', '{"k": "5.0"}', '{"k": "true"}', '{"k": "null"}', '{"k": [5]}',
			'{"k": {"k": "a", "n": 5.0}}', '{"n": {"k": "a"}}', '{"j": 1}', '{}', '[]', '["k", "a"]', '"k"', '5', '{"k": "q\"a\\b"}', NULL]) v`).routes()
	for _, sql := range []string{
		`SELECT id FROM doc WHERE (d -> 'k') = '"a"'::jsonb ORDER BY 1`,
		`SELECT id, d -> 'k' = '"a"', d -> 'k' <> 'true', d -> 'k' = ' 5 ', (d -> 'k') IN ('0', '"A"', 'null') FROM doc ORDER BY 1`,
		`SELECT id FROM doc WHERE d -> 'k' <> '"a"'::jsonb ORDER BY 1`,
		`SELECT id FROM doc WHERE NOT (d -> 'k' = '5'::jsonb AND d -> 'k' IS NOT NULL) ORDER BY 1`,
		`SELECT id FROM doc WHERE d -> 'k' = '"a b: [c] {d} x :y"' OR d -> 'k' = '": :"' OR d -> 'k' = '"ü€"' OR d -> 'k' = '""' ORDER BY 1`,
		`SELECT id FROM doc WHERE d -> 'k' = '-5' OR d -> 'k' = 'false' ORDER BY 1`,
		`SELECT id FROM doc WHERE d -> 'k' = 'null'::jsonb ORDER BY 1`,
		`SELECT id FROM doc WHERE d #> '{k,k}' = '"a"'::jsonb OR d #> '{k,n}' = '5' ORDER BY 1`,
		`SELECT id FROM doc WHERE d -> 'n' -> 'k' = '"a"'::jsonb ORDER BY 1`,
		`SELECT id FROM doc WHERE d -> 'k' IN ('"a"'::jsonb, '5'::jsonb, 'true') ORDER BY 1`,
		`SELECT id FROM doc WHERE d -> 'k' NOT IN ('"a"'::jsonb, '5'::jsonb) ORDER BY 1`,
	} {
		wantSameAnswer(t, columnar, oltp, sql)
	}
	for _, value := range []string{`"a"`, `5`, `true`, `null`} {
		sql := "SELECT id FROM doc WHERE d -> 'k' = $1::jsonb ORDER BY 1"
		want, got := query(t, oltp, sql, value), query(t, columnar, sql, value)
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("%s with %s, -PostgreSQL +replica:\n%s", sql, value, diff)
		}
	}
}
