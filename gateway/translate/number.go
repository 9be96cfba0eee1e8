package translate

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

// divTrunc is div: the quotient of two numerics without what is behind the point.
func divTrunc(q *query, _ string, args []expr) expr {
	l, r := q.coerce(q.number(args[0]), oidNumeric), q.coerce(q.number(args[1]), oidNumeric)
	if r.isZero() {
		fail("division by zero")
	}
	scale := max(l.dec.scale, r.dec.scale)
	d := decimal{integer: l.dec.integer + r.dec.scale}
	if max(l.dec.integer, r.dec.integer)+scale > maxPrecision || d.precision() > maxPrecision {
		fail("numeric of more than %d digits", maxPrecision)
	}
	divisor := unscaled(r.orElse(1), scale)
	if r.mayBeZero() {
		divisor = lazy(divisor, "toInt256(1)")
	}
	sql := fmt.Sprintf("reinterpret(intDiv(%s, %s), 'Decimal(%d, 0)')", unscaled(l.orElse(0), scale), divisor, maxPrecision)
	e := numericWith(renulled("CAST("+sql+", '"+d.String()+"')", l, r), d, l, r)
	e.fails = e.fails || r.mayBeZero()
	return e
}

// squareRoot is sqrt of what PostgreSQL takes the root of in float8, which IEEE 754 rounds in one way.
func squareRoot(q *query, _ string, args []expr) expr {
	x := args[0]
	if !isInteger(x.oid) && !isFloat(x.oid) {
		fail("sqrt of a numeric")
	}
	if x.isNull() {
		return nullOf(oidFloat8)
	}
	low, _ := x.bounds()
	negative := isFloat(x.oid) || low.Sign() < 0
	e := with(oidFloat8, "", q.coerce(x, oidFloat8))
	e.tame = x.tame || isInteger(x.oid)
	e.sql = once(q.coerce(x, oidFloat8).sql, func(x string) string {
		if !negative {
			return "sqrt(" + x + ")"
		}
		return guarded("sqrt("+x+")", x+" < 0", "square root of a negative number")
	})
	e.fails = e.fails || negative
	return e
}

func pi(*query, string, []expr) expr { return floatLiteral(oidFloat8, math.Pi, "") }

// power is that of constant integers, which PostgreSQL makes floats of, where the result is one that every C
// library has exactly.
func power(_ *query, name string, args []expr) expr {
	base, exponent := args[0], args[1]
	if base.lit == nil || exponent.lit == nil || !isInteger(base.oid) || !isInteger(exponent.oid) || exponent.lit.integer.Sign() < 0 || exponent.lit.integer.Cmp(big.NewInt(64)) > 0 {
		fail("%s of what are no constant integers", name)
	}
	result := new(big.Int).Exp(base.lit.integer, exponent.lit.integer, nil)
	if result.CmpAbs(big.NewInt(exactInteger)) > 0 {
		fail("constant out of range")
	}
	return floatLiteral(oidFloat8, float64(result.Int64()), result.String())
}

// toHex writes the bits of an integer. The engine writes whole bytes.
func toHex(_ *query, _ string, args []expr) expr {
	x := args[0]
	if x.oid != oidInt4 && x.oid != oidInt8 {
		fail("to_hex of this type")
	}
	return with(oidText, once("lower(hex("+x.typed()+"))", func(digits string) string {
		return "if(startsWith(" + digits + ", '0'), substring(" + digits + ", 2), " + digits + ")"
	}), x)
}

// shift moves the bits of an integer by a constant. What is beyond its width, the processor decides.
func shift(op string, l, r expr) expr {
	n, ok := r.constantFrom(0)
	if !ok || r.oid == oidInt8 || n >= integerBits[l.oid] {
		fail("bits shifted by what is no constant within their width")
	}
	f := map[string]string{"<<": "bitShiftLeft", ">>": "bitShiftRight"}[op]
	t := expr{oid: l.oid}.engineType()
	return with(l.oid, fmt.Sprintf("CAST(%s(%s, %d), '%s')", f, l.typed(), n, t), l)
}

var integerBits = map[uint32]int64{oidInt2: 16, oidInt4: 32, oidInt8: 64}

// prefixFunctions are what operators before their operand are other names of.
var prefixFunctions = map[string]string{"@": "abs", "|/": "sqrt"}

// invert is ~ of an integer.
func invert(x expr) expr {
	if !isInteger(x.oid) {
		fail("~ of this type")
	}
	return with(x.oid, "bitNot("+x.typed()+")", x)
}

// mostBuckets are so few that their number times a part of them is far from what a float8 rounds.
const mostBuckets = 1 << 20

