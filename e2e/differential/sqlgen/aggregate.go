package sqlgen

import (
	"fmt"
	"strings"
)

// aggregate is an aggregate function call whose result is of a family; its argument reads this
// level's own relations only.
func (g *gen) aggregate(c ctx, fam family) (expr, bool) {
	if c.sc == nil || len(c.sc.rels) == 0 {
		return expr{}, false
	}
	inner := ctx{sc: &scope{rels: c.sc.rels}, plain: true}
	if c.sc.outer != nil { // keeps every reference qualified
		inner.sc.outer = &scope{}
	}
	var e expr
	var ok bool
	switch fam {
	case famInt:
		e, ok = g.intAggregate(inner)
	case famNum:
		e, ok = g.numAggregate(inner)
	case famBool:
		g.use("bool_and, bool_or")
		e, ok = expr{sql: fmt.Sprintf("%s(%s)", g.one("bool_and", "bool_or", "every"), g.predicate(inner, 1)), t: typ{kind: Bool}}, true
	case famStr:
		if g.chance(0.12) {
			e, ok = g.stringAgg(inner)
			break
		}
		fallthrough
	case famDate, famTS, famTSTZ, famFloat, famTime, famEnum, famOther:
		if fam == famOther && g.chance(0.7) {
			e, ok = g.durationAggregate(inner)
			break
		}
		if fam == famFloat && g.chance(0.4) {
			g.use("sum of floats")
			n := g.expr(inner, famInt, 1)
			e, ok = expr{sql: fmt.Sprintf("%s(%s::float8%s)", g.one("sum", "sum", "avg"), n.sql, g.one("", " / 16", " * 0.25", " / 3")), t: typ{kind: Float8}}, true
			break
		}
		if g.chance(0.2) {
			e, ok = g.percentile(inner, fam)
			break
		}
		e, ok = g.extreme(inner, fam)
	default:
		return expr{}, false
	}
	if ok && g.chance(0.1) && !strings.HasPrefix(e.sql, "(") && !strings.Contains(e.sql, "FILTER (WHERE") {
		g.use("aggregate filter")
		e.sql = fmt.Sprintf("%s FILTER (WHERE %s)", e.sql, g.predicate(inner, 1))
	}
	return e, ok
}

// stringAgg joins strings in an order that leaves none open.
func (g *gen) stringAgg(c ctx) (expr, bool) {
	a := g.expr(c, famStr, 1)
	g.use("string_agg")
	value, direction := a.sql+"::text", g.one("", " DESC")
	by := value + direction + g.one("", "", " NULLS FIRST")
	distinct := g.one("", "", "DISTINCT ")
	if distinct == "" && g.chance(0.4) {
		by = g.expr(c, []family{famInt, famNum, famDate}[g.r.IntN(3)], 1).sql + direction + g.one("", " NULLS LAST", " NULLS FIRST") + ", " + by
	}
	if g.chance(0.25) {
		g.use("json_agg")
		return expr{sql: fmt.Sprintf("%s(%s%s ORDER BY %s)::text", g.one("json_agg", "jsonb_agg"), distinct, value, by), t: typ{kind: Text}}, !isConstant(a.sql)
	}
	return expr{sql: fmt.Sprintf("string_agg(%s%s, %s ORDER BY %s)", distinct, value, g.one("','", "', '", "''"), by), t: typ{kind: Text}}, !isConstant(a.sql)
}

// percentile picks a value, or interpolates two for one of type float8.
func (g *gen) percentile(c ctx, fam family) (expr, bool) {
	name, of := "percentile_disc", fam
	if fam == famFloat {
		name, of = "percentile_cont", []family{famInt, famNum, famFloat}[g.r.IntN(3)]
	}
	a := g.expr(c, of, 1)
	if !a.t.canonical() || isConstant(a.sql) || a.t.kind == Bytea || a.t.kind == UUID {
		return expr{}, false
	}
	g.use(name)
	t := a.t
	if fam == famFloat {
		t = typ{kind: Float8}
	}
	if fam != famFloat && g.chance(0.3) {
		g.use("mode")
		return expr{sql: fmt.Sprintf("mode() WITHIN GROUP (ORDER BY %s%s)", a.sql, g.one("", " DESC")), t: t}, true
	}
	return expr{sql: fmt.Sprintf("%s(%s) WITHIN GROUP (ORDER BY %s%s)", name, g.one("0", "0.25", "0.5", "0.5", "0.9", "1"), a.sql, g.one("", "", " DESC")), t: t}, true
}

// extreme is min or max.
func (g *gen) extreme(c ctx, fam family) (expr, bool) {
	a := g.expr(c, fam, 1)
	min := a.t.kind == Float4 || a.t.kind == Float8 // equal floats print alike unless one is -0
	if !a.t.canonical() && (!min || a.t.special) || a.t.kind == Bytea || a.t.kind == Bool || a.t.kind == UUID {
		return expr{}, false
	}
	g.use("min, max")
	return expr{sql: fmt.Sprintf("%s(%s)", g.one("min", "max"), a.sql), t: a.t}, true
}

