package server_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

const elementsSchema = `CREATE TABLE sale (id int PRIMARY KEY, buyer int NOT NULL, doc jsonb);
INSERT INTO sale VALUES (1, 1, '{"items": [{"sku": "a", "qty": 2, "price": 1.50}, {"sku": "b", "qty": 1, "price": 20}], "tags": ["x", "y, z", "]"]}'),
 (2, 1, '{"items": [{"sku": "a, }, {", "qty": 3}, {}, {"sku": "é\"[{:", "qty": null, "lots": [{"n": 1}, {"n": 2.0}]}], "tags": []}'), (3, 2, '{"items": [], "tags": [1, 2.50, null, "null", true, {"a": 1}]}'),
 (4, 2, '{"tags": ["", "\n\u0001", ", "], "at": {"x": {"y": [1]}, "\"k\": ": "v, ", "": 1e2}}'), (5, 3, NULL), (6, 3, '{"items": [[1, 2], [], {"sku": {"a": [{}]}}, "a"], "at": {"b": null, "x": "1"}}'), (7, 3, '{"items": [{"sku": "a", "qty": 7}], "at": {}}');
CREATE TABLE buyer (id int PRIMARY KEY, name text); INSERT INTO buyer VALUES (1, 'a'), (2, 'b'), (3, NULL), (4, 'x');
CREATE TABLE mixed (id int PRIMARY KEY, doc jsonb); INSERT INTO mixed VALUES (1, '[1, 2]'), (2, '{"a": 1}'), (3, '"a"'), (4, 'null'), (5, NULL), (6, '{"a": [1]}');
CREATE VIEW line AS SELECT s.id, e AS doc, e->>'sku' AS sku FROM sale s, jsonb_array_elements(s.doc->'items') e;`

func TestGateway_makesRowsOfElementsOfDocuments(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, elementsSchema).routes()
	wantAlikeIn(t, columnar, oltp, 1, []string{
		"SELECT s.id, e FROM sale s, jsonb_array_elements(s.doc->'items') e ORDER BY 1, e::text", "SELECT s.id, e.value->>'sku' AS sku, (e->>'qty')::int AS qty FROM sale s CROSS JOIN LATERAL jsonb_array_elements(s.doc->'items') AS e ORDER BY 1, 2, 3",
		"SELECT e->>'sku', count(*), sum((e->>'qty')::int), sum((e->>'price')::numeric) FROM sale, jsonb_array_elements(doc->'items') AS t(e) GROUP BY 1 ORDER BY 2, 3, 1", "SELECT value, ordinality FROM sale, jsonb_array_elements(doc->'items') WITH ORDINALITY WHERE id < 5 ORDER BY id, 2",
		"SELECT s.id, t FROM sale s, jsonb_array_elements_text(s.doc->'tags') t ORDER BY 1, 2", "SELECT t, count(*) FROM sale s JOIN LATERAL jsonb_array_elements_text(s.doc->'tags') AS x(t) ON true GROUP BY t ORDER BY 2, 1", "SELECT s.id, t, n FROM sale s LEFT JOIN LATERAL jsonb_array_elements_text(s.doc->'tags') WITH ORDINALITY AS x(t, n) ON true ORDER BY 1, 3",
		"SELECT s.id, e, e IS NULL FROM sale s LEFT JOIN LATERAL jsonb_array_elements(s.doc->'items') e ON true ORDER BY 1, e::text", "SELECT count(*) FROM sale, jsonb_array_elements(doc->'items')", "SELECT b.name, e->>'sku', count(*) FROM buyer b JOIN sale s ON s.buyer = b.id, jsonb_array_elements(s.doc->'items') e GROUP BY 1, 2 ORDER BY 3, 1, 2",
		"SELECT s.id, b.id FROM sale s, jsonb_array_elements_text(s.doc->'tags') t, buyer b WHERE b.name = t ORDER BY 1, 2", "SELECT s.id, l->>'n', i.o FROM sale s, jsonb_array_elements(s.doc->'items') WITH ORDINALITY i(e, o), jsonb_array_elements(i.e->'lots') l WHERE s.id < 6 ORDER BY 1, 2, 3",
		"SELECT s.id, i->>'sku', t FROM sale s, jsonb_array_elements(s.doc->'items') i, jsonb_array_elements_text(s.doc->'tags') t ORDER BY 1, 2, 3", "SELECT id, jsonb_array_elements(doc->'items')->>'sku' AS sku FROM sale ORDER BY 1, 2", "SELECT jsonb_array_elements_text(doc->'tags') AS t, count(*) FROM sale GROUP BY 1 ORDER BY 2, 1",
		"SELECT s.id, key, value FROM sale s, jsonb_each_text(s.doc->'at') ORDER BY 1, 2", "SELECT s.id, e.key, e.value, e.value->'y', jsonb_typeof(e.value) FROM sale s, jsonb_each(s.doc->'at') e ORDER BY 1, 2", "SELECT k, count(*) FROM sale, jsonb_object_keys(doc) k GROUP BY k ORDER BY 2, 1", "SELECT id, jsonb_object_keys(doc->'at') FROM sale ORDER BY 1, 2",
		"SELECT s.id, k.v, k.value->>'sku' FROM sale s LEFT JOIN LATERAL jsonb_each(s.doc) WITH ORDINALITY k(v) ON true ORDER BY 1, k.ordinality", "SELECT e->'lots', e->'sku' FROM sale, jsonb_array_elements(doc->'items') e WHERE e ? 'sku' AND id <> 6 ORDER BY id, e->>'sku'", "SELECT id FROM sale, jsonb_array_elements(doc->'items') e WHERE e @> '{\"sku\": \"a\"}' ORDER BY 1",
		"SELECT id, doc->>'qty', sku FROM line ORDER BY 1, 2, 3", "SELECT x.sku, b.id FROM (SELECT s.buyer, e->>'sku' AS sku FROM sale s, jsonb_array_elements(s.doc->'items') e) x JOIN buyer b ON b.id = x.buyer ORDER BY 1, 2", "SELECT id FROM buyer WHERE name IN (SELECT e->>'sku' FROM sale, jsonb_array_elements(doc->'items') e) ORDER BY 1", "WITH e AS (SELECT id, jsonb_array_elements(doc->'items') AS x FROM sale) SELECT id, x->>'sku' FROM e WHERE x->>'qty' IS NOT NULL ORDER BY 1, 2",
		"SELECT b.id, count(*), count(e) FROM buyer b LEFT JOIN (sale s CROSS JOIN jsonb_array_elements(s.doc->'items') e) ON s.buyer = b.id GROUP BY 1 ORDER BY 1", "SELECT m.id, e FROM mixed m, jsonb_array_elements(m.doc) e WHERE m.id IN (1, 5) ORDER BY 1, e::text", "SELECT m.id, jsonb_array_elements_text(doc) FROM mixed m WHERE m.id = 1 ORDER BY 2", "SELECT id, e FROM mixed, jsonb_array_elements(doc) e WHERE jsonb_typeof(doc) = 'array' ORDER BY id, e::text",
	})
	wantAlikeIn(t, columnar, oltp, 0, []string{
		"SELECT count(*) FROM mixed, jsonb_array_elements(doc)", "SELECT count(*) FROM mixed, jsonb_array_elements(doc) WHERE id IN (2, 1)", "SELECT count(*) FROM mixed, jsonb_array_elements_text(doc) WHERE id = 3", "SELECT count(*) FROM mixed, jsonb_array_elements(doc) WHERE id = 4", "SELECT count(*) FROM mixed, jsonb_array_elements(doc->'a') WHERE id = 2",
		"SELECT count(*) FROM mixed, jsonb_each(doc) WHERE id = 1", "SELECT count(*) FROM mixed, jsonb_object_keys(doc) WHERE id = 3", "SELECT x.id FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM mixed, jsonb_array_elements(doc)) x WHERE x.n IN (SELECT id FROM buyer WHERE id > 99)", "SELECT id FROM mixed LEFT JOIN LATERAL jsonb_array_elements(doc) e ON true WHERE id = 2", "SELECT b.id, (SELECT count(*) FROM mixed, jsonb_array_elements(doc) WHERE b.id > 100) FROM buyer b WHERE b.name = 'a' ORDER BY 1",
		"SELECT s.id, b.id FROM sale s, jsonb_array_elements_text(s.doc->'tags') t JOIN buyer b ON b.name = t ORDER BY 1, 2", "SELECT id, e FROM sale, jsonb_each(doc) e ORDER BY 1", "SELECT jsonb_array_elements(doc->'items'), jsonb_array_elements(doc->'tags') FROM sale", "SELECT id, e FROM sale, jsonb_array_elements(doc->'items'->0) e ORDER BY 1", "SELECT id FROM sale s, jsonb_array_elements(s.doc->'items') WITH ORDINALITY e ORDER BY e",
	})
}

