package sqlgen

import "fmt"

// correlated is the FROM and WHERE of a subquery in an expression that may refer to the outer query.
func (g *gen) correlated(c ctx) (fromClause, string) {
	g.subs--
	outer := c.sc
	if c.grouped || g.chance(0.35) {
		outer = nil
	}
	limit := float64(maxRows)
	if outer != nil {
		rows := 1.0
		for _, r := range outer.rels {
			rows *= max(r.rows, 1)
		}
		limit = max(200, 400000/min(rows, maxRows))
	}
	joins := 0
	if g.chance(0.2) {
		joins = 1
	}
	f := g.from(joins, outer, limit)
	inner := ctx{sc: f.sc, plain: true}
	where := ""
	add := func(p string) {
		if where != "" {
			where += " AND "
		}
		where += p
	}
	for _, p := range f.where {
		add(p)
	}
	if outer != nil {
		if p, ok := g.correlation(f.sc, outer); ok {
			add(p)
		}
		if p, ok := g.correlation(f.sc, outer); ok && g.chance(0.25) {
			g.use("correlation by two conditions")
			add(p)
		}
	}
	if where == "" || g.chance(0.4) {
		add(g.simplePredicate(inner, 1))
	}
	return f, " WHERE " + where
}

// correlation equates (or compares) an inner with an outer column.
func (g *gen) correlation(inner, outer *scope) (string, bool) {
	if flags := inner.qualified(famBool); len(flags) > 0 && g.chance(0.1) {
		g.use("correlation by a condition")
		o := ctx{sc: outer, plain: true}
		return fmt.Sprintf("%s = (%s %s %s)", flags[g.r.IntN(len(flags))].sql, g.comparison(o, 1), g.one("AND", "OR"), g.comparison(o, 1)), true
	}
	for range 6 {
		fam := []family{famInt, famInt, famInt, famStr, famDate, famNum}[g.r.IntN(6)]
		in, out := inner.qualified(fam), outer.qualified(fam)
		if len(in) == 0 || len(out) == 0 {
			continue
		}
		a, b := in[g.r.IntN(len(in))], out[g.r.IntN(len(out))]
		if fam == famInt && (a.col.domain == "") != (b.col.domain == "") {
			continue
		}
		g.use("correlated subquery")
		return fmt.Sprintf("%s %s %s", a.sql, g.one("=", "=", "=", "=", "<", "<>", "IS NOT DISTINCT FROM"), b.sql), true
	}
	return "", false
}

// scalarSubquery is a subquery of at most one row by construction: an aggregate without grouping, or
// a lookup by key.
func (g *gen) scalarSubquery(c ctx, fam family) (expr, bool) {
	if c.plain || g.subs <= 0 || c.sc == nil {
		return expr{}, false
	}
	if !c.grouped && g.chance(0.35) {
		if e, ok := g.lookup(c, fam); ok {
			return e, true
		}
	}
	f, where := g.correlated(c)
	if keys := f.sc.keys(); keys != nil && g.chance(0.2) {
		g.use("scalar subquery of the first row")
		e := g.leaf(ctx{sc: f.sc, plain: true}, fam)
		order := keys[0].sql
		for _, k := range keys[1:] {
			order += ", " + k.sql
		}
		return expr{sql: fmt.Sprintf("(SELECT %s FROM %s%s ORDER BY %s%s LIMIT 1)", e.sql, f.sql, where, order, g.one("", " DESC")), t: e.t}, true
	}
	e, ok := g.aggregate(ctx{sc: f.sc, grouped: true, plain: true}, fam)
	if !ok {
		return expr{}, false
	}
	g.use("scalar subquery")
	return expr{sql: fmt.Sprintf("(SELECT %s FROM %s%s)", e.sql, f.sql, where), t: e.t}, true
}

// lookup finds a row of another table by its key; once in a while by what is none, which may fail.
func (g *gen) lookup(c ctx, fam family) (expr, bool) {
	rel, sql := g.tableSource(maxRows)
	inner := &scope{rels: []*relation{rel}}
	values := inner.qualified(fam)
	if len(rel.key) != 1 || len(values) == 0 {
		return expr{}, false
	}
	key := rel.key[0]
	outer := c.sc.qualified(rel.cols[key].t.kind.family())
	if len(outer) == 0 {
		return expr{}, false
	}
	g.subs--
	g.use("scalar subquery by key")
	g.use("correlated subquery")
	column := rel.alias + "." + QuoteIdent(rel.cols[key].name)
	if candidates := inner.qualified(famInt); len(candidates) > 0 && outer[0].t.kind.family() == famInt && g.chance(0.04) {
		g.use("scalar subquery of several rows")
		column = candidates[g.r.IntN(len(candidates))].sql
	}
	value := values[g.r.IntN(len(values))]
	return expr{sql: fmt.Sprintf("(SELECT %s FROM %s WHERE %s = %s)", value.sql, sql, column, outer[g.r.IntN(len(outer))].sql), t: value.t}, true
}

