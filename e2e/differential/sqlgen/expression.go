package sqlgen

import (
	"fmt"
	"strings"
)

// expr generates an expression of a family, at most depth operators deep.
func (g *gen) expr(c ctx, fam family, depth int) expr {
	if depth <= 0 || g.chance(0.3) {
		return g.leaf(c, fam)
	}
	if fam != famOther && g.chance(0.12) {
		return g.conditional(c, fam, depth)
	}
	if (fam == famInt || fam == famNum) && g.chance(0.1) {
		if e, ok := g.excluding(c, fam); ok {
			return e
		}
	}
	switch fam {
	case famBool:
		return expr{sql: "(" + g.predicate(c, depth) + ")", t: typ{kind: Bool}}
	case famInt:
		return g.intExpr(c, depth)
	case famNum:
		return g.numExpr(c, depth)
	case famFloat:
		return g.floatExpr(c, depth)
	case famStr:
		return g.textExpr(c, depth)
	case famDate:
		return g.dateExpr(c, depth)
	case famTS, famTSTZ:
		return g.timestampExpr(c, fam, depth)
	default:
		if fam == famOther && g.chance(0.5) {
			of := g.duration
			if g.chance(0.3) {
				of = g.rowInterval
			}
			if d, ok := of(c, depth); ok {
				return expr{sql: d, t: typ{kind: Interval}}
			}
		}
		return g.leaf(c, fam)
	}
}

// leaf is a column, a grouping key, an aggregate or a literal.
func (g *gen) leaf(c ctx, fam family) expr {
	if c.grouped {
		var fit []expr
		for _, k := range c.keys {
			if k.t.kind.family() == fam {
				fit = append(fit, k)
			}
		}
		if len(fit) > 0 && g.chance(0.5) {
			return fit[g.r.IntN(len(fit))]
		}
		if e, ok := g.aggregate(c, fam); ok {
			return e
		}
		return g.literal(fam, nil)
	}
	sc := c.sc
	if sc != nil && sc.outer != nil && g.chance(0.15) {
		if found := sc.outer.qualified(fam); len(found) > 0 {
			g.use("correlated expression")
			return found[g.r.IntN(len(found))]
		}
	}
	if sc != nil && !g.chance(0.08) {
		if found := sc.find(fam); len(found) > 0 {
			return found[g.r.IntN(len(found))]
		}
	}
	return g.literal(fam, nil)
}

// conditional is CASE, COALESCE, NULLIF, GREATEST, LEAST or a scalar subquery.
func (g *gen) conditional(c ctx, fam family, depth int) expr {
	arg := func() expr { return g.expr(c, fam, depth-1) }
	switch g.weighted(5, 4, 3, 3, 2) {
	case 0:
		return g.caseExpr(c, fam, depth)
	case 1:
		g.use("coalesce")
		a, b := arg(), arg()
		return expr{sql: fmt.Sprintf("COALESCE(%s, %s)", a.sql, b.sql), t: unify(a.t, b.t)}
	case 2:
		g.use("nullif")
		a, b := arg(), arg()
		switch {
		case g.chance(0.05):
			a = g.literal(fam, nil)
			b = a
		case g.chance(0.05):
			b = a
		}
		switch {
		case fam == famNum && g.chance(0.25):
			a = g.expr(c, famInt, depth-1)
			a.t = typ{kind: Numeric, max: a.t.max}
		case a.t.kind == Bpchar && b.t.kind == Text:
			a.t = typ{kind: Text}
		}
		return expr{sql: fmt.Sprintf("NULLIF(%s, %s)", a.sql, b.sql), t: a.t}
	case 3:
		g.use("greatest/least")
		a, b := arg(), arg()
		return expr{sql: fmt.Sprintf("%s(%s, %s)", g.one("GREATEST", "LEAST"), a.sql, b.sql), t: unify(a.t, b.t)}
	default:
		if e, ok := g.scalarSubquery(c, fam); ok {
			return e
		}
		return arg()
	}
}

func (g *gen) caseExpr(c ctx, fam family, depth int) expr {
	g.use("case")
	var b strings.Builder
	b.WriteString("CASE")
	when := func() string { return g.predicate(c, depth-1) }
	if g.chance(0.25) {
		g.use("case operand")
		operand := g.leaf(c, famInt)
		b.WriteString(" " + operand.sql)
		when = func() string { return g.literal(famInt, operand.col).sql }
	}
	var t typ
	branches := 1 + g.weighted(3, 1)
	for i := range branches {
		e := g.expr(c, fam, depth-2)
		if i == 0 {
			t = e.t
		}
		t = unify(t, e.t)
		fmt.Fprintf(&b, " WHEN %s THEN %s", when(), e.sql)
	}
	if g.chance(0.7) {
		e := g.expr(c, fam, depth-2)
		t = unify(t, e.t)
		fmt.Fprintf(&b, " ELSE %s", e.sql)
	}
	b.WriteString(" END")
	return expr{sql: b.String(), t: t}
}

