package analytics

import (
	"encoding/json"
	"testing"
)

// scan is a node that reads.
func scan(kind, cond string, cost float64) planNode {
	return planNode{Type: kind, IndexCond: cond, Cost: cost}
}

// over is a node above others.
func over(kind string, cost float64, plans ...planNode) planNode {
	return planNode{Type: kind, Cost: cost, Plans: plans}
}

// loop is a nested loop over so many rows.
func loop(cost, rows float64, outer, inner planNode) planNode {
	outer.Relationship, outer.Rows, inner.Relationship = "Outer", rows, "Inner"
	return over("Nested Loop", cost, outer, inner)
}

func TestIsIndexed_asksForIndexesAloneAndLittleCost(t *testing.T) {
	t.Parallel()
	byKey := scan("Index Scan", "(id = 7)", 8)
	for _, c := range []struct {
		name    string
		plan    planNode
		unequal bool
		want    bool
	}{
		{"index", byKey, false, true},
		{"bitmaps", over("Bitmap Heap Scan", 60, over("BitmapOr", 9, scan("Bitmap Index Scan", "(a = 1)", 4), scan("Bitmap Index Scan", "(a = 2)", 4))), false, true},
		{"much of an index", scan("Index Scan", "(id < 70000)", 3000), false, false},
		{"many rows of an index", over("Bitmap Heap Scan", 300, planNode{Type: "Bitmap Index Scan", IndexCond: "(id < 20000)", Cost: 90, Rows: 6667}), false, false},
		{"the first of many rows", over("Limit", 1, planNode{Type: "Index Scan", IndexCond: "(id > 100)", Cost: 9000, Rows: 6667}), false, true},
		{"all of an index", over("Aggregate", 900, scan("Index Only Scan", "", 800)), false, false},
		{"the first of an index", over("Limit", 1, scan("Index Scan", "", 50_000)), false, true},
		{"a maximum", over("Result", 1, over("Limit", 1, scan("Index Only Scan", "(id IS NOT NULL)", 50_000))), false, true},
		{"a small table alone", scan("Seq Scan", "", 20), false, false},
		{"a small table beside an index", loop(30, 5, scan("Seq Scan", "", 20), byKey), false, true},
		{"a large table beside an index", over("Hash Join", 900, scan("Seq Scan", "", 500), over("Hash", 8, byKey)), false, false},
		{"a foreign table", loop(30, 5, scan("Foreign Scan", "", 20), byKey), false, false},
		{"a sample", loop(30, 5, scan("Sample Scan", "", 20), byKey), false, false},
		{"a row by its place", scan("Tid Scan", "", 4), false, false},
		{"an index for each row of a large table", loop(90_000, 5000, scan("Seq Scan", "", 500), byKey), true, true},
		{"the same where there is an equality", loop(90_000, 5000, scan("Seq Scan", "", 500), byKey), false, false},
		{"what lies between, however much it may be", loop(9e9, 5e6, scan("Seq Scan", "", 5e5), scan("Index Scan", "((id >= (a.id * 10)) AND (id < b.id))", 900)), true, true},
		{"too much that is greater", loop(9e6, 5e3, scan("Seq Scan", "", 500), scan("Index Scan", "(id > a.id)", 900)), true, false},
		{"a little that is greater", loop(9e4, 5e2, scan("Seq Scan", "", 500), scan("Index Scan", "(id > a.id)", 90)), true, true},
		{"each row with each", loop(90_000, 5000, byKey, over("Materialize", 30, scan("Seq Scan", "", 20))), true, false},
		{"an index for the few rows of a table", loop(10_000, 67, scan("Seq Scan", "", 1900), scan("Index Scan", "(a = b.id)", 120)), false, true},
		{"the same, and the first of it", over("Limit", 100, loop(10_000, 67, scan("Seq Scan", "", 1900), scan("Index Scan", "(a = b.id)", 120))), false, false},
		{"the same by several processes", over("Gather", 10_000, loop(9_000, 67, scan("Seq Scan", "", 1900), scan("Index Scan", "(a = b.id)", 120))), false, false},
		{"too much for the rows there are", loop(12_600, 67, scan("Seq Scan", "", 1900), scan("Index Scan", "(a = b.id)", 120)), false, false},
		{"an index for many rows of a table", loop(10_000, 1500, scan("Seq Scan", "", 1900), scan("Index Scan", "(a = b.id)", 4)), false, false},
		{"a range for the few rows of a table", loop(10_000, 67, scan("Seq Scan", "", 1900), scan("Index Scan", "(a > b.id)", 120)), false, false},
		{"an index for the rows that another led to", loop(10_000, 67, loop(5_000, 67, scan("Seq Scan", "", 1900), scan("Index Scan", "(a = b.id)", 12)), scan("Index Scan", "(a = b.id)", 12)), false, false},
		{"a table for the few rows of another", loop(10_000, 67, scan("Seq Scan", "", 1900), over("Materialize", 2000, scan("Seq Scan", "", 1900))), false, false},
		{"an index for one row, and a large table", over("Hash Join", 900, scan("Seq Scan", "", 500), loop(8, 1, byKey, byKey)), true, false},
	} {
		explained, err := json.Marshal([]map[string]planNode{{"Plan": c.plan}})
		if err != nil {
			t.Fatal(err)
		}
		if got := isIndexed(explained, c.unequal, 1e6); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
	for _, nonsense := range []string{"", "[]", "{}", `[{"Plan": 3}]`} {
		if isIndexed([]byte(nonsense), true, 1e6) {
			t.Errorf("%q passes for a plan", nonsense)
		}
	}
}
