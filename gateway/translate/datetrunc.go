package translate

import (
	"fmt"
	"math"
	"math/big"
	"time"
)

// shortFields are what a time of day is truncated to, in microseconds.
var shortFields = map[string]int64{"hour": 3_600_000_000, "minute": 60_000_000, "second": microsPerSecond}

// firstDays write the first day of what a date is in.
var firstDays = map[string]func(date string) string{
	"day":   func(date string) string { return "toInt32(" + date + ")" },
	"week":  dayBefore("toDayOfWeek"),
	"month": dayBefore("toDayOfMonth"),
	"year":  dayBefore("toDayOfYear"),
	"quarter": func(date string) string {
		return "toInt32(makeDate32(toYear(" + date + "), toQuarter(" + date + ") * 3 - 2, 1))"
	},
}

// dayBefore goes back as many days as a function counts, but for one.
func dayBefore(function string) func(string) string {
	return func(date string) string { return "toInt32(" + date + ") - " + function + "(" + date + ") + 1" }
}

// truncatedConstant is the first microsecond of the day, week, month, quarter or year of a constant, by its calendar.
func truncatedConstant(field string, micros *big.Int) (*big.Int, bool) {
	if !micros.IsInt64() || absolute(micros.Int64()) > lastDay*microsPerDay {
		return nil, false
	}
	t := time.UnixMicro(micros.Int64()).UTC()
	year, month, day := t.Date()
	switch field {
	case "day":
	case "week":
		day -= (int(t.Weekday()) + 6) % 7
	case "month":
		day = 1
	case "quarter":
		month, day = (month-1)/3*3+1, 1
	case "year":
		month, day = 1, 1
	default:
		return nil, false
	}
	return big.NewInt(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).UnixMicro()), true
}

// dateTrunc truncates timestamps, those with time zone by the clocks of the session's zone or of one that is named. Dates are taken as timestamps with
// time zone by PostgreSQL.
func dateTrunc(q *query, _ string, args []expr) expr {
	field, ok := args[0].constantText()
	if !ok {
		fail("date_trunc to a field that is not constant")
	}
	x, local, zone := args[1], args[1], q.t.env.TimeZone
	named := len(args) == 3
	if named {
		zone = q.zoneName(args[2])
	}
	clocked := func(e expr) expr {
		if e.oid == oidTimestampTZ {
			return q.t.local(e, zone)
		}
		return e
	}
	back := func(e expr) expr {
		if x.oid == oidTimestampTZ {
			return q.t.instant(e, zone)
		}
		return e
	}
	if x.oid == oidDate || named && x.oid == oidTimestamp {
		x = q.coerce(x, oidTimestampTZ)
	}
	if local.oid != oidDate || named {
		local = clocked(x)
	}
	if x.oid != oidTimestamp && x.oid != oidTimestampTZ || x.isNull() {
		fail("date_trunc of this type")
	}
	field = fieldNamed(field)
	if local.lit != nil {
		if first, ok := truncatedConstant(field, q.coerce(local, oidTimestamp).lit.integer); ok {
			return back(integerLiteral(oidTimestamp, first))
		}
	}
	if unit, ok := shortFields[field]; ok {
		local = clocked(x) // some zones have days that do not begin at midnight
		return with(x.oid, fmt.Sprintf("(%s - %s %% %d)", x.sql, q.timeOfDay(local), unit), local)
	}
	first, ok := firstDays[field]
	if !ok {
		fail("date_trunc to this field")
	}
	days := once(q.calendar(local), first)
	return back(with(oidTimestamp, fmt.Sprintf("(toInt64(%s) * %d)", days, int64(microsPerDay)), local))
}

// asMoment is what date_bin counts from or to, where PostgreSQL takes both for moments.
func (q *query) asMoment(e expr) expr {
	switch {
	case e.isUnknown(), e.oid == oidDate, e.oid == oidTimestamp, e.oid == oidTimestampTZ:
		return q.coerce(e, oidTimestampTZ)
	}
	fail("date_bin of this type")
	return expr{}
}

// microsTo2000 is when PostgreSQL's own count of time begins.
const microsTo2000 = 946_684_800 * microsPerSecond

// roundFraction is a cast to timestamp(n): half of the last digit that is kept is rounded away from the year 2000 (AdjustTimestampForTypmod).
func roundFraction(e expr, digits int64) expr {
	if digits < 0 || digits >= 6 { // PostgreSQL takes more than it has for these
		return e
	}
	unit := int64(math.Pow10(int(6 - digits)))
	sql := once(fmt.Sprintf("(%s - %d)", e.sql, microsTo2000), func(since string) string {
		return fmt.Sprintf("(if(%s < 0, -1, 1) * toInt64(intDiv(abs(%[1]s) + %d, %d) * %[3]d) + %d)", since, unit/2, unit, microsTo2000)
	})
	return with(e.oid, guarded(sql, outside(e.sql, minArithmeticDay*microsPerDay, maxArithmeticDay*microsPerDay), "timestamp out of range"), e)
}

// dateBin rounds down to a multiple of a constant interval since an origin (timestamp_bin).
func dateBin(q *query, _ string, args []expr) expr {
	stride := args[0]
	if stride.isUnknown() {
		stride = q.cast(stride, castType{oid: oidInterval})
	}
	every, ok := stride.constantInterval()
	if !ok || every.months != 0 {
		fail("date_bin by what is not a constant of days and hours")
	}
	width := every.total()
	x, origin := args[1], args[2]
	switch {
	case width <= 0:
		fail("date_bin by an interval that is not positive")
	case origin.isUnknown() && x.oid != oidDate:
		origin = q.coerce(origin, x.oid)
	}
	if x.oid != oidTimestamp || origin.oid != oidTimestamp { // PostgreSQL prefers the time zone
		x, origin = q.asMoment(x), q.asMoment(origin)
	}
	limits := func(e expr) string {
		return outside(e.sql, minArithmeticDay*microsPerDay, maxArithmeticDay*microsPerDay)
	}
	sql := fmt.Sprintf("(%s - positiveModulo(%[1]s - %s, toInt64(%d)))", x.sql, origin.sql, width)
	return with(x.oid, guarded(sql, limits(x)+" OR "+limits(origin), "timestamp out of range"), x, origin)
}