// unify is the type of a choice between two expressions of one family.
func unify(a, b typ) typ {
	t := a
	if rank(b.kind) > rank(a.kind) {
		t.kind = b.kind
	}
	if a.kind != b.kind && t.kind.family() == famStr {
		t.kind = Text
	}
	if a.scale != b.scale {
		t.scale = varying
	}
	if a.kind != b.kind && (a.kind == Bpchar || b.kind == Bpchar) { // of which PostgreSQL may make a bpchar of any width
		t.kind, t.scale = Bpchar, varying
	}
	t.alike = false
	t.max = max(a.max, b.max)
	t.wild = a.wild || b.wild
	t.special = a.special || b.special
	return t
}

func rank(k Kind) int {
	switch k {
	case Int2, Float4:
		return 1
	case Int4, Float8:
		return 2
	case Int8:
		return 3
	default:
		return 0
	}
}

// intExpr is integer arithmetic that mostly stays within its type.
func (g *gen) intExpr(c ctx, depth int) expr {
	arg := func() expr { return g.expr(c, famInt, depth-1) }
	switch g.weighted(10, 4, 3, 12, 1, 1) {
	case 0:
		a, b := arg(), arg()
		op := g.one("+", "-", "*")
		limit := a.t.max + b.t.max
		if op == "*" {
			limit = a.t.max * b.t.max
		}
		kind := unify(a.t, b.t).kind
		if limit > intLimit[kind] && !g.chance(0.06) {
			if limit < intLimit[Int8] {
				g.use("integer cast")
				return expr{sql: fmt.Sprintf("(%s::int8 %s %s)", a.sql, op, b.sql), t: intType(Int8, limit)}
			}
			return a
		}
		g.use("integer arithmetic")
		return expr{sql: fmt.Sprintf("(%s %s %s)", a.sql, op, b.sql), t: intType(kind, limit)}
	case 1:
		return g.intDivision(c, depth)
	case 2:
		a := arg()
		if a.t.max >= intLimit[a.t.kind] {
			return a
		}
		g.use("abs, sign, minus")
		return expr{sql: g.one("abs(", "(- ", "(+ ") + a.sql + ")", t: a.t}
	case 3:
		return g.convertedInt(c, depth)
	case 4:
		return g.roundedFloat(c, depth)
	default:
		a := arg()
		if a.t.max > 1e6 {
			return a
		}
		if g.chance(0.3) {
			g.use("width_bucket")
			return expr{sql: fmt.Sprintf("width_bucket(%s, %s, %s, 12)", a.sql, g.one("0", "-5", "0.5"), g.one("1000", "77", "-100.5")), t: intType(Int4, 13)}
		}
		g.use("bit operation")
		return expr{sql: fmt.Sprintf("(%s %s %d)", a.sql, g.one("&", "|", "#"), g.r.IntN(64)), t: intType(unify(a.t, intType(Int4, 0)).kind, a.t.max+64)}
	}
}

// convertedInt is an integer made of a value of another family.
func (g *gen) convertedInt(c ctx, depth int) expr {
	arg := func() expr { return g.expr(c, famInt, depth-1) }
	switch g.weighted(2, 3, 3, 2, 2) {
	case 0:
		e := g.expr(c, famStr, depth-1)
		g.use("string length or position")
		return expr{sql: fmt.Sprintf(g.one("length(%s)", "char_length(%s)", "octet_length(%s)", "strpos(%s, 'a')", "position('b' in %s)"), e.sql), t: intType(Int4, 10000)}
	case 1:
		fam := []family{famDate, famTS}[g.r.IntN(2)]
		e := g.expr(c, fam, depth-1)
		if e.t.wild {
			return arg()
		}
		g.use("extract")
		part := g.one("year", "month", "day", "dow", "doy", "quarter", "week", "isoyear", "isodow", "year", "month")
		return expr{sql: fmt.Sprintf("extract(%s from %s)::int", part, e.sql), t: intType(Int4, 10000)}
	case 2:
		if g.chance(0.5) {
			field, ok := g.fieldOfInterval(c, depth)
			if !ok {
				return arg()
			}
			return expr{sql: fmt.Sprintf("(%s * 7)::bigint %% 10000", field), t: intType(Int8, 10000)}
		}
		if g.chance(0.3) {
			if e := g.expr(c, []family{famDate, famTS, famTSTZ}[g.r.IntN(3)], depth-1); !e.t.wild {
				g.use("extract of the epoch")
				return expr{sql: fmt.Sprintf("(extract(epoch from %s)::bigint %% 10000)::int", e.sql), t: intType(Int4, 10000)}
			}
		}
		a, b := g.expr(c, famDate, depth-1), g.expr(c, famDate, depth-1)
		if a.t.wild || b.t.wild {
			return arg()
		}
		g.use("date - date")
		return expr{sql: fmt.Sprintf("(%s - %s)", a.sql, b.sql), t: intType(Int4, 1e6)}
	case 3:
		a := g.expr(c, famNum, depth-1)
		if a.t.max > 2e9 || a.t.special {
			return arg()
		}
		g.use("numeric to integer")
		return expr{sql: fmt.Sprintf("%s::int4", a.sql), t: intType(Int4, a.t.max+1)}
	default:
		e := g.expr(c, famBool, depth-1)
		g.use("boolean to integer")
		return expr{sql: fmt.Sprintf("%s::int4", e.sql), t: intType(Int4, 1)}
	}
}

