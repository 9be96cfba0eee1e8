package translate

import (
	"math/big"
	"strings"
)

// compare translates a comparison operator by PostgreSQL's rules for the operand types.
func (q *query) compare(name string, l, r expr) expr {
	op, ok := comparisons[name]
	if !ok {
		fail("comparison operator")
	}
	if e, ok := compareNaN(op, l, r); ok {
		return e
	}
	if op == "=" || op == "!=" {
		l, r = q.besideASCII(l, r), q.besideASCII(r, l)
	}
	left, right := l, r
	l, r = q.comparable(l, r)
	if l.isNull() || r.isNull() {
		e := nullOf(oidBool)
		e.refs = l.refs | r.refs
		return e
	}
	if l.oid == oidInterval && r.oid == oidInterval {
		l, r = l.comparedAs(), r.comparedAs()
	}
	ordered := op != "=" && op != "!="
	if ordered {
		if e, ok := compareAverage(op, l, r); ok {
			return e
		}
	}
	a, b := l, r
	switch {
	case l.opaque || r.opaque:
		if !(l.enum && r.enum) || l.oid != r.oid {
			fail("comparison of an opaque type")
		}
		if ordered {
			l, r = q.t.position(l), q.t.position(r)
		}
	case isFloat(l.oid):
		return q.compareFloats(op, l, r)
	case l.oid == oidNumeric:
		l.sql, r.sql = commonDecimal(l, r)
	case isString(l.oid) && ordered && !q.t.bytewise(collationOf(l, r)):
		fail("text order under a collation that is not bytewise")
	}
	e := with(oidBool, l.operand()+" "+op+" "+r.operand(), l, r)
	switch {
	case ordered:
		e.share, e.orders = inequalityShare, []ordering{orderingOf(op, a, b)}
	case op == "!=":
		e.share = 1
	}
	e.fixes = op == "=" && (l.lit != nil || r.lit != nil)
	if op == "=" && l.refs != 0 && r.refs != 0 && l.refs&r.refs == 0 {
		e.keys = &equality{l.refs, r.refs, left.columnAs(l), right.columnAs(r), l, r}
	}
	return e
}

// columnAs names the column that an operand is, if what it is compared as tells its values apart: a varchar without the blanks at its end does not.
func (e expr) columnAs(compared expr) columnID {
	if (isString(compared.oid) || e.opaque) && compared.sql != e.sql {
		return columnID{}
	}
	return columnID{e.source, e.index}
}

// movedTo reports whether what a value is compared as may be in another order than the values themselves: a varchar without the blanks at its end, or a
// timestamp as an instant, since a zone's clocks leave out an hour.
func (e expr) movedTo(compared expr) bool {
	return compared.sql != e.sql && (isString(compared.oid) || compared.oid == oidTimestampTZ || e.opaque)
}

// comparable brings two operands to the types that they are compared in.
func (q *query) comparable(l, r expr) (expr, expr) {
	q.t.env.Dialect.checkOperands(l, r)
	l, r = readNumericPair(l, r)
	switch {
	case l.isUnknown() && r.isUnknown():
		return q.coerce(l, oidText), q.coerce(r, oidText)
	case l.isUnknown():
		return q.constantFor(l, r), r
	case r.isUnknown():
		return l, q.constantFor(r, l)
	case (l.opaque || r.opaque) && !isFloat(l.oid) && !isFloat(r.oid):
		collationOf(l, r) // of which there must be one for arrays
		return l, r
	case isInteger(l.oid) && isInteger(r.oid):
		return l, r
	case isNumber(l.oid) && isNumber(r.oid):
		if isFloat(l.oid) || isFloat(r.oid) {
			return q.coerce(l, oidFloat8), q.coerce(r, oidFloat8)
		}
		if i, ok := integral(r); ok && isInteger(l.oid) {
			return l, i
		}
		if i, ok := integral(l); ok && isInteger(r.oid) {
			return i, r
		}
		return q.coerce(l, oidNumeric), q.coerce(r, oidNumeric)
	case isString(l.oid) && isString(r.oid):
		return q.comparableStrings(l, r)
	case isMoment(l.oid) && isMoment(r.oid):
		_, a := typeRank(l.oid)
		_, b := typeRank(r.oid)
		if a < b {
			return q.coerce(l, r.oid), r
		}
		return l, q.coerce(r, l.oid)
	case l.oid == r.oid:
		return l, r
	}
	fail("comparison of different types")
	return l, r
}

