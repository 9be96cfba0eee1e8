package translate

import (
	"fmt"
	"math"
	"strconv"
)

// Floats are IEEE 754's in both engines: one addition, subtraction, multiplication or division is rounded alike, and so are whole numbers made of
// them. Guards are for what differs: NaN, which PostgreSQL takes for equal to itself and larger than all else; the two zeros, which are equal and
// look different; and results that left the range, which it refuses. Sums depend on the order of the rows: floatsum.go.

// exactInteger is the largest integer up to which all are float8 values.
const exactInteger = 1 << 53

// sortableFloat is the text of a float to order by.
func sortableFloat(e expr) string {
	if e.tame {
		return e.sql
	}
	return guarded(e.sql, "isNaN("+e.sql+")", "NaN")
}

// groupableFloat is the text of a float of which equal values look alike.
func groupableFloat(e expr) string {
	if e.tame {
		return e.sql
	}
	return once(e.sql, func(x string) string {
		return guarded(x, fmt.Sprintf("isNaN(%s) OR %[1]s = 0 AND 1 / %[1]s < 0", x), "NaN or negative zero")
	})
}

// floatArithmetic computes in float8, which PostgreSQL does unless both operands are float4.
func (q *query) floatArithmetic(op string, l, r expr) expr {
	if l.oid == oidFloat4 && r.oid == oidFloat4 {
		fail("arithmetic on reals")
	}
	if l.isNull() || r.isNull() {
		return nullOf(oidFloat8)
	}
	l, r = q.coerce(l, oidFloat8), q.coerce(r, oidFloat8)
	lost := ""
	switch op {
	case "+", "-":
	case "*":
		lost = " OR x = 0 AND a != 0 AND b != 0"
	case "/":
		lost = " OR b = 0 OR x = 0 AND a != 0"
	default:
		fail("floating-point operator")
	}
	e := with(oidFloat8, "", l, r)
	result := guarded("x", "isInfinite(x)"+lost, "floating-point result out of range")
	e.sql, e.fails = bind(bind(result, "x", "a "+op+" b"), "a", l.sql, "b", r.sql), true
	return e
}

// floatFunctions are those of one argument that are exact, with the engine's names for float8.
var floatFunctions = map[string]string{
	"abs": "abs", "floor": "floor", "ceil": "ceil", "ceiling": "ceil", "trunc": "trunc",
	"round": "roundBankers", // to even, as rint()
}

// floatFunction applies one of floatFunctions.
func (q *query) floatFunction(name string, x expr) expr {
	if x.isNull() {
		return nullOf(oidFloat8)
	}
	if name == "abs" && x.oid == oidFloat4 {
		fail("abs of a real")
	}
	x = q.coerce(x, oidFloat8)
	return with(oidFloat8, floatFunctions[name]+"("+x.sql+")", x)
}

// floatToInteger rounds to even.
func (q *query) floatToInteger(e expr, oid uint32) expr {
	limit := map[uint32]string{oidInt2: "32767", oidInt4: "2147483647", oidInt8: "9.2e18"}[oid]
	x := q.coerce(e, oidFloat8)
	out := with(oid, "", x)
	out.sql = once(x.sql, func(x string) string {
		rounded := guarded("roundBankers("+x+")", "NOT (abs(roundBankers("+x+")) <= "+limit+")", "integer out of range")
		return out.engineConversion() + "(" + lazy(rounded, "0") + ")" // which the engine refuses NaN and infinities, too
	})
	out.fails = true
	return out
}

// secondsToTimestamp is to_timestamp() of seconds since 1970. PostgreSQL counts them from 2000 before it rounds (float8_timestamptz).
func (q *query) secondsToTimestamp(e expr) expr {
	const limit = "1e11" // well inside the range of timestamps
	x := q.coerce(e, oidFloat8)
	out := with(oidTimestampTZ, "", x)
	out.fails = !e.isConstantWithin(1e10)
	out.sql = once(x.sql, func(x string) string {
		micros := fmt.Sprintf("roundBankers((%s - %d) * 1000000)", x, microsTo2000/microsPerSecond)
		return fmt.Sprintf("(toInt64(%s) + %d)", lazy(guarded(micros, "NOT (abs("+x+") < "+limit+")", "timestamp out of range"), "0"), int64(microsTo2000))
	})
	return out
}

