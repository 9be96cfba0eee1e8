package translate

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

func (q *query) numericArithmetic(op string, l, r expr) expr {
	if l.isNull() || r.isNull() {
		return nullOf(oidNumeric)
	}
	if l.lit != nil && r.lit != nil {
		if e, ok := foldNumeric(op, *l.lit.numeric, *r.lit.numeric); ok {
			return e
		}
	}
	switch op {
	case "+", "-":
		l, r = roomToAdd(l, r)
		d := decimal{integer: max(l.dec.integer, r.dec.integer) + 1, scale: max(l.dec.scale, r.dec.scale)}
		d.setDisplay(l, r, "greatest(%s, %s)", func(a, b int) int { return max(a, b) })
		return numericWith("("+l.scaled(d)+" "+op+" "+r.scaled(d)+")", d, l, r)
	case "*":
		l, r = roomToMultiply(l, r)
		d := decimal{integer: l.dec.integer + r.dec.integer, scale: l.dec.scale + r.dec.scale}
		d.setDisplay(l, r, "(%s + %s)", func(a, b int) int { return a + b })
		width := decimal{integer: d.precision() - l.dec.scale, scale: l.dec.scale}
		return numericWith("("+l.scaled(width)+" * "+r.sql+")", d, l, r)
	case "/":
		return q.divide(l, r)
	case "%":
		d := decimal{integer: max(l.dec.integer, r.dec.integer), scale: max(l.dec.scale, r.dec.scale)}
		d.setDisplay(l, r, "greatest(%s, %s)", func(a, b int) int { return max(a, b) })
		return q.remainder(l, r, d)
	}
	fail("numeric operator")
	return expr{}
}

// foldNumeric computes with two constants.
func foldNumeric(op string, a, b number) (expr, bool) {
	scale := max(a.scale, b.scale)
	x, y := a.rescale(scale).unscaled, b.rescale(scale).unscaled
	switch op {
	case "+":
		return numericLiteral(number{new(big.Int).Add(x, y), scale}), true
	case "-":
		return numericLiteral(number{new(big.Int).Sub(x, y), scale}), true
	case "*":
		return numericLiteral(number{new(big.Int).Mul(a.unscaled, b.unscaled), a.scale + b.scale}), true
	}
	return expr{}, false
}

// setDisplay combines the operands' display scales.
func (d *decimal) setDisplay(l, r expr, sql string, f func(a, b int) int) {
	a, b := l.dec.display, r.dec.display
	switch {
	case a == displayUnknown || b == displayUnknown:
		d.display = displayUnknown
	case a >= 0 && b >= 0:
		d.display = f(a, b)
	default:
		d.display = displayDynamic
		d.displaySQL = renulled(fmt.Sprintf(sql, displayOperand(l), displayOperand(r)), l, r)
	}
}

func displayOperand(e expr) string {
	if e.dec.display >= 0 {
		return fmt.Sprintf("toInt32(%d)", e.dec.display)
	}
	return e.dec.displaySQL
}

// orElse is a numeric's text with a constant in place of NULL; the result must be made NULL again by renulled.
func (e expr) orElse(constant int) string {
	if e.null {
		return fmt.Sprintf("ifNull(%s, CAST(%d, '%s'))", e.sql, constant, decimal{integer: max(1, e.dec.integer), scale: e.dec.scale})
	}
	return e.sql
}

// renulled makes a computed value NULL where an operand is. Where others may fail they are computed all the same, as PostgreSQL does before it looks for NULLs.
func renulled(sql string, operands ...expr) string {
	fails := func(e expr) bool { return e.fails }
	null := func(e expr) bool { return e.null }
	if len(operands) > 1 && slices.ContainsFunc(operands, fails) && slices.ContainsFunc(operands, null) {
		return eagerly(sql, operands...)
	}
	for _, o := range operands {
		if o.null {
			sql = "if(isNull(" + o.sql + "), NULL, " + sql + ")"
		}
	}
	return sql
}

