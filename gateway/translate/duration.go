package translate

import (
	"fmt"
	"math"
	"strings"
)

// Intervals that are not constants are durations: the difference of two timestamps, in microseconds. PostgreSQL shows one as whole days and a
// rest of the same sign (timestamp_mi in its timestamp.c), so that equal durations look alike and are ordered as their numbers are. Sums and
// averages of durations are not of that form and can only be shown.

// difference is the duration between two moments.
func (q *query) difference(l, r expr) expr {
	oid := uint32(oidTimestamp)
	if l.oid == oidTimestampTZ || r.oid == oidTimestampTZ {
		oid = oidTimestampTZ
	}
	l, r = q.coerce(l, oid), q.coerce(r, oid)
	if l.isNull() || r.isNull() {
		fail("difference of a constant NULL")
	}
	limits := func(e expr) string {
		return outside(e.sql, minArithmeticDay*microsPerDay, maxArithmeticDay*microsPerDay)
	}
	e := with(oidInterval, guarded("("+l.sql+" - "+r.sql+")", limits(l)+" OR "+limits(r), "timestamp out of range"), l, r)
	e.fails = l.lit == nil || r.lit == nil // both may be infinite
	return e
}

// intervalLiteral is a constant interval. It has an SQL text if it is of a duration's form.
func intervalLiteral(i interval) expr {
	e := expr{oid: oidInterval, lit: &literal{interval: &i}, pad: -1}
	if i.months == 0 && absolute(i.micros) < microsPerDay && (i.days == 0 || i.micros == 0 || (i.days < 0) == (i.micros < 0)) {
		e.sql = fmt.Sprintf("toInt64(%d)", i.total())
	}
	return e
}

// total is what intervals are compared by: microseconds, with months of 30 days and days of 24 hours (interval_cmp_value).
func (i interval) total() int64 { return (i.months*30+i.days)*microsPerDay + i.micros }

// comparedAs is an interval as the number that it is compared by.
func (e expr) comparedAs() expr {
	if i, ok := e.constantInterval(); ok {
		e.sql = fmt.Sprintf("toInt64(%d)", i.total())
	} else if f := e.intervalParts(); f != nil && e.opaque {
		e.sql, e.opaque = f.total(), false
	}
	e.lit = nil
	return e
}

// requireDuration refuses constants: few things can be done with them but to compare and to add them.
func requireDuration(e expr) {
	if e.lit != nil || e.opaque {
		fail("interval that is not the difference of two timestamps")
	}
}

// wholeDays and dayRest are a duration's days and what is left of it, in microseconds. The divisor has a sign, as the dividend: with another type
// of number the engine divides what would be a large positive one.
func wholeDays(micros string) string {
	return fmt.Sprintf("intDiv(%s, toInt64(%d))", micros, int64(microsPerDay))
}
func dayRest(micros string) string {
	return fmt.Sprintf("(%s) %% toInt64(%d)", micros, int64(microsPerDay))
}

// extractDuration is EXTRACT (numeric) and date_part (float8) from a duration (interval_part_common).
func (q *query) extractDuration(name, field string, x expr) expr {
	if f := x.intervalParts(); f != nil && x.opaque {
		return f.extractField(name, field, x)
	}
	requireDuration(x)
	if field == "epoch" && name == "date_part" {
		return with(oidFloat8, once(x.sql, func(at string) string {
			return "(toFloat64(" + dayRest(at) + ") / 1000000 + 86400 * toFloat64(" + wholeDays(at) + "))"
		}), x)
	}
	if field == "epoch" {
		d := decimal{integer: 13, scale: 6, display: 6}
		return numericWith(fmt.Sprintf("CAST(CAST(%s, 'Decimal(19, 0)') * CAST('0.000001', 'Decimal(6, 6)'), '%s')", x.sql, d), d, x)
	}
	var sql string
	if field == "day" {
		sql = wholeDays(x.sql)
	} else if unit, ok := timeFields[field]; ok {
		sql = fmt.Sprintf("intDiv(%s, %d) %% %d", dayRest(x.sql), unit[0], unit[1])
	} else {
		fail("extract of this field of an interval")
	}
	if name == "date_part" {
		return with(oidFloat8, "toFloat64("+sql+")", x)
	}
	d := decimal{integer: 10}
	return numericWith("CAST("+sql+", '"+d.String()+"')", d, x)
}

// durations is the sum or the average of durations, as a text of whole numbers that package finish reads: the sums of the days, of the
// microseconds and of the days without their signs, and the number of durations if the average is meant. PostgreSQL adds days and microseconds
// up by themselves, and refuses more days than an integer holds on the way.
func (a aggregation) durations(x expr, average bool, place func(engineCall, expr) expr) expr {
	requireDuration(x)
	if average && !a.q.t.env.UnfusedFloats {
		fail("average of intervals on a processor that multiplies and adds at once")
	}
	d := expr{oid: oidInt8, null: true, pad: -1}
	sum := func(of string) expr { return place(a.call("sum", "toInt128("+of+")"), d) }
	parts := []expr{sum(wholeDays(x.sql)), sum(dayRest(x.sql)), sum("abs(" + wholeDays(x.sql) + ")")}
	if average {
		parts = append(parts, a.values(x, place))
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = "toString(" + p.sql + ")"
	}
	e := with(oidInterval, "concat("+strings.Join(texts, ", ' ', ")+")", parts...)
	e.null, e.opaque = true, true
	f := sumFields(parts)
	if average {
		f = f.divided("toFloat64(" + parts[3].sql + ")").renulled(parts[0])
	}
	f.sql, e.fields = e.sql, &f
	return e
}

// sumFields are the parts of a sum of durations.
func sumFields(parts []expr) intervalFields {
	days, micros, unsigned := parts[0].sql, parts[1].sql, parts[2].sql
	return intervalFields{
		months: noPart,
		days:   "toInt64(" + guarded(days, unsigned+fmt.Sprintf(" > %d", math.MaxInt32), "interval out of range") + ")",
		micros: "toInt64(" + guarded(micros, outside(micros, -longestInterval*microsPerDay, longestInterval*microsPerDay), "interval out of range") + ")",
	}
}