func (g *gen) intAggregate(c ctx) (expr, bool) {
	count := intType(Int8, 1e5)
	switch g.weighted(5, 3, 2, 4, 3, 2, 1, 2) {
	case 0:
		g.use("count(*)")
		return expr{sql: "count(*)", t: count}, true
	case 1:
		g.use("count")
		return expr{sql: fmt.Sprintf("count(%s)", g.expr(c, g.comparableFamily(c), 1).sql), t: count}, true
	case 2:
		a := g.expr(c, g.comparableFamily(c), 1)
		if !a.t.canonical() {
			return expr{}, false
		}
		g.use("count distinct")
		return expr{sql: fmt.Sprintf("count(DISTINCT %s)", a.sql), t: count}, true
	case 3:
		a := g.expr(c, famInt, 1)
		if a.t.kind == Int8 {
			return expr{}, false
		}
		g.use("sum of integers")
		return expr{sql: fmt.Sprintf("sum(%s%s)", g.distinct(), a.sql), t: intType(Int8, a.t.max*3e4)}, true
	case 4:
		a := g.expr(c, famInt, 1)
		g.use("bit_and, bit_or, bit_xor")
		return expr{sql: fmt.Sprintf("%s(%s)", g.one("bit_and", "bit_or", "bit_xor"), a.sql), t: intType(a.t.kind, intLimit[a.t.kind])}, true
	case 5:
		a, b := g.expr(c, g.comparableFamily(c), 1), g.expr(c, g.comparableFamily(c), 1)
		if !a.t.canonical() || !b.t.canonical() {
			return expr{}, false
		}
		g.use("count distinct rows")
		return expr{sql: fmt.Sprintf(g.one("count(DISTINCT (%s, %s))", "count(DISTINCT ROW(%s, %s))", "count(DISTINCT (%[2]s, %[1]s, %[2]s))", "count(DISTINCT ROW(%[1]s))"), a.sql, b.sql), t: count}, true
	case 6:
		return g.filtered(c, famInt)
	default:
		return g.extreme(c, famInt)
	}
}

func (g *gen) distinct() string {
	if g.chance(0.06) {
		g.use("sum or avg distinct")
		return "DISTINCT "
	}
	return ""
}

func (g *gen) numAggregate(c ctx) (expr, bool) {
	switch g.weighted(6, 3, 2, 3, 1, 1, 1, 2) {
	case 0:
		a := g.expr(c, famNum, 2)
		g.use("sum of numerics")
		t := a.t
		t.max, t.alike = t.max*3e4, false
		return expr{sql: fmt.Sprintf("sum(%s)", a.sql), t: t}, true
	case 1:
		a := g.expr(c, famNum, 1)
		g.use("avg of numerics")
		return expr{sql: fmt.Sprintf("avg(%s%s)", g.distinct(), a.sql), t: typ{kind: Numeric, scale: varying, max: a.t.max, special: a.t.special}}, true
	case 2:
		a := g.expr(c, famInt, 1)
		g.use("avg of integers")
		return expr{sql: fmt.Sprintf("avg(%s)", a.sql), t: typ{kind: Numeric, scale: varying, max: a.t.max}}, true
	case 3:
		return g.extreme(c, famNum)
	case 4:
		a := g.expr(c, []family{famInt, famNum}[g.r.IntN(2)], 1)
		if a.t.max > 1e12 || a.t.special {
			return expr{}, false
		}
		g.use("variance, stddev")
		return expr{sql: fmt.Sprintf("%s(%s)", g.one("variance", "stddev", "var_pop", "stddev_pop"), a.sql), t: typ{kind: Numeric, scale: varying, max: a.t.max * a.t.max}}, true
	case 5:
		return g.percentile(c, famNum)
	case 6:
		return g.filtered(c, famNum)
	default:
		a := g.expr(c, famInt, 1)
		g.use("sum of integers")
		return expr{sql: fmt.Sprintf("sum(%s::int8)", a.sql), t: numType(0, a.t.max*3e4)}, true
	}
}

func (g *gen) direction() string {
	return g.one("", "", " ASC", " DESC", " DESC NULLS LAST", " NULLS FIRST")
}

// isConstant says that an expression may not stand alone in GROUP BY or ORDER BY: a bare literal
// there is an error or names a column by its position.
func isConstant(sql string) bool {
	return sql == "" || sql[0] == '\'' || sql[0] == '$' || sql[0] == '-' || sql[0] >= '0' && sql[0] <= '9' ||
		strings.HasPrefix(sql, "(-") || strings.HasPrefix(sql, "NULL") || sql == "true" || sql == "false"
}
