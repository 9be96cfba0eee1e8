package sqlgen

import "fmt"

// nested joins a join in parentheses to the clause, or leaves the clause as it is when nothing fits in size.
func (g *gen) nested(f *fromClause, limit float64) {
	inner := g.from(1, nil, limit)
	if len(inner.sc.rels) != 2 || inner.comma || len(inner.where) > 0 {
		return
	}
	wide := &scope{rels: append(append([]*relation(nil), f.sc.rels...), inner.sc.rels...), outer: f.sc.outer}
	on, rows, ok := g.joinCondition(f, inner.sc.rels[g.r.IntN(2)], wide, limit)
	if !ok || f.rows*inner.rows > limit {
		return
	}
	g.use("nested join")
	if g.chance(0.2) {
		on += " AND " + g.simplePredicate(ctx{sc: &scope{rels: wide.rels}, plain: true}, 1)
	}
	f.merged, f.sc, f.rows = nil, wide, max(rows, f.rows, inner.rows)
	f.sql += fmt.Sprintf(" %s (%s) ON %s", g.one("JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"), inner.sql, on)
}