// eagerly makes a value NULL where an operand is, and computes the operands for all rows: the engine computes the terms of a sum, but not those of an OR, before
// it knows whether they matter.
func eagerly(sql string, operands ...expr) string {
	var terms []string
	for _, o := range operands {
		if o.null || o.fails {
			terms = append(terms, "isNull("+o.computed()+")")
		}
	}
	return "if(" + strings.Join(terms, " + ") + " > 0, NULL, " + sql + ")"
}

// thatFail are those of some values that may fail.
func thatFail(all ...expr) []expr {
	return slices.DeleteFunc(all, func(e expr) bool { return !e.fails })
}

// bind computes values once and names them in body. Nested bindings may reuse names.
func bind(body string, pairs ...string) string {
	var names, values []string
	for i := 0; i < len(pairs); i += 2 {
		names = append(names, pairs[i])
		values = append(values, "["+pairs[i+1]+"]")
	}
	return "arrayMap((" + strings.Join(names, ", ") + ") -> " + body + ", " + strings.Join(values, ", ") + ")[1]"
}

func (q *query) remainder(l, r expr, d decimal) expr {
	wide := decimal{integer: maxPrecision - d.scale, scale: d.scale}
	if l.dec.integer+d.scale > maxPrecision || r.dec.integer+d.scale > maxPrecision {
		fail("numeric of more than %d digits", maxPrecision)
	}
	divisor := unscaled(r.orElse(1), d.scale)
	if r.mayBeZero() {
		divisor = lazy(divisor, "toInt256(1)")
	}
	sql := fmt.Sprintf("reinterpret(modulo(%s, %s), '%s')", unscaled(l.orElse(0), d.scale), divisor, wide)
	e := numericWith(renulled("CAST("+sql+", '"+d.String()+"')", l, r), d, l, r)
	e.fails = e.fails || r.mayBeZero()
	return e
}

// quotientScale is the number of digits after the point that quotients are kept with. PostgreSQL's quotients
// have at least 16 significant digits; one that needs more room than this is guarded.
const quotientScale = 40

// divide computes PostgreSQL's quotient: rounded, half away from zero, to a display scale
// that select_div_scale of its numeric.c derives from the operands' leading digits: the operands are
// seen as base-10000 digits aligned at the point.
func (q *query) divide(l, r expr) expr {
	l, r, scale := divisible(l, r)
	both := quotientText(l, r, scale)
	d := decimal{integer: min(l.dec.integer+r.dec.scale+1, maxPrecision-scale), scale: scale, display: displayDynamic}
	d.displaySQL = renulled("tupleElement("+both+", 2)", l, r)
	e := numericWith(renulled("CAST(tupleElement("+both+", 1), '"+d.String()+"')", l, r), d, l, r)
	e.fails = e.fails || r.mayBeZero()
	e.ratio = &ratio{sql: e.sql, dividend: l, divisor: r}
	return e
}

// divisible returns the operands of a division as it takes them, and how many digits the quotient has after the point.
func divisible(l, r expr) (dividend, divisor expr, scale int) {
	if l.dec.display == displayUnknown || r.dec.display == displayUnknown {
		fail("division of a numeric whose display scale is not known")
	}
	if r.isZero() {
		fail("division by zero")
	}
	l, r = roomToDivide(l, r)
	scale = quotientRoom(l, r)
	if scale < leastQuotientScale || scale < max(l.dec.scale, r.dec.scale) {
		fail("division of numerics of so many digits")
	}
	return l, r, scale
}

func boundDisplay(e expr) string {
	if e.dec.display >= 0 {
		return fmt.Sprintf("toInt32(%d)", e.dec.display)
	}
	return "ifNull(" + e.dec.displaySQL + ", toInt32(0))"
}

// unscaled is a numeric's integer with as many digits after the point.
func unscaled(sql string, scale int) string {
	wide := decimal{integer: maxPrecision - scale, scale: scale}
	return "reinterpret(CAST(" + sql + ", '" + wide.String() + "'), 'Int256')"
}
