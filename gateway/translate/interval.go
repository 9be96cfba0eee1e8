package translate

import (
	"math"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// fits says that an interval is well within PostgreSQL's limits.
func (i interval) fits() bool {
	return absolute(i.months) <= longestInterval/30 && absolute(i.days) <= longestInterval && absolute(i.micros) <= longestInterval*microsPerDay
}

// intervalQualifiers are the last fields of INTERVAL … YEAR and so on, by the grammar's masks of all fields. What was left of one stays as well. MINUTE TO
// SECOND is not among them, for which a clock time has no hours.
var intervalQualifiers = map[int64]string{
	4: "year", 2: "month", 8: "day", 1024: "hour", 2048: "minute", 4096: "second",
	4 | 2: "month", 8 | 1024: "hour", 8 | 1024 | 2048: "minute", 1024 | 2048: "minute", 8 | 1024 | 2048 | 4096: "second", 1024 | 2048 | 4096: "second",
}

// upTo leaves out what is smaller than a unit (AdjustIntervalForTypmod); empty: nothing.
func (i interval) upTo(unit string) interval {
	switch unit {
	case "year":
		return interval{months: i.months / 12 * 12}
	case "month":
		return interval{months: i.months}
	case "day":
		return interval{months: i.months, days: i.days}
	case "hour", "minute":
		i.micros -= i.micros % intervalUnits[unit].micros
	}
	return i
}

func (i interval) plus(j interval) interval {
	return interval{i.months + j.months, i.days + j.days, i.micros + j.micros}
}

// times multiplies by a whole number: nothing of a month is left over for the days, nor of a day for the hours (interval_mul).
func (i interval) times(n int64) interval { return interval{i.months * n, i.days * n, i.micros * n} }

// quantity is a number of a unit, by its sign and the digits before and after the point. A fraction has to be of whole microseconds, and of a unit that
// PostgreSQL breaks into these: it makes days of a fraction of a month.
func quantity(sign, whole, fraction string, unit interval) (interval, bool) {
	n, err := strconv.ParseInt(sign+whole, 10, 64)
	if err != nil || absolute(n) > longestInterval {
		return interval{}, false
	}
	out := unit.times(n)
	if fraction == "" {
		return out, true
	}
	digits, err := strconv.ParseInt(sign+fraction, 10, 64)
	parts := pow10(len(fraction)).Int64()
	micros := digits * unit.total()
	if err != nil || unit.months != 0 || unit.days > 1 || micros%parts != 0 {
		return interval{}, false
	}
	out.micros += micros / parts
	return out, true
}

// exactly says that times is exact, here and in PostgreSQL, which multiplies in float8.
func (i interval) exactly(n int64) bool {
	const whole = 1 << 53
	for _, part := range []int64{i.months, i.days, i.micros} {
		if n != 0 && absolute(part) > whole/absolute(n) {
			return false
		}
	}
	return true
}

// intervalArithmetic computes with constant intervals, part by part as PostgreSQL does.
func (q *query) intervalArithmetic(op string, l, r expr) expr {
	if op == "/" && l.oid == oidInterval {
		return q.quotientOfInterval(l, r)
	}
	if l.oid != oidInterval {
		if op != "*" {
			fail("operator over an interval")
		}
		l, r = r, l
	}
	i, ok := l.constantInterval()
	j, both := r.constantInterval()
	switch {
	case ok && op == "*" && isNumber(r.oid) && r.lit == nil:
		return intervalOf(q.product(i, r), r)
	case !ok, r.oid == oidInterval && !both:
		fail("arithmetic with an interval that is not constant")
	case op == "+" && both:
		i = i.plus(j)
	case op == "-" && both:
		i = i.plus(j.times(-1))
	case op == "*":
		n, ok := wholeFactor(r)
		if !ok || !i.exactly(n) {
			fail("interval times what is not a constant whole number")
		}
		i = i.times(n)
	default:
		fail("operator over an interval")
	}
	if !i.fits() {
		fail("interval out of range")
	}
	return intervalLiteral(i)
}

// wholeFactor is a constant that multiplies an interval, if it is a whole number of at most longestInterval: an integer, or a
// parameter, which is a float8 there.
func wholeFactor(e expr) (int64, bool) {
	if text, ok := e.constantText(); ok && e.oid == oidFloat8 {
		v, err := strconv.ParseFloat(trimBlanks(text), 64)
		if err != nil || !(math.Abs(v) <= longestInterval) {
			return 0, false
		}
		return int64(v), v == math.Trunc(v)
	}
	if !isInteger(e.oid) {
		return 0, false
	}
	n, ok := e.constantFrom(-longestInterval)
	return n, ok && n <= longestInterval
}

// makeIntervalUnits are the arguments of make_interval, in order.
var makeIntervalUnits = []string{"years", "months", "weeks", "days", "hours", "mins", "secs"}

// makeInterval is make_interval() of numbers, by position or by name. Constants are whole ones.
func (q *query) makeInterval(f *pg.FuncCall) expr {
	if len(f.Args) > len(makeIntervalUnits) {
		fail("make_interval with so many arguments")
	}
	var out interval
	var computed []intervalFields
	var operands []expr
	seen := map[string]bool{}
	for at, arg := range f.Args {
		name := makeIntervalUnits[at]
		if named := arg.GetNamedArgExpr(); named != nil {
			name, arg = named.Name, named.Arg
		}
		unit, ok := intervalUnits[name]
		if !ok || seen[name] {
			fail("make_interval with this argument")
		}
		seen[name] = true
		x := q.value(arg)
		if isNumber(x.oid) && x.lit == nil {
			computed, operands = append(computed, q.product(unit, x)), append(operands, x)
			continue
		}
		n, ok := wholeFactor(x)
		if !ok {
			fail("make_interval of a constant that is not a whole number")
		}
		out = out.plus(unit.times(n))
	}
	if !out.fits() {
		fail("interval out of range")
	}
	if len(computed) > 0 {
		return intervalOf(sumOfFields(append(computed, out.fields())), operands...)
	}
	return intervalLiteral(out)
}