// subqueryPredicate is EXISTS, IN, ANY, ALL or a comparison with a scalar subquery.
func (g *gen) subqueryPredicate(c ctx) (string, bool) {
	if c.sc == nil {
		return "", false
	}
	fam := []family{famInt, famInt, famStr, famNum, famDate}[g.r.IntN(5)]
	switch g.weighted(5, 5, 2, 3) {
	case 0:
		f, where := g.correlated(c)
		g.use("exists")
		return fmt.Sprintf("%sEXISTS (SELECT %s FROM %s%s)", g.one("", "NOT "), g.one("1", "*", "NULL"), f.sql, where), true
	case 1:
		if g.chance(0.15) {
			return g.rowIn(c), true
		}
		left := g.expr(c, fam, 1)
		f, where := g.correlated(c)
		right := g.leaf(ctx{sc: f.sc, plain: true}, fam)
		op := g.one("IN", "IN", "NOT IN")
		g.use("in subquery")
		if op == "NOT IN" {
			g.use("not in subquery")
		}
		distinct, order := "", ""
		if keys, groups := f.sc.keys(), f.sc.qualified(famInt); keys != nil && len(groups) > 0 && g.chance(0.05) {
			g.use("in distinct on")
			group := groups[g.r.IntN(len(groups))].sql
			distinct, order = fmt.Sprintf("DISTINCT ON (%s) ", group), " ORDER BY "+group
			for _, k := range keys {
				order += ", " + k.sql
			}
		}
		return fmt.Sprintf("%s %s (SELECT %s%s FROM %s%s%s)", left.sql, op, distinct, right.sql, f.sql, where, order), true
	case 2:
		left := g.expr(c, fam, 1)
		f, where := g.correlated(c)
		right := g.leaf(ctx{sc: f.sc, plain: true}, fam)
		g.use("any, all subquery")
		return fmt.Sprintf("%s %s %s (SELECT %s FROM %s%s)", left.sql, g.one("=", "<>", "<", ">", ">=", "<="), g.one("ANY", "ALL", "SOME"), right.sql, f.sql, where), true
	default:
		left := g.leaf(c, fam)
		right, ok := g.scalarSubquery(c, fam)
		if !ok {
			return "", false
		}
		return fmt.Sprintf("%s %s %s", left.sql, g.one("=", "<", ">", "<=", ">=", "<>"), right.sql), true
	}
}

// extremeOfWith compares a column of a common table expression with an aggregate over all its rows.
func (g *gen) extremeOfWith(sc *scope) (string, bool) {
	for _, rel := range sc.rels {
		if rel.with == "" {
			continue
		}
		i := g.r.IntN(len(rel.cols))
		c := rel.cols[i]
		f := c.t.kind.family()
		if f != famInt && f != famNum && f != famDate && f != famTS || !c.t.canonical() {
			return "", false
		}
		g.use("aggregate over a cte that is joined")
		x := g.alias("x")
		aggregate := g.one("max", "min", "max")
		if f == famNum || f == famInt {
			aggregate = g.one("max", "min", "max", "avg", "sum")
		}
		return fmt.Sprintf("%s %s (SELECT %s(%s.%s) FROM %s %s)", sc.ref(rel, i).sql, g.one("=", "<", "<>", ">=", "="),
			aggregate, x, QuoteIdent(c.name), rel.with, x), true
	}
	return "", false
}

// rowIn is a row that may be among those of a subquery.
func (g *gen) rowIn(c ctx) string {
	var left, right []string
	f, where := g.correlated(c)
	for range 2 {
		fam := []family{famInt, famInt, famStr, famDate}[g.r.IntN(4)]
		left = append(left, g.leaf(c, fam).sql)
		right = append(right, g.leaf(ctx{sc: f.sc, plain: true}, fam).sql)
	}
	g.use("row in subquery")
	return fmt.Sprintf("(%s, %s) %s (SELECT %s, %s FROM %s%s)", left[0], left[1], g.one("IN", "IN", "NOT IN"), right[0], right[1], f.sql, where)
}

// arraySubquery is the array of what a subquery yields, in an order that leaves none open.
func (g *gen) arraySubquery(c ctx) (expr, bool) {
	if c.plain || g.subs <= 0 || c.sc == nil {
		return expr{}, false
	}
	f, where := g.correlated(c)
	fam := []family{famInt, famStr}[g.r.IntN(2)]
	found := f.sc.qualified(fam)
	if len(found) == 0 {
		return expr{}, false
	}
	value := found[g.r.IntN(len(found))].sql + map[family]string{famInt: "::int4", famStr: "::text"}[fam]
	g.use("array subquery")
	t := typ{kind: map[family]Kind{famInt: IntArray, famStr: TextArray}[fam]}
	return expr{sql: fmt.Sprintf("ARRAY(SELECT %s%s FROM %s%s ORDER BY %s%s)", g.one("", "", "DISTINCT "), value, f.sql, where, value, g.one("", " DESC")), t: t}, true
}
