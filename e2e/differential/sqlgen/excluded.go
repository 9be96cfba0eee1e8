package sqlgen

import (
	"fmt"
	"slices"
)

// guardedValue is a value that fails for some rows, which its condition leaves out.
type guardedValue struct {
	rel         *relation
	cond, value string
	t           typ
}

// guardedValue makes one of a relation's columns, or takes one that the query has already: what stands in several places the engine computes once.
func (g *gen) guardedValue(c ctx, fam family) (guardedValue, bool) {
	if c.sc == nil || len(c.sc.rels) == 0 || c.grouped {
		return guardedValue{}, false
	}
	for _, v := range g.guarded {
		if slices.Contains(c.sc.rels, v.rel) && v.t.kind.family() == fam && g.chance(0.7) {
			g.use("guarded value again")
			return v, true
		}
	}
	rel := c.sc.rels[g.r.IntN(len(c.sc.rels))]
	var fit []expr
	for _, e := range (&scope{rels: []*relation{rel}}).qualified(fam) {
		if !e.t.special && e.t.max < 1e10 && (fam != famInt || e.t.max < intLimit[e.t.kind]) {
			fit = append(fit, e)
		}
	}
	if len(fit) == 0 {
		return guardedValue{}, false
	}
	a, b := fit[g.r.IntN(len(fit))], fit[g.r.IntN(len(fit))]
	v := guardedValue{rel: rel, cond: b.sql + g.one(" <> 0", " > 0", " IS NOT NULL AND "+b.sql+" != 0"), value: fmt.Sprintf("(%s / %s)", a.sql, b.sql)}
	switch {
	case g.chance(0.25):
		v.cond, v.value = fmt.Sprintf("abs(%s) < 100", a.sql), fmt.Sprintf("(%s * 300)::int2", a.sql)
		v.t = intType(Int2, 32767)
		if fam == famNum {
			v.value, v.t = fmt.Sprintf("%s::numeric(5,2)", a.sql), numType(2, 101)
		}
	case fam == famNum:
		v.t = typ{kind: Numeric, scale: varying, max: a.t.max * 1e6}
	default:
		if g.chance(0.3) {
			v.value = fmt.Sprintf("(%s %% %s)", a.sql, b.sql)
		}
		v.t = intType(unify(a.t, b.t).kind, max(a.t.max, b.t.max))
	}
	g.use("guarded value")
	g.guarded = append(g.guarded, v)
	return v, true
}

// excluding is a value that is computed for the rows alone for which it does not fail.
func (g *gen) excluding(c ctx, fam family) (expr, bool) {
	v, ok := g.guardedValue(c, fam)
	if !ok {
		return expr{}, false
	}
	form := func() string {
		return g.one("CASE WHEN %[1]s THEN %[2]s END", "CASE WHEN %[1]s THEN %[2]s ELSE 0 END", "CASE WHEN (%[1]s) IS NOT TRUE THEN 1 ELSE %[2]s END",
			"CASE (%[1]s) WHEN true THEN %[2]s END", "COALESCE(CASE WHEN %[1]s THEN NULL ELSE 2 END, %[2]s)",
			"CASE WHEN NOT (%[1]s) THEN -1 WHEN NULL THEN 5 WHEN %[1]s THEN CASE WHEN %[2]s > 3 THEN %[2]s END END")
	}
	sql := fmt.Sprintf(form(), v.cond, v.value)
	if g.chance(0.5) {
		g.use("guarded value again")
		sql = fmt.Sprintf(g.one("COALESCE(%s, %s)", "CASE WHEN %s > 1 THEN %s END", "GREATEST(%s, %s)"), sql, fmt.Sprintf(form(), v.cond, v.value))
	}
	t := v.t
	if fam == famNum {
		t.scale = varying
	} else {
		t.kind = unify(t, intType(Int4, 0)).kind
	}
	return expr{sql: sql, t: t}, true
}

// filtered is an aggregate of such a value over the rows that its FILTER leaves.
func (g *gen) filtered(c ctx, fam family) (expr, bool) {
	v, ok := g.guardedValue(c, fam)
	if !ok || fam == famInt && v.t.kind == Int8 {
		return expr{}, false
	}
	g.use("aggregate filter")
	t := v.t
	t.max *= 3e4
	if fam == famInt {
		t = intType(Int8, t.max)
	}
	return expr{sql: fmt.Sprintf("sum(%s) FILTER (WHERE %s)", v.value, v.cond), t: t}, true
}

// costly is a condition that PostgreSQL asks late, on a value that may be zero, or one that fails for zero.
func (g *gen) costly(c ctx) (string, bool) {
	if c.sc == nil || c.grouped && len(c.keys) == 0 {
		return "", false
	}
	b := g.leaf(c, famInt)
	if isConstant(b.sql) || b.t.max >= intLimit[b.t.kind] {
		return "", false
	}
	if len(c.sc.rels) > 1 || g.chance(0.6) { // of several relations PostgreSQL may not read one where another turns out to be empty, nor may the engine
		g.use("costly condition")
		return fmt.Sprintf("abs(abs(%s)) + 0 <> 0", b.sql), true
	}
	g.use("condition that fails")
	return fmt.Sprintf("10 / %s > %d", b.sql, g.r.IntN(3)-2), true
}
