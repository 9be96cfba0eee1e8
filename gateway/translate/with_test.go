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

func TestTranslate_takesAWithQueryThatMayFailUnlessPostgreSQLComputesWhatNothingReads(t *testing.T) {
	for name, sql := range map[string]string{
		"used once":        "WITH w AS (SELECT id, 1 / id AS x FROM item) SELECT id FROM w",
		"read by one use":  "WITH w AS (SELECT id, 1 / id AS x FROM item) SELECT a.x FROM w a, w b WHERE a.id = b.id",
		"read in a view":   "WITH w AS (SELECT id, 1 / id AS x FROM item) SELECT b.id FROM (SELECT * FROM w) a JOIN w b ON a.x = b.id",
		"its aggregate":    "WITH w AS (SELECT id, 1 / id AS x FROM item) SELECT id FROM w WHERE x = (SELECT max(x) FROM w)",
		"NOT MATERIALIZED": "WITH w AS NOT MATERIALIZED (SELECT id, 1 / id AS x FROM item) SELECT a.id FROM w a, w b WHERE a.id = b.id",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := translateText(t, sql, 23); err != nil {
				t.Error(err)
			}
		})
	}
}
