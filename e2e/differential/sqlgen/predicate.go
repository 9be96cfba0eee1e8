package sqlgen

import (
	"fmt"
	"strings"
)

// predicate is a boolean expression without enclosing parentheses.
func (g *gen) predicate(c ctx, depth int) string {
	if depth > 1 {
		switch g.weighted(5, 2, 2, 1) {
		case 1:
			g.use("and")
			return fmt.Sprintf("(%s) AND (%s)", g.predicate(c, depth-1), g.predicate(c, depth-1))
		case 2:
			g.use("or")
			return fmt.Sprintf("(%s) OR (%s)", g.predicate(c, depth-1), g.predicate(c, depth-1))
		case 3:
			g.use("not")
			return fmt.Sprintf("NOT (%s)", g.predicate(c, depth-1))
		}
	}
	if !c.plain && g.subs > 0 && g.chance(0.2) {
		if p, ok := g.subqueryPredicate(c); ok {
			return p
		}
	}
	return g.simplePredicate(c, depth)
}

func (g *gen) simplePredicate(c ctx, depth int) string {
	if g.chance(0.03) {
		if p, ok := g.costly(c); ok {
			return p
		}
	}
	switch g.weighted(14, 3, 3, 4, 4, 3, 2, 1, 3) {
	case 0:
		return g.comparison(c, depth)
	case 1:
		fam := g.comparableFamily(c)
		e := g.expr(c, fam, depth-1)
		g.use("between")
		return fmt.Sprintf("%s %s %s AND %s", e.sql, g.one("BETWEEN", "BETWEEN", "NOT BETWEEN", "BETWEEN SYMMETRIC"),
			g.literal(fam, e.col).sql, g.literal(fam, e.col).sql)
	case 2:
		g.use("is null")
		fam := g.comparableFamily(c)
		if g.chance(0.1) {
			fam = famOther
		}
		e := g.expr(c, fam, depth-1)
		if fam == famOther && e.col == nil {
			return g.comparison(c, depth)
		}
		return fmt.Sprintf("%s IS %sNULL", e.sql, g.one("", "NOT "))
	case 3:
		return g.inList(c, depth)
	case 4:
		return g.like(c, depth)
	case 5:
		fam := g.comparableFamily(c)
		a := g.expr(c, fam, depth-1)
		b := g.operand(c, fam, a, depth)
		g.use("is distinct from")
		return fmt.Sprintf("%s IS %sDISTINCT FROM %s", a.sql, g.one("", "NOT "), b)
	case 6:
		g.use("is true")
		return fmt.Sprintf("(%s) IS %s%s", g.predicate(c, depth-1), g.one("", "NOT "), g.one("TRUE", "FALSE", "UNKNOWN"))
	case 7:
		g.use("row comparison")
		a, b := g.leaf(c, famInt), g.leaf(c, famStr)
		return fmt.Sprintf("(%s, %s) %s (%s, %s)", a.sql, b.sql, g.one("=", "<>", "<", ">="), g.literal(famInt, a.col).sql, g.literal(famStr, b.col).sql)
	default:
		if test, ok := g.documentTest(c); ok {
			return test
		}
		if test, ok := g.arrayTest(c); ok {
			return test
		}
		return g.quantified(c, depth)
	}
}

var comparedFamilies = []family{famInt, famInt, famInt, famInt, famNum, famNum, famNum, famStr, famStr, famStr, famDate, famDate,
	famTS, famBool, famFloat, famTSTZ, famUUID, famTime, famEnum}

// comparableFamily picks a family that has an order and, most likely, a column in sight.
func (g *gen) comparableFamily(c ctx) family { return g.familyOf(c, comparedFamilies) }

func (g *gen) familyOf(c ctx, choice []family) family {
	for range 8 {
		fam := choice[g.r.IntN(len(choice))]
		if c.sc == nil || len(c.sc.find(fam)) > 0 {
			return fam
		}
	}
	return famInt
}

func (g *gen) comparison(c ctx, depth int) string {
	if g.chance(0.04) {
		if d, ok := g.duration(c, depth); ok {
			g.use("comparison of intervals")
			return fmt.Sprintf("%s %s %s", d, g.one("<", ">", "<=", ">=", "<>"), g.interval())
		}
	}
	fam := g.comparableFamily(c)
	a := g.expr(c, fam, depth-1)
	op := g.one("=", "<>", "<", "<=", ">", ">=", "<=", ">=")
	g.use("comparison")
	if g.chance(0.08) {
		if other, ok := mixed[fam]; ok {
			g.use("comparison across types")
			return fmt.Sprintf("%s %s %s", a.sql, op, g.expr(c, other, depth-1).sql)
		}
	}
	if fam == famStr && strings.ContainsAny(op, "<>") && op != "<>" {
		g.use("text ordering")
	}
	return fmt.Sprintf("%s %s %s", a.sql, op, g.operand(c, fam, a, depth))
}

// mixed pairs families that PostgreSQL compares by an implicit cast.
var mixed = map[family]family{famInt: famNum, famNum: famInt, famDate: famTS, famTS: famDate, famFloat: famInt}

// operand is the right side of a comparison with a: a value like a's own, mostly.
func (g *gen) operand(c ctx, fam family, a expr, depth int) string {
	if g.chance(0.65) {
		return g.literal(fam, a.col).sql
	}
	return g.expr(c, fam, depth-1).sql
}

func (g *gen) inList(c ctx, depth int) string {
	fam := g.comparableFamily(c)
	e := g.expr(c, fam, depth-1)
	n := 1 + g.r.IntN(6)
	items := make([]string, n)
	for i := range items {
		if fam == famFloat && g.chance(0.4) {
			items[i] = g.literal([]family{famNum, famInt}[g.r.IntN(2)], nil).sql
			continue
		}
		items[i] = g.literal(fam, e.col).sql
	}
	if g.chance(0.1) {
		g.use("in list with null")
		items = append(items, "NULL")
	}
	g.use("in list")
	return fmt.Sprintf("%s %sIN (%s)", e.sql, g.one("", "", "NOT "), strings.Join(items, ", "))
}