// intDivision divides by a literal or by a value that is kept from zero most of the time.
func (g *gen) intDivision(c ctx, depth int) expr {
	a := g.expr(c, famInt, depth-1)
	g.use("integer division or modulo")
	op := g.one("/", "%", "/")
	if g.chance(0.6) {
		n := []int{2, 3, 7, -3, 10, 100}[g.r.IntN(6)]
		return expr{sql: fmt.Sprintf("(%s %s %d)", a.sql, op, n), t: intType(unify(a.t, intType(Int4, 0)).kind, max(a.t.max, 100))}
	}
	b := g.leaf(c, famInt)
	kind := unify(a.t, b.t).kind
	if a.t.max >= intLimit[kind] && !g.chance(0.05) {
		return a
	}
	t := intType(kind, max(a.t.max, b.t.max))
	switch {
	case g.chance(0.3):
		g.use("unguarded divisor")
		return expr{sql: fmt.Sprintf("(%s %s %s)", a.sql, op, b.sql), t: t}
	case op == "%" && g.chance(0.5):
		return expr{sql: fmt.Sprintf("mod(%s, NULLIF(%s, 0))", a.sql, b.sql), t: t}
	default:
		t.kind = unify(t, intType(Int4, 0)).kind
		return expr{sql: fmt.Sprintf("(%s %s NULLIF(%s, 0))", a.sql, op, b.sql), t: t}
	}
}

// numExpr is arithmetic on numerics, with the scale that PostgreSQL gives it.
func (g *gen) numExpr(c ctx, depth int) expr {
	arg := func() expr { return g.expr(c, famNum, depth-1) }
	switch g.weighted(12, 4, 5, 3, 3, 1, 2) {
	case 0:
		a := arg()
		var b expr
		if g.chance(0.3) {
			b = g.expr(c, famInt, depth-1)
			b.t = typ{kind: Numeric, max: b.t.max}
		} else {
			b = arg()
		}
		op := g.one("+", "-", "*", "*")
		g.use("numeric arithmetic")
		return expr{sql: fmt.Sprintf("(%s %s %s)", a.sql, op, b.sql), t: arithmetic(op, a.t, b.t)}
	case 1:
		a, b := arg(), arg()
		t := typ{kind: Numeric, scale: varying, max: a.t.max * 1e6, special: a.t.special || b.t.special}
		g.use("numeric division")
		if g.chance(0.5) {
			t.alike = a.t.scale != varying
			return expr{sql: fmt.Sprintf("(%s / %s)", a.sql, g.one("2", "3", "7.5", "100.0", "1.10")), t: t}
		}
		return expr{sql: fmt.Sprintf("(%s / NULLIF(%s, 0))", a.sql, b.sql), t: t}
	case 2:
		a := arg()
		n := g.r.IntN(4)
		g.use("round, trunc")
		return expr{sql: fmt.Sprintf("%s(%s, %d)", g.one("round", "trunc", "round"), a.sql, n),
			t: typ{kind: Numeric, scale: n, max: a.t.max + 1, special: a.t.special}}
	case 3:
		a := arg()
		t := a.t
		t.max++
		f := g.one("abs(%s)", "(- %s)", "ceil(%s)", "floor(%s)", "round(%s)", "sign(%s)", "div(%s, 7)")
		if !strings.HasPrefix(f, "abs") && !strings.HasPrefix(f, "(-") {
			t.scale = 0
		}
		g.use("numeric function")
		return expr{sql: fmt.Sprintf(f, a.sql), t: t}
	case 4:
		a := g.expr(c, famInt, depth-1)
		g.use("integer to numeric")
		return expr{sql: fmt.Sprintf("CAST(%s AS numeric)", a.sql), t: numType(0, a.t.max)}
	case 5:
		a, b := arg(), arg()
		g.use("numeric modulo")
		t := arithmetic("+", a.t, b.t)
		return expr{sql: fmt.Sprintf("(%s %% NULLIF(%s, 0))", a.sql, b.sql), t: t}
	default:
		a := arg()
		scale := g.r.IntN(5)
		if f := g.leaf(c, famFloat); g.chance(0.3) && !f.t.special && f.t.kind == Float8 {
			g.use("float to numeric")
			return expr{sql: fmt.Sprintf("round(%s::numeric, %d)", f.sql, scale), t: numType(scale, 1e15)}
		}
		if a.t.max > 1e14 || a.t.special {
			return a
		}
		g.use("numeric cast")
		return expr{sql: fmt.Sprintf("CAST(%s AS numeric(20,%d))", a.sql, scale), t: numType(scale, a.t.max+1)}
	}
}

func arithmetic(op string, a, b typ) typ {
	t := typ{kind: Numeric, scale: max(a.scale, b.scale), max: a.max + b.max, special: a.special || b.special}
	if op == "*" {
		t.scale, t.max = a.scale+b.scale, a.max*b.max
	}
	if a.scale == varying || b.scale == varying {
		t.scale = varying
	}
	return t
}