// isConstantWithin reports whether it is a constant number between limits.
func (e expr) isConstantWithin(limit float64) bool {
	text := ""
	switch {
	case e.lit == nil:
	case e.lit.integer != nil:
		text = e.lit.integer.String()
	case e.lit.numeric != nil:
		text = e.lit.numeric.String()
	case e.lit.text != nil:
		text = trimBlanks(*e.lit.text)
	}
	v, err := strconv.ParseFloat(text, 64)
	return err == nil && math.Abs(v) <= limit
}

// engineConversion is the engine's function that converts to the type, without a check.
func (e expr) engineConversion() string { return "to" + e.engineType() }

// numericToFloat: the engine divides the digits by a power of ten. Where both are float8 values the quotient is the nearest one, as PostgreSQL's is.
func numericToFloat(e expr) expr {
	const powers = 22 // the powers of ten that are float8 values
	if e.lit != nil {
		text := e.lit.numeric.String()
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			fail("constant out of range")
		}
		return floatLiteral(oidFloat8, v, text)
	}
	if e.dec.scale > powers {
		return tame("toFloat64(toString("+e.sql+"))", e) // the engine reads all digits, as PostgreSQL does, and takes longer
	}
	sql := "toFloat64(" + e.sql + ")"
	if e.dec.precision() > exactDigits {
		// The quotient may be the limit itself after rounding, the digits still are no more then.
		sql = once(e.sql, func(x string) string {
			limit := fmt.Sprintf("toFloat64(%d) / 1e%d", int64(exactInteger), e.dec.scale)
			return guarded("toFloat64("+x+")", "NOT (abs(toFloat64("+x+")) < "+limit+")", "numeric beyond the digits of a float")
		})
	}
	return tame(sql, e)
}

// castScale is how many digits after the point a numeric has that is made of a float.
const castScale = 20

// floatToNumeric reads what PostgreSQL writes of a float with the digits that every float of its type holds.
func floatToNumeric(e expr) expr {
	if e.isNull() {
		return nullOf(oidNumeric)
	}
	digits := exactDigits
	if e.oid == oidFloat4 {
		digits = 6
	}
	d := decimal{integer: exactDigits + 1, scale: castScale, display: displayDynamic}
	text := fmt.Sprintf("printf('%%.%dg', toFloat64(%s))", digits, e.sql)
	d.displaySQL = once(text, func(text string) string {
		mantissa := "substringIndex(" + text + ", 'e', 1)"
		exponent := "if(position(" + text + ", 'e-') = 0, 0, -toInt32OrZero(substringIndex(" + text + ", 'e', -1)))"
		none := "position(" + text + ", 'e+') > 0 OR position(" + mantissa + ", '.') = 0" // more digits are before the point than are written
		return "toInt32(" + exponent + " + if(" + none + ", 0, length(" + mantissa + ") - position(" + mantissa + ", '.')))"
	})
	bad := fmt.Sprintf("NOT (abs(%s) < 1e%d) OR %s > %d", e.sql, exactDigits, d.displaySQL, castScale)
	number := fmt.Sprintf("CAST(toDecimal128OrZero(%s, %d), '%s')", expr{sql: text, null: e.null}.orEmpty(), castScale, d)
	return numericWith(renulled(guarded(number, bad, "float of very many digits as a numeric"), e), d, e)
}

// tame is a float8 made of another type, which has neither NaN nor a negative zero.
func tame(sql string, of expr) expr {
	e := with(oidFloat8, sql, of)
	e.tame = true
	return e
}
