package translate_test

import (
	"strings"
	"testing"
)

func TestTranslate_runsAWithQueryOnceForItsAggregate(t *testing.T) {
	const with = "WITH w AS (SELECT item, sum(quantity) AS total FROM line GROUP BY item) "
	tests := []struct {
		name, sql string
		oids      []uint32
		runs      int
	}{
		{"compared", "SELECT i.id FROM item i, w WHERE i.id = w.item AND w.total = (SELECT max(total) FROM w)", []uint32{23}, 1},
		{"shown", "SELECT w.item, (SELECT count(*) FROM w x) FROM w", []uint32{23, 20}, 1},
		{"of an expression", "SELECT w.item FROM w WHERE total > (SELECT min(x.total + x.item) FROM w AS x)", []uint32{23}, 1},
		{"under an outer join", "SELECT i.id FROM item i LEFT JOIN w ON i.id = w.item WHERE i.id > (SELECT max(item) FROM w)", []uint32{23}, 2},
		{"after grouping", "SELECT w.item FROM w GROUP BY w.item HAVING sum(w.total) > (SELECT max(total) FROM w)", []uint32{23}, 2},
		{"filtered", "SELECT w.item FROM w WHERE total = (SELECT max(total) FROM w WHERE item > 5)", []uint32{23}, 2},
		{"of distinct values", "SELECT w.item FROM w WHERE total > (SELECT count(DISTINCT total) FROM w)", []uint32{23}, 2},
		{"that displays as it divides", "SELECT w.item FROM w WHERE total > (SELECT avg(total) FROM w)", []uint32{23}, 2},
		{"of a WITH query that is not joined", "SELECT i.id FROM item i WHERE i.id = (SELECT max(item) FROM w)", []uint32{23}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := translateText(t, with+tt.sql, tt.oids...)
			if err != nil {
				t.Fatal(err)
			}
			sql := plan.SQL(func(i int) string { return plan.Relations[i].Table.Name })
			if runs := strings.Count(sql, "FROM line AS"); runs != tt.runs {
				t.Errorf("runs %d times, want %d\n%s", runs, tt.runs, sql)
			}
		})
	}
}

func TestTranslate_computesAllOfAMaterializedWithQueryThatMayFail(t *testing.T) {
	wantComputed(t, 23, map[string]int{
		"WITH w AS (SELECT id, 1 / id AS x FROM item) SELECT id FROM w":                                                                      0,
		"WITH w AS (SELECT id, 1 / id AS x FROM item) SELECT a.x FROM w a, w b WHERE a.id = b.id":                                            2,
		"WITH w AS (SELECT id, 1 / id AS x FROM item) SELECT id FROM w WHERE x = (SELECT max(x) FROM w)":                                     1,
		"WITH w AS NOT MATERIALIZED (SELECT id, 1 / id AS x FROM item) SELECT a.id FROM w a, w b WHERE a.id = b.id":                          0,
		"WITH w AS MATERIALIZED (SELECT id, 1 / id AS x FROM item) SELECT x FROM w":                                                          1,
		"WITH w AS MATERIALIZED (SELECT id FROM item WHERE 1 / id > 0) SELECT id FROM w WHERE id > 5":                                        1,
		"WITH w AS MATERIALIZED (SELECT id FROM item GROUP BY id, 1 / id) SELECT id FROM w":                                                  1,
		"WITH w AS MATERIALIZED (SELECT id, count(1 / id) AS n FROM item GROUP BY id) SELECT id FROM w":                                      1,
		"WITH w AS MATERIALIZED (SELECT id, count(*) FILTER (WHERE 1 / id > 0) AS n FROM item GROUP BY id) SELECT id FROM w":                 1,
		"WITH w AS MATERIALIZED (SELECT id, rank() OVER (ORDER BY 1 / id) AS n FROM item) SELECT id FROM w":                                  1,
		"WITH w AS MATERIALIZED (SELECT id FROM (SELECT id, 1 / id AS x FROM item) AS i WHERE x > 0) SELECT id FROM w":                       1,
		"WITH w AS MATERIALIZED (SELECT id FROM item WHERE id IN (SELECT 1 / id FROM item)) SELECT id FROM w":                                1,
		"WITH w AS MATERIALIZED (SELECT id, count(*) / nullif(count(name), 0) AS n, avg(price) AS x FROM item GROUP BY id) SELECT id FROM w": 0,
		"WITH w AS MATERIALIZED (SELECT id, price / nullif(price, 0.0) AS x, id / 7 AS y FROM item) SELECT id FROM w":                        0,
		"WITH w AS MATERIALIZED (SELECT id, price / coalesce(nullif(price, 0), 0) AS x FROM item) SELECT id FROM w":                          1,
		"WITH w AS MATERIALIZED (SELECT id, id / nullif(id, 0) AS x FROM item) SELECT id FROM w":                                             1, // by -1
		"WITH w AS MATERIALIZED (SELECT id, id / -1 AS x FROM item) SELECT id FROM w":                                                        1,
	})
}

