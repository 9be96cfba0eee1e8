package sqlgen

import "fmt"

func (g *gen) floatExpr(c ctx, depth int) expr {
	g.use("float expression")
	a := g.leaf(c, famFloat)
	t := typ{kind: Float8, special: a.t.special}
	switch g.r.IntN(9) {
	case 0:
		return expr{sql: g.expr(c, famInt, depth-1).sql + "::float8", t: typ{kind: Float8}}
	case 1:
		n := g.expr(c, famNum, depth-1)
		if n.t.special || n.t.scale == varying {
			return a
		}
		return expr{sql: n.sql + "::float8", t: typ{kind: Float8}}
	case 2:
		return expr{sql: fmt.Sprintf("(%s::float8 %s %s)", a.sql, g.one("+", "-"), g.one("1", "0.5", "100")), t: t}
	case 3:
		g.use("product or quotient of floats")
		t.special = true // 0 * -1 is -0
		return expr{sql: fmt.Sprintf("(%s::float8 %s %s)", a.sql, g.one("*", "/", "+", "-"), g.one("1.5", "-3", "0.1", "NULLIF("+g.leaf(c, famFloat).sql+", 0)")), t: t}
	case 4:
		g.use("function of a float")
		t.special = true // round(-0.1) is -0
		return expr{sql: fmt.Sprintf("%s(%s::float8)", g.one("abs", "round", "floor", "ceil", "ceiling", "trunc", "-"), a.sql), t: t}
	case 5, 6:
		d := g.expr(c, []family{famDate, famTS}[g.r.IntN(2)], depth-1)
		if d.t.wild || isConstant(d.sql) {
			return a
		}
		g.use("date_part")
		return expr{sql: fmt.Sprintf("date_part('%s', %s)", g.one("year", "month", "day", "dow", "quarter", "week", "years", "months", "days", "decade", "century"), d.sql), t: typ{kind: Float8}}
	case 7:
		g.use("sqrt")
		return expr{sql: fmt.Sprintf("sqrt(abs(%s::int8))", g.expr(c, famInt, depth-1).sql), t: typ{kind: Float8}}
	default:
		return a
	}
}

// roundedFloat is a float as an integer.
func (g *gen) roundedFloat(c ctx, depth int) expr {
	g.use("float to integer")
	a := g.expr(c, famInt, depth-1)
	return expr{sql: fmt.Sprintf("(%s::float8 %s)::int8", a.sql, g.one("/ 2", "* 0.25", "+ 0.5")), t: intType(Int8, a.t.max+1)}
}
