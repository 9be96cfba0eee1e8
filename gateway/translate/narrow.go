package translate

import "fmt"

// Quotients are kept with more digits after the point than nearly all of them have. Where that leaves no room for
// what is computed of them, they are narrowed: a guard gives the statement to PostgreSQL if one needs the digits.

// leastShown is how few digits after the point a quotient may be narrowed to: those that PostgreSQL gives one between 1 and 10,000.
const leastShown = 16

// narrowed keeps at most so many digits after the point of a numeric that displays differently by row. It has
// no others than it displays.
func (e expr) narrowed(scale int) expr {
	if e.oid != oidNumeric || e.dec.display != displayDynamic || e.dec.scale <= scale || scale < leastShown {
		return e
	}
	d := decimal{integer: e.dec.integer, scale: scale}
	guard := fmt.Sprintf("throwIf(%s, 'freshet guard: digits of a quotient')", lazy(fmt.Sprintf("ifNull(%s > %d, 0)", e.dec.displaySQL, scale), "0"))
	e.sql = fmt.Sprintf("if(%s = 0, CAST(%s, '%s'), CAST(0, '%s'))", guard, e.sql, d, d)
	e.dec.scale, e.ratio = scale, nil
	return e
}

// roomToAdd narrows summands if their sum is too wide.
func roomToAdd(l, r expr) (expr, expr) {
	room := maxPrecision - max(l.dec.integer, r.dec.integer) - 1
	return l.narrowed(room), r.narrowed(room)
}

// roomToMultiply narrows factors if their product is too wide.
func roomToMultiply(l, r expr) (expr, expr) {
	room := maxPrecision - l.dec.integer - r.dec.integer
	if l.dec.scale+r.dec.scale <= room {
		return l, r
	}
	l = l.narrowed(max(room-r.dec.scale, room/2))
	return l, r.narrowed(room - l.dec.scale)
}

// leastQuotientScale is how many digits after the point a quotient must have room for: those that PostgreSQL gives one between 0.0001 and 1.
const leastQuotientScale = 20

// leastWhole is to how few digits before the point an operand may be bounded: more than the sum of a billion amounts of a trillion has.
const leastWhole = 30

// spareDigits are those that a quotient of bounded operands has room for beyond what it must: a small share of a whole has more than 20.
const spareDigits = 10

// roomToDivide narrows and bounds operands if the quotient would have too few digits, or fewer than they.
func roomToDivide(l, r expr) (expr, expr) {
	room := maxPrecision - 2 - max(l.dec.integer, r.dec.integer)
	r = r.narrowed(min(room-leastQuotientScale, room/2))
	l = l.narrowed(quotientRoom(l, r))
	least := max(leastQuotientScale, l.dec.scale, r.dec.scale)
	if quotientRoom(l, r) >= least {
		return l, r
	}
	whole := max(leastWhole, maxPrecision-2-r.dec.scale-least-spareDigits)
	return l.bound(whole), r.bound(whole)
}

// bound gives a numeric at most so many digits before the point, by a guard. A sum of products of sums, as the engine describes it, has many more than
// its values have.
func (e expr) bound(whole int) expr {
	if e.oid != oidNumeric || e.lit != nil || e.dec.integer <= whole {
		return e
	}
	d := decimal{integer: whole, scale: e.dec.scale}
	guard := fmt.Sprintf("throwIf(abs(%s) >= toInt256('%s'), 'freshet guard: digits of an operand')", unscaled(e.orElse(0), d.scale), pow10(d.precision()))
	e.sql = fmt.Sprintf("if(%s = 0, CAST(%s, '%s'), CAST(0, '%s'))", guard, e.sql, d, d)
	e.dec.integer, e.ratio = whole, nil
	return e
}

// quotientRoom is how many digits after the point a quotient may have: twice the scaled dividend and the scaled divisor must fit 76 digits.
func quotientRoom(l, r expr) int {
	return min(quotientScale, maxPrecision-2-l.dec.integer-r.dec.scale, maxPrecision-2-r.dec.precision())
}
