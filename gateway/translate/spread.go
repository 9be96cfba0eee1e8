package translate

import (
	"fmt"
	"math/big"

	"github.com/freshet-io/freshet/gateway/finish"
)

// spread is what package finish makes of the operands, which are those of a sample or of all there is.
type spread struct {
	finish finish.Spread
	sample bool
}

// spreads are the aggregates of how far values are from their average.
var spreads = map[string]spread{
	"variance": {finish.Variance, true}, "var_samp": {finish.Variance, true}, "var_pop": {finish.Variance, false},
	"stddev": {finish.Deviation, true}, "stddev_samp": {finish.Deviation, true}, "stddev_pop": {finish.Deviation, false},
}

// spread is PostgreSQL's variance or standard deviation of integers and numerics: with N values, their sum S and the sum Q of their
// squares, (N·Q - S²) / (N·(N-1)) for a sample, and (N·Q - S²) / N² for all there is, or its root (numeric_stddev_internal in its
// numeric.c). All but the last step is exact, and that is done by package finish where the value is shown.
func (a aggregation) spread(name string, s spread, x expr, null bool, place func(engineCall, expr) expr) expr {
	if x.oid != oidNumeric && !isInteger(x.oid) || x.opaque {
		fail("%s over this type", name)
	}
	if isInteger(x.oid) {
		x = toNumeric(x)
	}
	if x.dec.display < 0 {
		fail("%s of a numeric that displays differently by row", name)
	}
	n := toNumeric(a.values(x, place))
	sum, squares := a.sum(x, null, place), a.sum(a.q.numericArithmetic("*", x, x), null, place)
	dividend := a.q.numericArithmetic("-", a.q.numericArithmetic("*", n, squares), a.q.numericArithmetic("*", sum, sum))
	divisor := a.q.numericArithmetic("*", n, n)
	if s.sample {
		divisor = a.q.numericArithmetic("*", n, a.q.numericArithmetic("-", n, numericLiteral(number{unscaled: big.NewInt(1)})))
	}
	// The text is a name for it; the engine is asked for its operands, or for what computedSpread makes of them.
	e := with(oidNumeric, name+"("+dividend.sql+", "+divisor.sql+")", dividend, divisor)
	e.null, e.opaque = true, true
	e.ratio = &ratio{sql: e.sql, dividend: dividend, divisor: divisor, spread: s.finish}
	return e
}

// computedSpread has the engine compute all of a variance or standard deviation, where that is not left to package finish.
func (q *query) computedSpread(e expr) expr {
	r := e.quotient()
	if r == nil || r.spread == 0 {
		return e
	}
	divisor := r.divisor
	divisor.sql, divisor.null = "nullIf("+divisor.sql+", 0)", true
	v := q.divide(r.dividend, divisor)
	if r.spread == finish.Deviation {
		v = deviation(v, r.dividend, divisor)
	}
	none := "ifNull(" + r.dividend.sql + " <= 0, 0) AND isNotNull(" + divisor.sql + ")" // PostgreSQL's is a constant then
	v.sql = "if(" + none + ", CAST(0, '" + v.dec.String() + "'), " + v.sql + ")"
	v.dec.displaySQL = "if(" + none + ", toInt32(0), " + v.dec.displaySQL + ")"
	v.ratio, v.fails = nil, e.fails
	return v
}

// deviation is the root of a variance, which is a quotient, rounded half up to its display scale as sqrt_var in PostgreSQL's numeric.c rounds it:
// ⌊√n + 1/2⌋ = ⌊(⌊√4n⌋ + 1) / 2⌋. Newton's method gets it from the root of a float in two steps.
// The engine's planner takes a good part of the query's time for each time that the quotient is written, and for each level of names.
func deviation(variance, dividend, divisor expr) expr {
	l, r, scale := divisible(dividend, divisor)
	power := func(exponent string) string { return "toInt256(concat('1', repeat('0', " + exponent + ")))" }
	step := func(x string) string { return "intDiv(" + x + " + intDiv(n, " + x + "), 2)" }
	// x is ⌊√n⌋ or next to it; p is what the digits beyond the display scale amount to.
	body := fmt.Sprintf("reinterpret(intDiv(x - if(x * x > n, 1, if((x + 1) * (x + 1) <= n, -1, 0)) + 1, 2) * p, 'Decimal(76, %d)')", scale)
	body = bind(body, "x", step("y"))
	body = bind(body, "y", step("if(n > 0, toInt256(sqrt(toFloat64(n))), toInt256(1))"))
	v := "intDiv(reinterpret(tupleElement(w, 1), 'Int256'), p)"
	body = bind(body, "n", "if(throwIf("+lazy("toFloat64("+v+") * toFloat64(t) > 1e74", "0")+", 'freshet guard: digits of a standard deviation') = 0, "+v+" * t * 4, toInt256(0))")
	body = bind(body, "p", power(fmt.Sprintf("%d - tupleElement(w, 2)", scale)), "t", power("tupleElement(w, 2)"))
	body = bind(body, "w", quotientText(l, r, scale))
	d := variance.dec
	d.integer = d.integer/2 + 1
	return numericWith(renulled("CAST("+body+", '"+d.String()+"')", l, r), d, variance)
}
