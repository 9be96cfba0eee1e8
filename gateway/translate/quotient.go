package translate

import (
	"fmt"
	"math/big"
)

// quotientText writes the quotient of two numerics with a number of digits after the point, and the display scale to which it is
// rounded, as a tuple. Each level of names costs the engine an array for every row, and its planner as much as a thousand characters: only
// what is used often is named. The engine computes once what is written twice.
func quotientText(l, r expr, scale int) string {
	form := wideQuotient
	if quotientFits(l, r) {
		form = shortQuotient
	}
	a, b := form.operand("abs(a)", l.dec), form.operand("abs(b)", r.dec)
	weight := fmt.Sprintf("if(a = 0, 0, %s)", a.weight())
	// d is the display scale.
	d := fmt.Sprintf("toInt32(greatest(16 - 4 * (%s - %s - (%s <= %s)), j, k) + throwIf(b = 0, 'freshet guard: division by zero'))",
		weight, b.weight(), a.leading(), b.leading())
	p := powerText("Int256", scale, fmt.Sprintf("%d - d + throwIf(d > %d, 'freshet guard: scale of a quotient')", scale, scale))
	body := fmt.Sprintf("(reinterpret(%s * %s * if((a < 0) != (b < 0), -1, 1), 'Decimal(76, %d)'), d)", form.absolute(l.dec.scale, r.dec.scale, scale, p), p, scale)
	body = bind(body, "d", d)
	divisor := form.unscaled(r.orElse(1), r.dec.scale)
	if r.mayBeZero() {
		divisor = lazy(divisor, "to"+form.integer+"(1)")
	}
	return bind(body, "a", form.unscaled(l.orElse(0), l.dec.scale), "b", divisor, "j", boundDisplay(l), "k", boundDisplay(r))
}

// powerText writes 10^exponent for exponents from 0 to limit.
func powerText(integer string, limit int, exponent string) string {
	return fmt.Sprintf("arrayElement(arrayMap(i -> to%s(concat('1', repeat('0', i))), range(%d)), 1 + %s)", integer, limit+1, exponent)
}

// quotientForm is how a quotient is computed: by integers of some width, of the operands' values without their points.
type quotientForm struct {
	integer string
	digits  int
	// absolute writes the quotient's absolute value with d digits after the point, for operands and a result of these scales; p is 10^(scale - d).
	absolute func(dividend, divisor, scale int, p string) string
}

func (f quotientForm) unscaled(value string, scale int) string {
	return fmt.Sprintf("reinterpret(CAST(%s, 'Decimal(%d, %d)'), '%s')", value, f.digits, scale, f.integer)
}

// wideQuotient is for all operands. Twice the value is cut to an integer, of which one more is halved: that rounds.
var wideQuotient = quotientForm{"Int256", maxPrecision, func(dividend, divisor, scale int, p string) string {
	factor := new(big.Int).Mul(pow10(scale+divisor-dividend), big.NewInt(2))
	return fmt.Sprintf("bitShiftRight(intDiv(abs(a) * toInt256('%s'), abs(b) * %s) + 1, 1)", factor, p)
}}

// shortDigits are those that a product may have in [shortQuotient], so that four times as much is an Int128.
const shortDigits = 37

// shortQuotient is for operands for which [quotientFits]. The engine divides these integers in a tenth of the time.
var shortQuotient = quotientForm{"Int128", 38, func(dividend, divisor, _ int, _ string) string {
	m := powerText("Int128", shortDigits, fmt.Sprintf("least(d + %d, %d)", divisor-dividend, shortDigits))
	return fmt.Sprintf("toInt256(intDiv(abs(a) * 2 * %s + abs(b), abs(b) * 2))", m)
}}

// quotientFits reports whether dividend · 10^d has no more digits than [shortDigits] once both operands are integers. If d is as
// select_div_scale derives it, the quotient has at most 20 digits, or is below 2 · 10^20, and the product is that times the divisor; if d
// is an operand's display scale, it is the dividend with so many digits more.
func quotientFits(l, r expr) bool {
	j, k := l.dec.display, r.dec.display
	return j == l.dec.scale && k >= 0 && l.dec.precision() <= 38 && r.dec.precision() <= shortDigits-20 &&
		l.dec.integer+r.dec.scale+max(j, k) <= shortDigits
}

// base10000 is a number as PostgreSQL has it: digits of base 10,000, aligned at the point.
type base10000 struct {
	value   string // its digits as an integer, without the point; not negative
	integer string // the integer's type
	lowest  int    // the weight of the digit that holds the last decimal
	short   int    // how many decimals the lowest digit lacks
	most    int    // how many digits fit the type beside the first
}

func (f quotientForm) operand(value string, d decimal) base10000 {
	short := (4 - d.scale%4) % 4
	return base10000{value: value, integer: f.integer, lowest: -((d.scale + 3) / 4), short: short, most: (f.digits + short) / 4}
}

// count writes how many digits the number has beside the first. The engine plans few functions sooner than a comparison for each digit.
func (n base10000) count() string {
	return fmt.Sprintf("intDiv(length(toString(%s)) + %d, 4)", n.value, n.short-1)
}

// weight writes the exponent of the leading digit of a number that is not zero.
func (n base10000) weight() string { return fmt.Sprintf("(%s + %d)", n.count(), n.lowest) }

// leading writes the leading digit.
func (n base10000) leading() string {
	units := fmt.Sprintf("arrayMap(i -> to%s(concat('1', repeat('0', i * 4 - %d))), range(%d))", n.integer, n.short, n.most+1)
	digit := fmt.Sprintf("intDiv(%s, arrayElement(%s, 1 + %s))", n.value, units, n.count())
	if n.short == 0 {
		return digit
	}
	return fmt.Sprintf("(%s * if(%s = 0, %s, 1))", digit, n.count(), pow10(n.short))
}
