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
// numeric.c). All but the last step is exact, and that is done by package finish, so the value can only be shown.
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
	// Where it is neither shown nor compared with NULL, PostgreSQL is to compute it.
	e := with(oidNumeric, fmt.Sprintf("if(isNull(%[1]s) OR %[2]s = 0, NULL, toString(throwIf(isNotNull(%[1]s), 'freshet guard: %[3]s in an expression')))",
		dividend.sql, divisor.sql, name), dividend, divisor)
	e.null, e.opaque = true, true
	e.ratio = &ratio{sql: e.sql, dividend: dividend, divisor: divisor, spread: s.finish}
	return e
}
