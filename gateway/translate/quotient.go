package translate

import (
	"fmt"
	"math/big"
)

// quotientText writes the quotient of two numerics with a number of digits after the point, and the display scale to which it is
// rounded, as a tuple. The engine takes as long to understand each level of names as to compute it for thousands of rows: hence so few.
func quotientText(l, r expr, scale int) string {
	form := wideQuotient
	if quotientFits(l, r) {
		form = shortQuotient
	}
	// The last levels compute the display scale d, p = 10^(scale - d), and by them the absolute value with d digits after the point.
	p := fmt.Sprintf("toInt256(concat('1', repeat('0', %d - if(throwIf(d > %d, 'freshet guard: scale of a quotient') = 0, d, 0))))", scale, scale)
	body, names := form.absolute(l.dec.scale, r.dec.scale, scale)
	body = fmt.Sprintf("(reinterpret(%s * p * if((a < 0) != (b < 0), -1, 1), 'Decimal(76, %d)'), d)", body, scale)
	body = bind(body, append([]string{"p", p}, names...)...)
	body = bind(body, "d", fmt.Sprintf("toInt32(greatest(16 - 4 * (if(a = 0, 100, intDiv(%s, 4)) - intDiv(%s, 4) - (%s <= %s)), j, k))",
		exponentText("s", l.dec.scale), exponentText("u", r.dec.scale), leadingText("s", l.dec.scale), leadingText("u", r.dec.scale)))
	body = bind(body, "s", "toString(abs(a))",
		"u", fmt.Sprintf("toString(if(throwIf(b = 0, 'freshet guard: division by zero') = 0, abs(b), to%s(1)))", form.integer))
	return bind(body, "a", form.unscaled(l.orElse(0), l.dec.scale), "b", form.unscaled(r.orElse(1), r.dec.scale), "j", boundDisplay(l), "k", boundDisplay(r))
}

// exponentText is the exponent of the leading decimal digit in a text of a number's digits; 400 more keeps it positive.
func exponentText(text string, scale int) string {
	return fmt.Sprintf("(length(%s) + %d)", text, 399-scale)
}

// leadingText is the leading base-10000 digit.
func leadingText(text string, scale int) string {
	digits := exponentText(text, scale) + " % 4 + 1"
	return fmt.Sprintf("toUInt32(rightPad(substring(%s, 1, %s), %s, '0'))", text, digits, digits)
}

// quotientForm is how a quotient is computed: by integers of some width, of the operands' values without their points.
type quotientForm struct {
	integer string
	digits  int
	// absolute writes the quotient's absolute value with d digits after the point, and what it names for that.
	absolute func(dividend, divisor, scale int) (body string, names []string)
}

func (f quotientForm) unscaled(value string, scale int) string {
	return fmt.Sprintf("reinterpret(CAST(%s, 'Decimal(%d, %d)'), '%s')", value, f.digits, scale, f.integer)
}

// wideQuotient is for all operands. Twice the value is cut to an integer, of which one more is halved: that rounds.
var wideQuotient = quotientForm{"Int256", maxPrecision, func(dividend, divisor, scale int) (string, []string) {
	factor := new(big.Int).Mul(pow10(scale+divisor-dividend), big.NewInt(2))
	return fmt.Sprintf("bitShiftRight(intDiv(abs(a) * toInt256('%s'), abs(b) * p) + 1, 1)", factor), nil
}}

// shortDigits are those that a product may have in [shortQuotient], so that four times as much is an Int128.
const shortDigits = 37

// shortQuotient is for operands for which [quotientFits]. The engine divides these integers in a tenth of the time.
var shortQuotient = quotientForm{"Int128", 38, func(dividend, divisor, _ int) (string, []string) {
	return "toInt256(intDiv(abs(a) * m * 2 + abs(b), abs(b) * 2))",
		[]string{"m", fmt.Sprintf("toInt128(concat('1', repeat('0', least(d + %d, %d))))", divisor-dividend, shortDigits)}
}}

// quotientFits reports whether dividend · 10^d has no more digits than [shortDigits] once both operands are integers. If d is as
// select_div_scale derives it, the quotient has at most 20 digits, or is below 2 · 10^20, and the product is that times the divisor; if d
// is an operand's display scale, it is the dividend with so many digits more.
func quotientFits(l, r expr) bool {
	j, k := l.dec.display, r.dec.display
	return j == l.dec.scale && k >= 0 && l.dec.precision() <= 38 && r.dec.precision() <= shortDigits-20 &&
		l.dec.integer+r.dec.scale+max(j, k) <= shortDigits
}
