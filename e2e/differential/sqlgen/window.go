package sqlgen

import (
	"fmt"
	"strings"
)

// window is a window function call over the rows of the scope.
func (g *gen) window(c ctx) (expr, bool) {
	inner := ctx{sc: c.sc, plain: true, grouped: c.grouped, keys: c.keys}
	keys := c.keys
	if !c.grouped {
		keys = c.sc.keys()
	}
	total := keys != nil
	spec := ""
	if g.chance(0.6) {
		p := g.leaf(inner, []family{famInt, famStr, famBool, famDate}[g.r.IntN(4)])
		if p.t.canonical() && !isConstant(p.sql) {
			spec = "PARTITION BY " + p.sql + " "
		}
	}
	o := g.leaf(inner, g.comparableFamily(inner))
	var order []string
	if !isConstant(o.sql) && g.chance(0.8) {
		order = append(order, o.sql+g.direction())
	}
	loose := strings.Join(order, ", ")
	for _, k := range keys {
		order = append(order, k.sql+g.direction())
	}
	strict := strings.Join(order, ", ")
	peers := spec
	if loose != "" {
		peers += "ORDER BY " + loose
	}
	g.use("window function")
	if total && strict != "" && g.chance(0.5) {
		return g.positional(inner, spec+"ORDER BY "+strict)
	}
	if loose != "" && g.chance(0.45) {
		g.use("rank")
		f := g.one("rank()", "dense_rank()", "rank()", "percent_rank()", "cume_dist()")
		t := intType(Int8, 1e5)
		if strings.Contains(f, "t_rank") || strings.Contains(f, "cume") {
			t = typ{kind: Float8}
		}
		return expr{sql: fmt.Sprintf("%s OVER (%s%s)", f, peers, g.unheeded()), t: t}, true
	}
	if c.grouped {
		return g.ofAggregates(inner, peers)
	}
	e, ok := g.aggregate(inner, []family{famInt, famNum, famDate}[g.weighted(3, 3, 1)])
	if !ok || strings.Contains(e.sql, "DISTINCT") || strings.Contains(e.sql, "ORDER BY") {
		return expr{}, false
	}
	if loose != "" && g.chance(0.4) {
		peers += g.rangeFrame(o.t)
	}
	g.use("aggregate over window")
	return expr{sql: fmt.Sprintf("%s OVER (%s)", e.sql, peers), t: e.t}, true
}

// positional is a window function that needs a total order.
func (g *gen) positional(c ctx, spec string) (expr, bool) {
	a := g.leaf(c, g.comparableFamily(c))
	if c.grouped && strings.Contains(a.sql, "DISTINCT") {
		return expr{}, false
	}
	count := intType(Int8, 1e5)
	switch g.weighted(5, 2, 4, 2, 2) {
	case 0:
		g.use("row_number")
		return expr{sql: fmt.Sprintf("row_number() OVER (%s%s)", spec, g.unheeded()), t: count}, true
	case 1:
		g.use("ntile")
		return expr{sql: fmt.Sprintf("ntile(3) OVER (%s)", spec), t: intType(Int4, 3)}, true
	case 2:
		g.use("lag, lead")
		if b := g.leaf(c, a.t.kind.family()); a.t == b.t && !isConstant(a.sql) && g.chance(0.4) {
			return expr{sql: fmt.Sprintf("%s(%s, %d, %s) OVER (%s%s)", g.one("lag", "lead"), a.sql, g.r.IntN(4), b.sql, spec, g.unheeded()), t: a.t}, true
		}
		return expr{sql: fmt.Sprintf("%s OVER (%s)", fmt.Sprintf(g.one("lag(%s)", "lead(%s)", "lag(%s, 2)"), a.sql), spec), t: a.t}, true
	case 3:
		g.use("first_value, last_value, nth_value")
		frame := g.one("", "", " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", " ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING")
		return expr{sql: fmt.Sprintf("%s OVER (%s%s)", fmt.Sprintf(g.one("first_value(%s)", "last_value(%s)", "nth_value(%s, 2)", "nth_value(%s, 1)", "nth_value(%s, 3)"), a.sql), spec, frame), t: a.t}, true
	default:
		g.use("rows frame")
		e, ok := g.aggregate(ctx{sc: c.sc, plain: true}, []family{famInt, famNum}[g.r.IntN(2)])
		if !ok || c.grouped || strings.Contains(e.sql, "DISTINCT") {
			return expr{}, false
		}
		frame := g.one("ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", "ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING", "ROWS UNBOUNDED PRECEDING")
		return expr{sql: fmt.Sprintf("%s OVER (%s %s)", e.sql, spec, frame), t: e.t}, true
	}
}

// unheeded is a frame for a function that does not heed it, or none.
func (g *gen) unheeded() string {
	if g.chance(0.75) {
		return ""
	}
	return g.one(" ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING", " ROWS CURRENT ROW", " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING")
}

// rangeFrame is a frame by the distance from the current row in what the rows are ordered by; empty: it is no type for that.
func (g *gen) rangeFrame(t typ) string {
	var near, far string
	switch t.kind {
	case Int2, Int4, Int8:
		near, far = g.one("0", "1", "2"), g.one("3", "100", "20000")
	case Date, Timestamp, Timestamptz:
		near, far = g.one("'1 hour'", "'0'", "interval '90 minutes'"), g.one("interval '30 hours'", "'700:00:00'")
		if t.kind != Timestamptz && g.chance(0.5) {
			near, far = g.one("'1 day'", "'2 days 03:00'"), g.one("interval '1 week'", "'400 days'")
		}
	default:
		return ""
	}
	g.use("range frame")
	return " RANGE BETWEEN " + g.one(near+" PRECEDING AND "+far+" FOLLOWING", far+" PRECEDING AND CURRENT ROW", "UNBOUNDED PRECEDING AND "+near+" FOLLOWING",
		near+" FOLLOWING AND "+far+" FOLLOWING", far+" PRECEDING AND "+near+" PRECEDING", near+" PRECEDING AND UNBOUNDED FOLLOWING")
}

// ofAggregates is an aggregate over a window of groups.
func (g *gen) ofAggregates(c ctx, spec string) (expr, bool) {
	e, ok := g.aggregate(c, famInt)
	if !ok || e.t.max > 1e9 {
		return expr{}, false
	}
	g.use("aggregate of aggregates over window")
	name := g.one("sum", "max", "min", "count", "avg")
	t := e.t
	switch {
	case name == "count":
		t = intType(Int8, 1e5)
	case name == "avg":
		t = typ{kind: Numeric, scale: varying, max: t.max}
	case name == "sum" && t.kind == Int8:
		t = numType(0, t.max*3e4)
	case name == "sum":
		t = intType(Int8, t.max*3e4)
	}
	return expr{sql: fmt.Sprintf("%s(%s) OVER (%s)", name, e.sql, spec), t: t}, true
}
