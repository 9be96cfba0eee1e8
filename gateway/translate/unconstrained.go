package translate

import (
	"fmt"
	"slices"
)

// The digits of an unconstrained numeric that is computed with: as many as the engine's decimals of 128 bits have. A quotient as PostgreSQL shows it
// has up to 20 after the point.
const (
	unconstrainedInteger = 18
	unconstrainedScale   = 20
)

// readNumeric makes a number of an unconstrained numeric, which the replica has as the text that PostgreSQL shows: without a declared scale each value
// has one of its own. Other values stay as they are. NaN, the infinities and what has more digits are left to PostgreSQL.
func readNumeric(e expr) expr {
	if e.oid != oidNumeric || !e.opaque || e.omitted != "" {
		return e
	}
	if e.isNull() {
		return nullOf(oidNumeric)
	}
	d := decimal{integer: unconstrainedInteger, scale: unconstrainedScale, display: displayDynamic}
	fraction := fractionDigits(e.sql)
	whole := fmt.Sprintf("if(position(%[1]s, '.') = 0, length(%[1]s), position(%[1]s, '.') - 1)", e.sql)
	d.displaySQL = "toInt32(" + fraction + ")"
	value := fmt.Sprintf("toDecimal128OrNull(%s, %d)", e.sql, unconstrainedScale)
	other := fmt.Sprintf("isNull(%s) != isNull(%s) OR %s > %d OR %s > %d", value, e.sql, fraction, unconstrainedScale, whole, unconstrainedInteger)
	out := numericWith(guarded("CAST("+value+", 'Nullable("+d.String()+")')", other, "numeric of many digits, infinite or NaN"), d, e)
	out.null, out.textual = true, true
	return out
}

// readNumerics reads unconstrained numerics among values that are to be of one representation, if there are others.
func readNumerics(all []expr) {
	if !slices.ContainsFunc(all, func(e expr) bool { return !e.opaque && !e.isNull() }) {
		return
	}
	for i := range all {
		all[i] = readNumeric(all[i])
	}
}

// readNumericPair reads the operands of an operator. One beside a float becomes a float, which is made of its text.
func readNumericPair(l, r expr) (expr, expr) {
	if isFloat(l.oid) || isFloat(r.oid) {
		return l, r
	}
	return readNumeric(l), readNumeric(r)
}

// mostFloatText is so short that no number of as many characters is too small for a float.
const mostFloatText = 300

// readFloat makes a float of an unconstrained numeric as PostgreSQL does: it rounds the number that the text shows, once.
func readFloat(e expr) expr {
	requirePresent(e)
	value := "toFloat64OrNull(" + e.sql + ")"
	out := tame(guarded(value, fmt.Sprintf("NOT isFinite(%s) OR length(%s) > %d", value, e.sql, mostFloatText), "numeric that is no plain number"), e)
	out.null, out.textual = true, true
	return out
}