// widthBucket numbers the buckets of one width between two constants, in either order.
func widthBucket(q *query, _ string, args []expr) expr {
	switch len(args) {
	case 2:
		return q.listedBucket(args[0], args[1])
	case 3:
		fail("width_bucket of three arguments")
	}
	x, from, to := q.bucketBound(args[0]), q.bucketBound(args[1]), q.bucketBound(args[2])
	count, ok := args[3].constantFrom(1)
	if !ok || count > mostBuckets || args[3].oid == oidInt8 || from.lit == nil || to.lit == nil {
		fail("width_bucket of what is not constant, or of very many buckets")
	}
	low, high := q.coerce(from, oidNumeric).lit.numeric, q.coerce(to, oidNumeric).lit.numeric
	order := low.compare(*high)
	if order == 0 {
		fail("width_bucket of an empty range")
	}
	var sql string
	if isFloat(x.oid) || isInteger(x.oid) && isInteger(from.oid) && isInteger(to.oid) {
		sql = floatBucket(q.coerce(x, oidFloat8).sql, q.coerce(from, oidFloat8).sql, q.coerce(to, oidFloat8).sql, count, order < 0)
	} else {
		sql = numericBucket(q.coerce(x, oidNumeric), *low, *high, count)
	}
	e := smallInteger("toInt32("+sql+")", 0, count+1, x)
	e.fails = e.fails || isFloat(x.oid)
	return e
}

// mostThresholds bounds how many comparisons a bucket is found by.
const mostThresholds = 50

// listedBucket numbers the buckets between thresholds that are constants in ascending order, by how many are reached.
func (q *query) listedBucket(x, list expr) expr {
	x = readNumeric(x)
	thresholds, ok := list.spelledOut()
	if !ok || len(thresholds) == 0 || len(thresholds) > mostThresholds || x.isUnknown() || x.opaque || !isExact(x.oid) {
		fail("width_bucket of what is not a number, or by what is not an array of constants")
	}
	terms := make([]string, len(thresholds))
	var last *number
	for i, t := range thresholds {
		if t.isNull() || t.lit == nil || !isExact(t.oid) {
			fail("width_bucket by what is not an array of constants")
		}
		n := q.coerce(t, oidNumeric).lit.numeric
		if last != nil && last.compare(*n) > 0 {
			fail("width_bucket by thresholds in another order")
		}
		terms[i], last = "toInt32("+q.compare(">=", x, t).sql+")", n
	}
	return smallInteger("toInt32("+strings.Join(terms, " + ")+")", 0, int64(len(terms)), x)
}

func (q *query) bucketBound(e expr) expr {
	e = readNumeric(e)
	if e.isUnknown() || !isNumber(e.oid) || e.opaque || e.lit != nil && e.lit.integer == nil && e.lit.numeric == nil {
		fail("width_bucket over this type")
	}
	return e
}

func (n number) compare(o number) int {
	scale := max(n.scale, o.scale)
	return n.rescale(scale).unscaled.Cmp(o.rescale(scale).unscaled)
}

// numericBucket divides integers.
func numericBucket(x expr, from, to number, count int64) string {
	scale := max(x.dec.scale, from.scale, to.scale)
	digits := len(from.rescale(scale).unscaled.String()) + len(to.rescale(scale).unscaled.String())
	if x.dec.integer+scale+digits+len(fmt.Sprint(count)) > maxPrecision {
		fail("numeric of more than %d digits", maxPrecision)
	}
	literal := func(n *big.Int) string { return "toInt256('" + n.String() + "')" }
	a, b := from.rescale(scale).unscaled, to.rescale(scale).unscaled
	return once(unscaled(x.sql, scale), func(x string) string {
		before, behind, way := x+" < "+literal(a), x+" >= "+literal(b), x+" - "+literal(a)
		if a.Cmp(b) > 0 {
			before, behind, way = x+" > "+literal(a), x+" <= "+literal(b), literal(a)+" - "+x
		}
		width := new(big.Int).Abs(new(big.Int).Sub(b, a))
		return fmt.Sprintf("multiIf(%s, 0, %s, %d, toInt32(intDiv((%s) * %d, %s)) + 1)", before, behind, count+1, way, count, literal(width))
	})
}

// floatBucket divides before it multiplies as PostgreSQL does. Former versions multiply first: where that makes a difference the value is left to them.
func floatBucket(x, from, to string, count int64, ascending bool) string {
	return once(x, func(x string) string {
		before, behind, way, width := x+" < "+from, x+" >= "+to, "("+x+" - "+from+")", "("+to+" - "+from+")"
		if !ascending {
			before, behind, way, width = x+" > "+from, x+" <= "+to, "("+from+" - "+x+")", "("+from+" - "+to+")"
		}
		now := fmt.Sprintf("trunc(%d * (%s / %s)) + 1", count, way, width)
		formerly := fmt.Sprintf("trunc(%d * %s / %s + 1)", count, way, width)
		inside := guarded(now, now+" != "+formerly+" OR "+now+" > "+fmt.Sprint(count), "bucket at a limit of another")
		return guarded(fmt.Sprintf("multiIf(%s, 0, %s, %d, %s)", before, behind, count+1, inside), "isNaN("+x+")", "NaN")
	})
}
