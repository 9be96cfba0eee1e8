package sqlgen

import (
	"fmt"
	"slices"
	"strings"
)

// maxRows bounds the estimated rows of a FROM clause, for the sake of the run's time.
const maxRows = 30000

// fromClause is a FROM clause with what it brings into scope and the conditions that
// belong into WHERE.
type fromClause struct {
	sql   string
	sc    *scope
	where []string
	rows  float64
	comma bool
	// merged are the columns that USING or NATURAL made one, by their bare names.
	merged []expr
	// measured is what a star's aggregates preferably read; nil: anything.
	measured *scope
}

// from generates a FROM clause of up to joins+1 relations.
func (g *gen) from(joins int, outer *scope, limit float64) fromClause {
	first, sql := g.source(limit, joins > 0 || outer == nil)
	f := fromClause{sql: sql, sc: &scope{rels: []*relation{first}, outer: outer}, rows: first.rows}
	for range joins {
		if outer == nil && !f.comma && g.chance(0.06) {
			g.nested(&f, limit)
			continue
		}
		g.join(&f, limit)
	}
	if g.chance(0.3) {
		g.unnest(&f)
	}
	if g.chance(0.08) {
		g.spelled(&f)
	}
	return f
}

// unnest adds the elements of an array of the first relation, if it has one.
func (g *gen) unnest(f *fromClause) {
	first := f.sc.rels[0]
	for i, c := range first.cols {
		if c.t.kind != TextArray && c.t.kind != IntArray || f.rows*2 > maxRows {
			continue
		}
		g.use("unnest")
		rel := &relation{alias: g.alias("u"), rows: f.rows * 2}
		element := column{name: g.alias("e"), t: typ{kind: Text}, distinct: 6}
		if c.t.kind == IntArray {
			element.t = intType(Int4, intLimit[Int4])
		}
		rel.cols = []column{element}
		own := &scope{rels: f.sc.rels, outer: &scope{}} // keeps the reference qualified
		g.beside(f, rel, g.one("", "LATERAL ")+fmt.Sprintf("unnest(%s) AS %s (%s)", own.ref(first, i).sql, rel.alias, element.name))
		return
	}
}

// beside adds to the clause what makes rows of each row before it.
func (g *gen) beside(f *fromClause, rel *relation, sql string) {
	switch {
	case f.comma || g.chance(0.4):
		f.sql += ", " + sql
		f.comma = true
	case g.chance(0.5):
		f.sql += " CROSS JOIN " + sql
	default:
		f.sql += " LEFT JOIN " + sql + " ON true"
	}
	f.sc, f.rows = &scope{rels: append(append([]*relation(nil), f.sc.rels...), rel), outer: f.sc.outer}, rel.rows
}

// join adds a relation to the clause, or leaves it as it is when nothing fits in size.
func (g *gen) join(f *fromClause, limit float64) {
	f.merged = nil // the new relation may have columns of these names too
	right, sql := g.source(limit, true)
	wide := &scope{rels: append(append([]*relation(nil), f.sc.rels...), right), outer: f.sc.outer}
	if f.rows*right.rows <= 400 && g.chance(0.1) {
		g.use("cross join")
		f.sql += " CROSS JOIN " + sql
		f.sc, f.rows = wide, max(1, f.rows*right.rows)
		return
	}
	if len(f.sc.rels) == 1 && g.chance(0.15) && g.mergingJoin(f, wide, sql, limit) {
		return
	}
	on, rows, ok := g.joinCondition(f, right, wide, limit)
	if !ok {
		return
	}
	unequal := strings.Contains(on, " <")
	if right.table && len(right.key) > 0 && !unequal && g.chance(0.08) {
		g.lateral(f, right, sql, on)
		f.rows = max(rows, f.rows)
		return
	}
	kind := g.one("JOIN", "INNER JOIN", "JOIN", "LEFT JOIN", "LEFT OUTER JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", ",")
	if unequal {
		kind = g.one("JOIN", "LEFT JOIN", "RIGHT JOIN")
	}
	if kind != "FULL JOIN" && g.chance(0.15) {
		on += " AND " + g.simplePredicate(ctx{sc: &scope{rels: wide.rels}, plain: true}, 1)
		g.use("join condition beside equality")
	}
	switch { // ON does not see beyond a comma
	case f.comma:
		kind = ","
	case kind == "," && len(f.sc.rels) > 1:
		kind = "JOIN"
	}
	if kind == "," {
		g.use("comma join")
		f.comma = true
		f.sql += ", " + sql
		f.where = append(f.where, on)
	} else {
		g.use(strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(kind, "INNER ", ""), "OUTER ", "")))
		f.sql += fmt.Sprintf(" %s %s ON %s", kind, sql, on)
		rows = max(rows, f.rows)
	}
	f.sc, f.rows = wide, rows
}

