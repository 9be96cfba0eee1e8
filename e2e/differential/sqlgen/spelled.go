package sqlgen

import (
	"fmt"
	"strings"
)

// spelled adds a LATERAL item whose rows, or only row, are made of values of the clause.
func (g *gen) spelled(f *fromClause) {
	n := 1 + g.r.IntN(3)
	if f.rows*float64(n) > maxRows {
		return
	}
	g.use("LATERAL rows of values")
	own := ctx{sc: &scope{rels: f.sc.rels, outer: &scope{}}, plain: true} // keeps references qualified
	rel := &relation{alias: g.alias("v"), rows: f.rows * float64(n)}
	table := make([][]string, n)
	var names []string
	for range 1 + g.r.IntN(2) {
		fam := []family{famInt, famNum, famStr, famDate, famTS, famTSTZ, famBool, famUUID}[g.r.IntN(8)]
		var t typ
		for i := range table {
			e := g.leaf(own, fam)
			if n == 1 {
				e = g.expr(own, fam, 1)
			}
			if table[i] = append(table[i], e.sql); i == 0 {
				t = e.t
			}
			t = unify(t, e.t)
		}
		rel.cols = append(rel.cols, column{name: g.alias("e"), t: t, distinct: 6})
		names = append(names, rel.cols[len(rel.cols)-1].name)
	}
	lists := make([]string, n)
	for i, values := range table {
		lists[i] = strings.Join(values, ", ")
	}
	query := "VALUES (" + strings.Join(lists, "), (") + ")"
	if n == 1 {
		query = "SELECT " + lists[0]
	}
	g.beside(f, rel, fmt.Sprintf("LATERAL (%s) AS %s (%s)", query, rel.alias, strings.Join(names, ", ")))
}