func TestTranslate_computesAllOfAUnionThatMayFail(t *testing.T) {
	wantComputed(t, 20, map[string]int{
		"SELECT count(*) FROM (SELECT id, 1 / id FROM item UNION ALL SELECT id, id FROM item) AS u":                    0,
		"SELECT count(*) FROM (SELECT id, 1 / id FROM item UNION ALL SELECT id, 7::bigint FROM item) AS u":             1,
		"SELECT count(*) FROM (SELECT id, 1 / id FROM item UNION ALL SELECT id, id FROM item ORDER BY 1 LIMIT 5) AS u": 1,
		"SELECT count(*) FROM (SELECT id, 1 / id FROM item UNION SELECT id, 7::bigint FROM item) AS u":                 1,
		"SELECT count(*) FROM (SELECT id, 1 / id FROM item UNION SELECT id, id FROM item) AS u":                        0,
		"SELECT 1 / id::bigint FROM item UNION ALL SELECT id FROM item":                                                0,
	})
}

// The engine would take the value of a subquery that is NULL for a constant condition, and compute nothing that may fail.
func TestTranslate_hidesSubqueriesFromWhatMayFail(t *testing.T) {
	wantCounted(t, "identity(materialize(", 23, map[string]int{
		"SELECT id FROM item WHERE id > (SELECT max(id) FROM item)":                                                        0,
		"SELECT id FROM item WHERE 1 / id > (SELECT max(id) FROM item)":                                                    1,
		"SELECT id FROM item WHERE (SELECT max(id) FROM item) < 1 / id":                                                    1,
		"SELECT id FROM item GROUP BY id HAVING sum(1 / id) > (SELECT max(id) FROM item)":                                  1,
		"SELECT id FROM item GROUP BY id HAVING sum(id) > (SELECT max(id) FROM item)":                                      0,
		"SELECT max(1 / id) FROM item HAVING avg(id) <> (SELECT min(price) FROM item)":                                     1,
		"SELECT id FROM (SELECT id, sum(1 / id) AS s FROM item GROUP BY id) AS x WHERE s <> (SELECT min(price) FROM item)": 1,
	})
}

// wantComputed translates statements of one column and counts the queries in them of which all is computed.
func wantComputed(t *testing.T, oid uint32, statements map[string]int) {
	t.Helper()
	wantCounted(t, "NOT ignore(*)", oid, statements)
}

// wantCounted translates statements of one column and counts how often a text is in each.
func wantCounted(t *testing.T, part string, oid uint32, statements map[string]int) {
	t.Helper()
	for sql, want := range statements {
		plan, err := translateText(t, sql, oid)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		text := plan.SQL(func(i int) string { return plan.Relations[i].Table.Name })
		if got := strings.Count(text, part); got != want {
			t.Errorf("%s\nhas %q %d times, want %d\n%s", sql, part, got, want, text)
		}
	}
}
