package translate

import "fmt"

// A sum of floats depends on the order of the rows, which PostgreSQL alone knows, unless every sum of some of them is a
// float8: where all are whole numbers, or multiples of a small enough part of one, and not too large together. That is
// so for counts, durations and other integers that were made floats. A guard gives all else to PostgreSQL, mostly with
// the first row.

const (
	// floatParts is how many parts of a whole number are told apart.
	floatParts = 16
	// mostFloatParts bounds the sum of the parts without their signs, half of what a float8 counts: that sum itself is
	// rounded.
	mostFloatParts = exactInteger / 2
)

// parts is a float as a number of parts, guarded.
func (a aggregation) parts(x expr) string {
	if a.distinct {
		fail("DISTINCT in a sum of floats")
	}
	bad := fmt.Sprintf("NOT (abs(x) <= %d AND x * %d = trunc(x * %[2]d))", exactInteger/floatParts, floatParts)
	if !x.tame {
		bad += " OR x = 0 AND 1 / x < 0"
	}
	value := bind(guarded("x", bad, "sum of floats that depends on their order"), "x", "ifNull("+x.sql+", 0)")
	return renulled(fmt.Sprintf("toInt64(%s * %d)", value, floatParts), x)
}

// floatSum is the sum as float8.
func (a aggregation) floatSum(x expr, null bool, place func(engineCall, expr) expr) expr {
	parts := a.parts(x)
	sum := place(a.call("sum", parts), expr{oid: oidInt8, null: null, pad: -1})
	size := place(a.call("sum", "abs(toFloat64("+parts+"))"), expr{oid: oidFloat8, null: null, pad: -1, tame: true})
	e := tame(guarded(fmt.Sprintf("toFloat64(%s) / %d", sum.sql, floatParts), fmt.Sprintf("NOT (%s <= %d)", size.sql, int64(mostFloatParts)), "sum of floats of this size"), sum)
	e.fails = sum.fails
	return e
}

// floatAverage is the sum over the number of values, as float8_avg divides it.
func (a aggregation) floatAverage(x expr, null bool, place func(engineCall, expr) expr) expr {
	sum := a.floatSum(x, null, place)
	count := a.values(x, place)
	e := tame("("+sum.sql+" / toFloat64(greatest("+count.sql+", 1)))", sum)
	e.fails = sum.fails
	return e
}
