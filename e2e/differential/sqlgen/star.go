package sqlgen

import "fmt"

// star is a FROM clause of a large table and what it refers to: masters by their whole key, and what
// those refer to in turn. It reports false where the world has no such tables.
func (g *gen) star() (fromClause, bool) {
	details := g.tablesWhere(func(t *Table) bool { return len(t.Rows) >= 100 })
	if len(details) == 0 {
		return fromClause{}, false
	}
	detail, sql := g.tableRelation(details[g.r.IntN(len(details))])
	f := fromClause{sql: sql, sc: &scope{rels: []*relation{detail}}, rows: detail.rows}
	masters := g.tablesWhere(func(t *Table) bool {
		return len(t.Key) == 1 && t.Columns[t.Key[0]].domain == "key" && len(t.Rows) > 0 && float64(len(t.Rows)) <= detail.rows
	})
	if len(masters) == 0 {
		return fromClause{}, false
	}
	comma := g.chance(0.5)
	var on []string
	for range 1 + g.weighted(4, 4, 2) {
		from := f.sc.rels[g.r.IntN(len(f.sc.rels))]
		master, sql := g.tableRelation(masters[g.r.IntN(len(masters))])
		condition := fmt.Sprintf("%s.%s = %s.%s", from.alias, g.one("ref_a", "ref_b"), master.alias, QuoteIdent(master.cols[master.key[0]].name))
		if comma {
			f.sql += ", " + sql
			on = append(on, condition)
		} else {
			f.sql += fmt.Sprintf(" JOIN %s ON %s", sql, condition)
		}
		f.sc = &scope{rels: append(f.sc.rels[:len(f.sc.rels):len(f.sc.rels)], master)}
	}
	f.where, f.comma = on, comma
	f.measured = &scope{rels: []*relation{detail}, outer: &scope{}}
	g.use("star")
	return f, true
}

func (g *gen) tablesWhere(is func(*Table) bool) []*Table {
	var out []*Table
	for _, t := range g.w.Tables {
		if is(t) {
			out = append(out, t)
		}
	}
	return out
}
