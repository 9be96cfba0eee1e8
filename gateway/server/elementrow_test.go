package server_test

import (
	"strings"
	"testing"
)

const lists = `CREATE TABLE l (id int PRIMARY KEY, x int, s text COLLATE "C", doc jsonb, ia int[], ta text[]);
INSERT INTO l VALUES (1, 1, 'a', '{"i":[{"sku":"a","q":1,"p":1.50},{"sku":"b","q":2,"p":2}],"o":{"a":"1","b":null}}', '{1,2,3}', '{a,b}'), (2, 2, 'b', '{"i":[],"o":{}}', '{}', '{}'), (3, NULL, NULL, NULL, NULL, NULL),
 (4, 4, '', '{"i":[{"sku":null},{"q":"7"},{"sku":"","q":null}],"o":{"":"","é":"ü"}}', '{NULL,1,NULL}', '{"",NULL,"a b","é"}'),
 (5, 5, 'b', '{"i":[{"sku":"b","q":10,"p":10.25},{"sku":"b","q":-3,"p":0.00},{"sku":"a","q":900719925,"p":12345678.5}],"o":{"b":"b","a":true}}', '{5,5,-2147483648,2147483647}', '{b,b,NULL}'), (6, 0, 'c', '{}', '{0}', '{c}');
CREATE TABLE other AS SELECT id, x FROM l; ALTER TABLE other ADD PRIMARY KEY (id);
CREATE TABLE spoiled AS TABLE l; ALTER TABLE spoiled ADD PRIMARY KEY (id); INSERT INTO spoiled VALUES (7, 7, 'q', '{"i":{"a":1},"o":[]}', '{{1,2},{3,4}}', '{{a,b},{c,d}}')`

// LATERAL (SELECT count(*), sum(…) FROM jsonb_array_elements(t.doc->'items')) has one row for each of t.
func TestGateway_aggregatesListsOfRowsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	rows := map[string][]string{
		"unnest(t.ia) e":                                      {"count(*) AS a, sum(e) AS b", "max(e) AS a, avg(e) AS b", "coalesce(sum(e), 0) AS a, min(e) + t.x AS b"},
		"unnest(t.ta) e WHERE e <> t.s":                       {"count(e) AS a, max(e) AS b"},
		"jsonb_array_elements(t.doc->'i') e":                  {"count(*) AS a, sum((e->>'q')::int) AS b", "max(e->>'sku') AS a, count(DISTINCT e->>'sku') AS b"},
		"jsonb_array_elements(t.doc->'i') e WHERE t.x > 1":    {"count(*) AS a, bool_or(e->>'sku' = 'b') AS b"},
		"jsonb_each_text(t.doc->'o') e WHERE e.key <> 'none'": {"count(*) AS a, max(e.value) AS b"},
	}
	places := []string{
		"SELECT t.id, l.* FROM @ t LEFT JOIN # l ON true ORDER BY 1", "SELECT t.id, t.s, l.b FROM @ t, # l WHERE l.a IS NOT NULL ORDER BY l.a, 1", "SELECT count(*), min(l.a) FROM @ t JOIN # l ON l.b IS NOT NULL", "SELECT t.s, count(*) FROM @ t JOIN # l ON true GROUP BY 1 ORDER BY 1",
		"SELECT count(*) FROM @ t, other k, # l WHERE k.id = t.id", "SELECT count(*) FROM @ t JOIN other k ON k.id = t.id CROSS JOIN # l WHERE t.id < 3", "SELECT q.id FROM (SELECT t.id, l.a FROM @ t, # l) q ORDER BY 1", "WITH w AS (SELECT t.id, l.a FROM @ t CROSS JOIN # l) SELECT id FROM w ORDER BY 1",
		"SELECT k.id, l.a FROM other k LEFT JOIN @ t ON k.id = t.id LEFT JOIN # l ON true ORDER BY 1", "SELECT t.id, l.a, k.id FROM @ t CROSS JOIN # l LEFT JOIN other k ON k.id = t.id + 1 ORDER BY 1",
	}
	var statements, spoiled []string
	for from, columns := range rows {
		for _, list := range columns {
			for _, place := range places {
				sql := strings.ReplaceAll(place, "#", "LATERAL (SELECT "+list+" FROM "+from+")")
				statements, spoiled = append(statements, strings.ReplaceAll(sql, "@", "l")), append(spoiled, strings.ReplaceAll(sql, "@", "spoiled"))
			}
		}
	}
	columnar, oltp := start(t, lists).routes()
	wantAlikeIn(t, columnar, oltp, 0.8, statements)
	// PostgreSQL refuses to make rows of what is no list, also where nobody reads what is made of them.
	wantAlikeIn(t, columnar, oltp, 0, spoiled)
}