// lateral adds the first rows of a table for each row of the clause, or all of them.
func (g *gen) lateral(f *fromClause, right *relation, sql, on string) {
	g.use("lateral")
	own := &scope{rels: []*relation{right}, outer: &scope{}} // keeps every reference qualified
	rel := &relation{alias: g.alias("l"), rows: right.rows}
	var list, order []string
	for range 1 + g.r.IntN(3) {
		i := g.r.IntN(len(right.cols))
		col := right.cols[i]
		col.name = g.alias("c")
		rel.cols = append(rel.cols, col)
		list = append(list, own.ref(right, i).sql+" AS "+col.name)
		if g.chance(0.5) && col.t.canonical() && col.t.orderable() {
			order = append(order, g.one(col.name, fmt.Sprint(len(rel.cols)), own.ref(right, i).sql)+g.direction())
		}
	}
	for _, k := range right.key {
		order = append(order, own.ref(right, k).sql)
	}
	if g.chance(0.4) {
		on += " AND " + g.simplePredicate(ctx{sc: own, plain: true}, 1)
	}
	if g.chance(0.4) {
		list, rel.cols, order = nil, nil, nil
		for range 1 + g.r.IntN(3) {
			e, ok := g.aggregate(ctx{sc: own, grouped: true, plain: true}, []family{famInt, famNum, famStr, famDate, famTS}[g.r.IntN(5)])
			if !ok {
				e = expr{sql: "count(*)", t: intType(Int8, 1000)}
			}
			rel.cols = append(rel.cols, column{name: g.alias("c"), t: e.t, distinct: 4})
			list = append(list, e.sql+" AS "+rel.cols[len(rel.cols)-1].name)
		}
	}
	query := fmt.Sprintf("LATERAL (SELECT %s FROM %s WHERE %s", strings.Join(list, ", "), sql, on)
	if len(order) > 0 && g.chance(0.8) {
		query += fmt.Sprintf(" ORDER BY %s LIMIT %d", strings.Join(order, ", "), 1+g.r.IntN(3))
	}
	query += ") AS " + rel.alias
	switch {
	case f.comma:
		f.sql += ", " + query
	case g.chance(0.4):
		f.sql += " CROSS JOIN " + query
	default:
		f.sql += g.one(" LEFT JOIN ", " JOIN ") + query + " ON true"
	}
	f.sc = &scope{rels: append(append([]*relation(nil), f.sc.rels...), rel), outer: f.sc.outer}
}

