package translate

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
)

// parsed is a text as a value of another type, which PostgreSQL's cast reads. Only the plain forms are read here: all others are left to
// PostgreSQL, which may refuse them.
func parsed(e expr, oid uint32) (expr, bool) {
	var form, value string
	switch {
	case isInteger(oid):
		form, value = fmt.Sprintf("match(%s, '^-?[0-9]{1,18}$')", e.sql), "toInt64OrZero("+e.orEmpty()+")"
	case oid == oidBool:
		form, value = e.sql+" IN ('true', 'false', 't', 'f', 'yes', 'no', 'y', 'n', 'on', 'off', '1', '0')", e.sql+" IN ('true', 't', 'yes', 'y', 'on', '1')"
	case oid == oidDate:
		form, value = fmt.Sprintf("toString(toDate32OrZero(%s)) = %[1]s AND %[1]s > '1900-01-01'", e.orEmpty()), "toInt32(toDate32OrZero("+e.orEmpty()+"))"
	case oid == oidFloat8: // but for a negative zero
		form = fmt.Sprintf("match(%s, '^-?[0-9]{1,18}([.][0-9]{1,18})?$') AND NOT match(%[1]s, '^-[0.]+$')", e.sql)
		value = "toFloat64OrZero(" + e.orEmpty() + ")"
	default:
		return expr{}, false
	}
	out := with(oid, renulled(guarded(value, "NOT ("+form+")", "text of another form"), e), e)
	if isInteger(oid) && oid != oidInt8 {
		out = checkedInteger(out.sql, oid, e)
	}
	out.fails, out.tame = !e.readsAs(oid), isFloat(oid)
	return out, true
}

var (
	plainInteger = regexp.MustCompile(`^-?[0-9]{1,18}$`)
	plainNumeric = regexp.MustCompile(fmt.Sprintf(`^-?[0-9]{1,%d}([.][0-9]{1,%d})?$`, parsedInteger, parsedScale))
	booleans     = []string{"true", "false", "t", "f", "yes", "no", "y", "n", "on", "off", "1", "0"}
)

// readsAs reports whether a text is a constant that is read here as a value of the type.
func (e expr) readsAs(oid uint32) bool {
	switch {
	case e.isNull():
		return true
	case e.lit == nil || e.lit.text == nil:
		return false
	case isInteger(oid):
		n, ok := new(big.Int).SetString(*e.lit.text, 10)
		return ok && plainInteger.MatchString(*e.lit.text) && n.Cmp(big.NewInt(minOf[oid])) >= 0 && n.Cmp(big.NewInt(maxOf[oid])) <= 0
	case oid == oidBool:
		return slices.Contains(booleans, *e.lit.text)
	}
	return oid == oidNumeric && plainNumeric.MatchString(*e.lit.text)
}

// The digits of a numeric that is read from a text.
const (
	parsedInteger = 18
	parsedScale   = 10
)

// parsedNumeric is a text as a numeric, whose display scale is that of the text.
func parsedNumeric(e expr) expr {
	d := decimal{integer: parsedInteger, scale: parsedScale, display: displayDynamic}
	form := fmt.Sprintf("match(%s, '^-?[0-9]{1,%d}([.][0-9]{1,%d})?$')", e.sql, parsedInteger, parsedScale)
	d.displaySQL = "toInt32(" + fractionDigits(e.sql) + ")"
	// Not NULL for a constant that cannot be read: of two arms that are NULL the engine asks no guard.
	sql := fmt.Sprintf("toDecimal128OrZero(%s, %d)", e.orEmpty(), parsedScale)
	out := numericWith(renulled(guarded("CAST("+sql+", 'Nullable("+d.String()+")')", "NOT "+form, "text of another form"), e), d, e)
	out.fails, out.null = !e.readsAs(oidNumeric), true
	return out
}

// fractionDigits is how many digits the text of a number has after the point.
func fractionDigits(text string) string {
	return fmt.Sprintf("if(position(%[1]s, '.') = 0, 0, length(%[1]s) - position(%[1]s, '.'))", text)
}

// orEmpty is a text that is empty where it is NULL.
func (e expr) orEmpty() string {
	switch {
	case e.isNull():
		return "''"
	case e.null:
		return "ifNull(" + e.sql + ", '')"
	}
	return e.sql
}
