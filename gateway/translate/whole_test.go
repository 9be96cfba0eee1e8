package translate_test

import "testing"

// The engine would ask a condition that searches a set below a GROUP BY, and skip the scan where the set is empty: nothing would fail there.
func TestTranslate_computesWhatMayFailBeforeSearchesOnIt(t *testing.T) {
	wantCounted(t, "LIMIT 18446744073709551615", 23, map[string]int{
		"SELECT id FROM item GROUP BY id HAVING sum(1 / id) IN (SELECT id FROM item)":                                                                      1,
		"SELECT id FROM item GROUP BY id HAVING id NOT IN (SELECT id FROM item WHERE id > 5) AND sum(1 / id) > 0":                                          1,
		"SELECT id FROM item GROUP BY id HAVING sum(1 / id) > ALL (SELECT id FROM item)":                                                                   1,
		"SELECT id FROM item GROUP BY id HAVING sum(id) IN (SELECT id FROM item)":                                                                          0,
		"SELECT id FROM item GROUP BY id HAVING sum(1 / id) > (SELECT max(id) FROM item)":                                                                  0,
		"SELECT id FROM item GROUP BY id HAVING sum(1 / id) > 7":                                                                                           0,
		"SELECT x.id FROM (SELECT id, sum(1 / id) AS s FROM item GROUP BY id) AS x WHERE id IN (SELECT id FROM item)":                                      1,
		"SELECT x.id FROM (SELECT DISTINCT id, 1 / id FROM item) AS x WHERE id IN (SELECT id FROM item)":                                                   1,
		"SELECT x.id FROM (SELECT id, 1 / id FROM item UNION SELECT 1, 1) AS x WHERE id IN (SELECT id FROM item)":                                          1,
		"SELECT x.id FROM (SELECT id, sum(1 / id) AS s FROM item GROUP BY id) AS x JOIN item AS i ON i.id = x.id WHERE i.price = 1":                        1,
		"SELECT x.id FROM (SELECT id, sum(1 / id) AS s FROM item GROUP BY id) AS x WHERE id = 5":                                                           0,
		"SELECT x.id FROM (SELECT id, 1 / id FROM item) AS x WHERE id IN (SELECT id FROM item)":                                                            0,
		"SELECT x.id FROM (SELECT id, 1 / id AS v, rank() OVER (ORDER BY price) FROM item) AS x WHERE id = 5":                                              1,
		"SELECT x.id FROM (SELECT id, 1 / id AS v, rank() OVER (PARTITION BY id ORDER BY price) AS r FROM item) AS x WHERE id = 5":                         0,
		"SELECT x.id FROM (SELECT id, 1 / id AS v, rank() OVER (PARTITION BY id ORDER BY price) AS r FROM item) AS x WHERE id = 5 AND r = 1":               1,
		"SELECT y.id FROM (SELECT * FROM (SELECT id, 1 / id AS v, rank() OVER (ORDER BY price) FROM item) AS x) AS y WHERE id = 5":                         1,
		"SELECT x.id FROM (SELECT id, 1 / id AS v, rank() OVER (ORDER BY price) FROM item UNION ALL SELECT id, 1 / id, 1 FROM item) AS x WHERE id = 5":     1,
		"SELECT x.id FROM (SELECT id, 1 / id AS v, rank() OVER (PARTITION BY id ORDER BY price) FROM item WINDOW w AS (ORDER BY price)) AS x WHERE id = 5": 1,
		"SELECT x.id FROM (SELECT id, 1 / id AS v FROM item ORDER BY rank() OVER (ORDER BY price)) AS x WHERE id = 5":                                      1,
		"SELECT x.id FROM (SELECT id, price, rank() OVER (ORDER BY price) AS r FROM item) AS x WHERE id = 5 AND r = 1":                                     0,
		"SELECT i.id FROM item AS i LEFT JOIN (SELECT id, sum(1 / id) AS s FROM item GROUP BY id) AS x ON x.id = i.id AND s IN (SELECT 1)":                 1,
		"SELECT y.id FROM (SELECT id FROM (SELECT id, sum(1 / id) AS s FROM item GROUP BY id) AS x) AS y WHERE id IN (SELECT id FROM item)":                1,
	})
}