// constantFor types an untyped constant after the other operand.
func (q *query) constantFor(c, other expr) expr {
	switch {
	case elementOf(other.oid) != 0:
		return q.arrayConstant(c, other.oid)
	case other.enum:
		out := c
		if !c.isNull() {
			out = textLiteral(other.oid, *c.lit.text)
		}
		out.oid, out.opaque, out.enum = other.oid, true, true
		return out
	case other.opaque && other.intervalParts() == nil:
		fail("comparison of an opaque type")
	case other.oid == oidVarchar:
		return q.coerce(c, oidText)
	}
	return q.coerce(c, other.oid)
}

// comparableStrings: blanks at the end do not count if bpchar's operators are chosen, which is so unless
// one operand is a text.
func (q *query) comparableStrings(l, r expr) (expr, expr) {
	collationOf(l, r) // of which there must be one, for equality too
	if l.oid != oidBpchar && r.oid != oidBpchar {
		return l, r
	}
	if l.oid == oidText || r.oid == oidText || l.oid == oidName || r.oid == oidName {
		return q.coerce(l, oidText), q.coerce(r, oidText)
	}
	return q.coerce(l, oidBpchar), q.coerce(r, oidBpchar)
}

// integral is a numeric constant without a fraction as an integer, to be compared with integers as such.
func integral(e expr) (expr, bool) {
	if e.lit == nil || e.lit.numeric == nil {
		return e, false
	}
	unit := pow10(e.lit.numeric.scale)
	v, rest := new(big.Int).QuoRem(e.lit.numeric.unscaled, unit, new(big.Int))
	if rest.Sign() != 0 || !v.IsInt64() {
		return e, false
	}
	return integerLiteral(oidInt8, v), true
}

// commonDecimal writes two numerics for a comparison. Columns stay as they are where the engine compares exactly.
func commonDecimal(l, r expr) (string, string) {
	if l.lit != nil && l.dec.scale < r.dec.scale && r.lit == nil {
		l = numericLiteral(l.lit.numeric.rescale(r.dec.scale))
	}
	if r.lit != nil && r.dec.scale < l.dec.scale && l.lit == nil {
		r = numericLiteral(r.lit.numeric.rescale(l.dec.scale))
	}
	if l.dec.scale == r.dec.scale {
		return l.sql, r.sql
	}
	d := widest([]expr{l, r})
	return l.scaled(d), r.scaled(d)
}

// compareFloats: NaN equals itself and is the largest value in PostgreSQL only.
func (q *query) compareFloats(op string, l, r expr) expr {
	e := with(oidBool, l.sql+" "+op+" "+r.sql, l, r)
	var wild []string
	for _, x := range []expr{l, r} {
		if !x.tame && x.lit == nil {
			wild = append(wild, "isNaN("+x.sql+")")
		}
	}
	if len(wild) > 0 {
		e.sql = guarded(e.sql, strings.Join(wild, " OR "), "NaN")
	}
	return e
}

// compareNaN asks whether a float is the constant NaN; false: the comparison is another one.
func compareNaN(op string, l, r expr) (expr, bool) {
	x, c := l, r
	if x.isUnknown() {
		x, c = r, l
	}
	text, ok := c.constantText()
	if !ok || !c.isUnknown() || !isFloat(x.oid) || x.opaque || x.isNull() || !strings.EqualFold(text, "NaN") {
		return expr{}, false
	}
	switch op {
	case "=":
		return with(oidBool, "isNaN("+x.sql+")", x), true
	case "!=":
		return with(oidBool, "isNaN("+x.sql+") = 0", x), true
	}
	return expr{}, false
}

// operand is the text as an operand of a comparison. Only conditions are written without parentheses of their own.
func (e expr) operand() string {
	if e.oid == oidBool {
		return "(" + e.sql + ")"
	}
	return e.sql
}