// What is in arrays and objects is as PostgreSQL has it, whatever is around it.
func TestGateway_makesRowsOfAnyDocument(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	c := chance{rand.New(rand.NewPCG(seed, 0))}
	columnar, oltp := start(t, "CREATE TABLE list (id int PRIMARY KEY, j jsonb); CREATE TABLE object (id int PRIMARY KEY, j jsonb)").routes()
	for id := range 1500 {
		list, object := []any{}, map[string]any{}
		depth := c.IntN(4) // also none, so that all are scalars
		for range c.IntN(5) {
			list = append(list, c.value(depth))
			object[c.key()] = c.value(depth)
		}
		if c.IntN(3) == 0 { // nothing but objects
			for i := range list {
				list[i] = map[string]any{c.key(): c.value(0), c.key(): c.value(0)}
			}
		}
		for table, value := range map[string]any{"list": list, "object": object} {
			text, err := json.Marshal(map[string]any{"a": map[string]any{"b": value}, "v": value})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := oltp.Exec(t.Context(), "INSERT INTO "+table+" VALUES ($1, $2)", id, string(text)); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
	}
	exec(t, columnar, "SET freshet.freshness = strong")
	var statements []string
	for _, at := range []string{"j->'v'", "j->'a'->'b'"} {
		for _, sql := range []string{
			"SELECT id, e.* FROM list, jsonb_array_elements(@) WITH ORDINALITY e ORDER BY 1, 3", "SELECT id, e.* FROM list, jsonb_array_elements_text(@) WITH ORDINALITY e ORDER BY 1, 3", "SELECT id, e.* FROM object, jsonb_each(@) WITH ORDINALITY e ORDER BY 1, 4",
			"SELECT id, e.* FROM object, jsonb_each_text(@) WITH ORDINALITY e ORDER BY 1, 4", "SELECT id, e.* FROM object, jsonb_object_keys(@) WITH ORDINALITY e ORDER BY 1, 3", "SELECT id, value->>'a', value->'a'->'b', value->'b'->>'a' FROM list, jsonb_array_elements(@) WITH ORDINALITY e ORDER BY 1, ordinality",
			"SELECT id, value->>'a', value->'a'->'b', jsonb_typeof(value->'a') FROM object, jsonb_each(@) WITH ORDINALITY e ORDER BY 1, ordinality",
		} {
			statements = append(statements, strings.ReplaceAll(sql, "@", at))
		}
	}
	wantAlikeIn(t, columnar, oltp, 1, statements)
}