// PostgreSQL asks a condition on the one side of an outer join before the join, where no row that the join adds can meet it.
func TestTranslate_computesWhatMayFailBelowAnOuterJoin(t *testing.T) {
	wantCounted(t, "NOT ignore(", 23, map[string]int{
		"SELECT i.id FROM item AS i LEFT JOIN line AS l ON l.item = i.id WHERE 1 / l.item > 0":                                 1,
		"SELECT i.id FROM item AS i RIGHT JOIN line AS l ON l.item = i.id WHERE 1 / i.id > 0":                                  1,
		"SELECT i.id FROM item AS j JOIN (item AS i LEFT JOIN line AS l ON l.item = i.id) ON i.id = j.id WHERE 1 / l.item > 0": 1,
		"SELECT x.id FROM (SELECT i.id, 1 / l.item AS v FROM item AS i LEFT JOIN line AS l ON l.item = i.id) AS x WHERE v > 0": 1,
		"SELECT i.id FROM item AS i JOIN line AS l ON l.item = i.id WHERE 1 / l.item > 0":                                      0,
		"SELECT i.id FROM item AS i LEFT JOIN line AS l ON l.item = i.id WHERE l.item > 0":                                     0,
		"SELECT i.id FROM item AS i LEFT JOIN line AS l ON l.item = i.id WHERE i.id / l.item > 0":                              0,
	})
}

// The engine would not read a table that it joins to nothing, while PostgreSQL asks a condition on that one first, and may refuse.
func TestTranslate_asksWhatMayFailBesideAnEmptySubquery(t *testing.T) {
	wantCounted(t, "NOT ignore", 23, map[string]int{
		"SELECT id FROM item, (SELECT max(id) AS m FROM item) AS x WHERE 1 / id = 1 AND m < 0":                 1,
		"SELECT id FROM item, (SELECT max(id) AS m FROM item) AS x WHERE id = 1 AND m < 0":                     0,
		"SELECT id FROM item, (SELECT max(id) AS m FROM item) AS x WHERE 1 / id = 1":                           0,
		"WITH w AS (SELECT 1 AS c) SELECT id FROM item, w WHERE 1 / id = 1 AND w.c < (SELECT x.c FROM w AS x)": 1,
		"WITH w AS (SELECT 1 AS c) SELECT id FROM item, w WHERE id = 1 AND w.c < (SELECT x.c FROM w AS x)":     0,
		"SELECT o.id FROM item AS o, (SELECT max(id) AS m FROM item) AS x WHERE 1 / o.id = 1 AND m = o.id":     0,
	})
}

// PostgreSQL computes what such a subquery yields by itself, as far as it is read: the engine would compute it where it is needed.
func TestTranslate_computesWhatASubqueryYieldsApart(t *testing.T) {
	wantCounted(t, "NOT ignore(", 23, map[string]int{
		"SELECT v FROM (SELECT id, 1 / id AS v FROM item LIMIT 5) AS x WHERE id = 5":                                                          1,
		"SELECT v FROM (SELECT id, 1 / id AS v FROM item OFFSET 0) AS x WHERE id = 5":                                                         1,
		"SELECT v FROM (SELECT id, 1 / id AS v FROM item LIMIT ALL) AS x WHERE id = 5":                                                        1,
		"SELECT id FROM (SELECT id, 1 / id AS v FROM item LIMIT 5) AS x WHERE id = 5":                                                         0,
		"SELECT v FROM (SELECT id, id AS v FROM item OFFSET 0) AS x WHERE id = 5":                                                             0,
		"SELECT v FROM (SELECT id, 1 / id AS v FROM item) AS x WHERE id = 5":                                                                  0,
		"SELECT v FROM (SELECT id, 1 / id AS v, rank() OVER (ORDER BY price) AS r FROM item) AS x WHERE r = 5":                                1,
		"SELECT v FROM (SELECT id, 1 / id AS v, rank() OVER (PARTITION BY id ORDER BY price) AS r FROM item) AS x WHERE id = 5":               0,
		"SELECT v FROM (SELECT id, 1 / min(id) AS v FROM item GROUP BY id) AS x WHERE id = 5":                                                 0,
		"SELECT CASE WHEN id = 7 THEN v END FROM (SELECT id, 1 / min(id) AS v FROM item GROUP BY id) AS x":                                    1,
		"SELECT CASE WHEN id = 7 THEN v END FROM (SELECT id, 1 / id AS v FROM item UNION ALL SELECT id, id FROM item) AS x":                   1,
		"SELECT v FROM (SELECT id, 1 / id AS v FROM item UNION ALL SELECT id, id FROM item) AS x WHERE id = 5":                                0,
		"SELECT v FROM (SELECT id, 1 / id AS v FROM item ORDER BY id) AS x WHERE id = 5":                                                      0,
		"SELECT CASE WHEN id = 7 THEN v END FROM (SELECT id, 1 / id AS v FROM item ORDER BY id) AS x":                                         1,
		"SELECT v FROM (SELECT id, 1 / min(id) AS v FROM item GROUP BY id) AS x JOIN item AS i ON i.id = x.id WHERE i.id > 5":                 1,
		"SELECT v FROM (SELECT id, 1 / min(id) AS v FROM item GROUP BY id) AS x JOIN item AS i ON i.id = x.id WHERE i.id = 5 AND i.price > v": 0,
	})
}