// mergingJoin joins the first two relations by all columns that have the same names.
func (g *gen) mergingJoin(f *fromClause, wide *scope, sql string, limit float64) bool {
	left, right := wide.rels[0], wide.rels[1]
	var common []expr
	rows := f.rows * right.rows
	for _, lc := range left.cols {
		at := slices.IndexFunc(right.cols, func(rc column) bool { return rc.name == lc.name })
		if at < 0 {
			continue
		}
		if rc := right.cols[at]; rc.t != lc.t || lc.t.kind.family() == famOther {
			return false
		}
		common = append(common, expr{sql: QuoteIdent(lc.name), t: lc.t})
		rows /= max(lc.distinct, right.cols[at].distinct, 1)
	}
	if len(common) == 0 || rows > limit {
		return false
	}
	kind := g.one("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
	if len(common) > 1 && g.chance(0.3) {
		g.use("natural join")
		f.sql += fmt.Sprintf(" NATURAL %s %s", kind, sql)
	} else {
		g.use("join using")
		names := make([]string, len(common))
		for i, c := range common {
			names[i] = c.sql
		}
		f.sql += fmt.Sprintf(" %s %s USING (%s)", kind, sql, strings.Join(names, ", "))
	}
	f.sc, f.rows, f.merged = wide, max(rows, f.rows, 1), common
	return true
}

// joinCondition equates a column of the clause with one of the new relation, preferably keys.
func (g *gen) joinCondition(f *fromClause, right *relation, wide *scope, limit float64) (string, float64, bool) {
	type pair struct {
		sql    string
		rows   float64
		weight int
	}
	var pairs []pair
	total := 0
	for _, l := range f.sc.rels {
		for i, lc := range l.cols {
			for j, rc := range right.cols {
				lf, rf := lc.t.kind.family(), rc.t.kind.family()
				if lf != rf || lf == famOther || lf == famFloat || lc.t.special || rc.t.special {
					continue
				}
				if !overlap(lc, rc) && !g.chance(0.02) {
					continue
				}
				rows := f.rows * right.rows / max(lc.distinct, rc.distinct, 1)
				if rows > limit {
					continue
				}
				p := pair{sql: fmt.Sprintf("%s = %s", wide.ref(l, i).sql, wide.ref(right, j).sql), rows: max(rows, 1), weight: 1}
				if lc.domain != "" && lc.domain == rc.domain {
					p.weight = 40
				}
				pairs = append(pairs, p)
				total += p.weight
			}
		}
	}
	if total == 0 {
		return "", 0, false
	}
	n := g.r.IntN(total)
	for _, p := range pairs {
		if n -= p.weight; n < 0 {
			if f.rows*right.rows < 20000 && g.chance(0.07) {
				g.use("non-equality join")
				return g.between(p.sql, right), f.rows * right.rows / 2, f.rows*right.rows < limit
			}
			return p.sql, p.rows, true
		}
	}
	return "", 0, false
}

// between makes of an equality with a column of a relation a comparison, or that the value is between this column and another one.
func (g *gen) between(sql string, right *relation) string {
	value, bound, _ := strings.Cut(sql, " = ")
	own := &scope{rels: []*relation{right}, outer: &scope{}}
	for i, c := range right.cols {
		ref := own.ref(right, i).sql
		at := slices.IndexFunc(right.cols, func(o column) bool { return strings.HasSuffix(bound, "."+QuoteIdent(o.name)) })
		if at < 0 || at == i || c.t != right.cols[at].t || c.t.special || g.chance(0.4) {
			continue
		}
		g.use("range join")
		return fmt.Sprintf("%s %s %s AND %s %s %s", value, g.one(">=", ">"), bound, value, g.one("<", "<="), ref)
	}
	if k := right.cols[0].t.kind; len(right.cols) == 1 && (k == Timestamp || k == Timestamptz) {
		g.use("join with the days of a series")
		return fmt.Sprintf("%s >= %s AND %s < %s + interval '%s'", value, bound, value, bound, g.one("1 day", "1 month", "6 hours"))
	}
	return value + " < " + bound
}

// overlap says that two columns have values in common, as far as is known.
func overlap(a, b column) bool {
	if a.domain != "" && a.domain == b.domain {
		return true
	}
	for _, v := range a.pool {
		if slices.Contains(b.pool, v) {
			return true
		}
	}
	return false
}

// source is one FROM item: a table most of the time.
func (g *gen) source(limit float64, derived bool) (*relation, string) {
	if len(g.ctes) > 0 && g.chance(0.6) {
		g.use("cte reference")
		c := g.ctes[g.r.IntN(len(g.ctes))]
		rel := *c
		rel.with = c.alias
		rel.alias = g.alias("r")
		return &rel, c.alias + g.one(" AS ", " ") + rel.alias
	}
	if derived && g.subs > 0 && g.chance(0.13) {
		g.subs--
		g.use("subquery in from")
		return g.derived()
	}
	if g.chance(0.015) {
		return g.values()
	}
	if g.chance(0.015) {
		return g.series()
	}
	return g.tableSource(limit)
}

func (g *gen) derived() (*relation, string) {
	q := g.subquery()
	rel := q.relation(g.alias("s"))
	return rel, fmt.Sprintf("(%s) AS %s", q.sql, rel.alias)
}

func (g *gen) values() (*relation, string) {
	g.use("values")
	alias := g.alias("v")
	rel := &relation{alias: alias, rows: 3, key: []int{0}, cols: []column{
		{name: "n", t: intType(Int4, 10), distinct: 3, domain: "key"}, {name: "s", t: typ{kind: Text}, distinct: 3}}}
	return rel, fmt.Sprintf("(VALUES (1, 'a'), (2, 'alpha'), (3, NULL)) AS %s(n, s)", alias)
}

// series is a generate_series of numbers, or of moments by steps that are equal or not.
func (g *gen) series() (*relation, string) {
	g.use("generate_series")
	alias := g.alias("v")
	col := column{name: "n", t: intType(Int4, 20), distinct: 4, domain: "key"}
	call := g.one("1, 6", "7, -3, -2", "0, 12, 3", "2, 1")
	if g.chance(0.5) {
		kind := []Kind{Timestamp, Timestamptz}[g.r.IntN(2)]
		col.t, col.domain = typ{kind: kind}, ""
		bounds := g.one("'2024-01-31'%[1]s, '2024-06-30'%[1]s, '1 month'", "'2024-03-28'%[1]s, '2024-04-02 12:00'%[1]s, '1 day'",
			"'2024-11-03 04:00'%[1]s, '2024-11-02'%[1]s, '-6 hours'", "date_trunc('week', '2024-05-01'%[1]s), '2024-06-30'%[1]s, '14 days'")
		call = fmt.Sprintf(bounds, "::"+kind.sqlName())
	}
	rel := &relation{alias: alias, rows: 6, key: []int{0}, cols: []column{col}}
	if g.chance(0.3) {
		return rel, fmt.Sprintf("(SELECT generate_series(%s) AS n) AS %s", call, alias)
	}
	return rel, fmt.Sprintf("generate_series(%s) AS %s(n)", call, alias)
}

func (g *gen) tableSource(limit float64) (*relation, string) {
	t := g.w.Tables[g.r.IntN(len(g.w.Tables))]
	for range 3 { // empty and tiny tables are worth a test, not a habit
		if len(t.Rows) > 1 || g.chance(0.04) {
			break
		}
		t = g.w.Tables[g.r.IntN(len(g.w.Tables))]
	}
	for float64(len(t.Rows)) > limit {
		t = g.w.Tables[g.r.IntN(len(g.w.Tables))]
	}
	rel, sql := g.tableRelation(t)
	if g.chance(0.06) {
		g.use("all columns of a table in a subquery")
		rel.table, rel.key = false, nil
		sql = fmt.Sprintf("(SELECT * FROM %s) AS %s", QuoteIdent(t.Name), rel.alias)
	}
	return rel, sql
}

func (g *gen) tableRelation(t *Table) (*relation, string) {
	rel := &relation{alias: t.Name, rows: float64(len(t.Rows)), key: t.Key, table: true}
	for i, c := range t.Columns {
		col := column{name: c.Name, t: c.t, domain: c.domain, pool: t.samples(i)}
		switch {
		case c.domain != "" && !t.isKey(i):
			col.distinct = float64(len(t.Rows))
		case t.isKey(i) && len(t.Key) == 1:
			col.distinct = float64(len(t.Rows))
		case t.isKey(i) && i == t.Key[0]:
			col.distinct = float64(len(t.Rows)) / 4
		case t.isKey(i):
			col.distinct = 4
		default:
			col.distinct = float64(len(c.pool)) / 2
		}
		rel.cols = append(rel.cols, col)
	}
	rel.alias = g.alias("r")
	if g.chance(0.1) {
		g.use("schema-qualified table")
		return rel, fmt.Sprintf("%s.%s AS %s", g.w.Schema, QuoteIdent(t.Name), rel.alias)
	}
	return rel, fmt.Sprintf("%s %s", QuoteIdent(t.Name), rel.alias)
}
