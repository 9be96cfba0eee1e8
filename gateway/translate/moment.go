package translate

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-io/freshet/gateway/finish"
)

func itoa(n int) string { return strconv.Itoa(n) }

// The days within which the engine's date functions are exact: 1900-01-01 to 2299-12-30. (26.7 takes the next day for the 364th of its year.)
const (
	firstDay = -25567
	lastDay  = 120528
)

// The limits beyond which date arithmetic is left to PostgreSQL: well inside its ranges, and away from the infinities.
const (
	minArithmeticDay = -2_400_000
	maxArithmeticDay = 100_000_000
)

func (q *query) dateToTimestamp(e expr, oid uint32) expr {
	if oid == oidTimestampTZ {
		return q.t.instant(q.dateToTimestamp(e, oidTimestamp), q.t.env.TimeZone)
	}
	if e.lit != nil {
		return integerLiteral(oid, new(big.Int).Mul(e.lit.integer, big.NewInt(microsPerDay)))
	}
	sql := fmt.Sprintf("toInt64(%s) * %d", e.sql, int64(microsPerDay))
	return with(oid, guarded(sql, outside(e.sql, minArithmeticDay, maxArithmeticDay), "date out of range"), e)
}

func outside(sql string, low, high int64) string {
	return fmt.Sprintf("(%s NOT BETWEEN %d AND %d)", sql, low, high)
}

// momentArithmetic covers + and - with dates and timestamps.
func (q *query) momentArithmetic(op string, l, r expr) expr {
	if op != "+" && op != "-" {
		fail("operator over dates")
	}
	if !isMoment(l.oid) {
		if op == "-" {
			fail("operator over dates")
		}
		l, r = r, l
	}
	switch {
	case r.isUnknown():
		fail("date arithmetic with an untyped constant")
	case r.oid == oidInterval:
		return q.addInterval(op, l, r)
	case l.oid == oidDate && r.oid == oidDate && op == "-":
		return daysBetween(l, r)
	case isMoment(l.oid) && isMoment(r.oid) && op == "-":
		return q.difference(l, r)
	case l.oid == oidDate && (r.oid == oidInt4 || r.oid == oidInt2):
		return q.addDays(op, l, r)
	}
	fail("operator over dates")
	return expr{}
}

// daysBetween is the difference of two dates. PostgreSQL refuses that of infinite ones.
func daysBetween(l, r expr) expr {
	switch {
	case l.isNull() || r.isNull():
		return nullOf(oidInt4)
	case l.lit != nil && r.lit != nil:
		days := new(big.Int).Sub(l.lit.integer, r.lit.integer)
		if absolute(days.Int64()) > maxArithmeticDay {
			fail("date out of range")
		}
		return integerLiteral(oidInt4, days)
	}
	sql := fmt.Sprintf("(%s - %s)", l.sql, r.sql)
	infinite := outside(l.sql, minArithmeticDay, maxArithmeticDay) + " OR " + outside(r.sql, minArithmeticDay, maxArithmeticDay)
	e := smallInteger("toInt32("+guarded(sql, infinite, "date out of range")+")", -maxArithmeticDay*2, maxArithmeticDay*2, l, r)
	e.fails = true
	return e
}

func (q *query) addDays(op string, l, r expr) expr {
	if l.isNull() || r.isNull() {
		return nullOf(oidDate)
	}
	if l.lit != nil && r.lit != nil {
		days := new(big.Int).Add(l.lit.integer, r.lit.integer)
		if op == "-" {
			days.Sub(l.lit.integer, r.lit.integer)
		}
		if d := days.Int64(); d < minArithmeticDay || d > maxArithmeticDay {
			fail("date out of range")
		}
		return integerLiteral(oidDate, days)
	}
	sum := fmt.Sprintf("toInt64(%s) %s %s", l.sql, op, r.sql)
	bad := outside(l.sql, minArithmeticDay, maxArithmeticDay) + " OR " + outside(sum, minArithmeticDay, maxArithmeticDay)
	return with(oidDate, "toInt32("+guarded(sum, bad, "date out of range")+")", l, r)
}

// addInterval adds an interval. A date becomes a timestamp.
func (q *query) addInterval(op string, l, r expr) expr {
	if l.isNull() {
		return nullOf(oidTimestamp)
	}
	if l.oid == oidDate {
		l = q.dateToTimestamp(l, oidTimestamp)
	}
	i, ok := r.constantInterval()
	if f := r.intervalParts(); f != nil {
		return q.addParts(op, l, *f, r)
	}
	if !ok {
		fail("interval that is not constant")
	}
	if op == "-" {
		i = i.times(-1)
	}
	if zone := q.t.env.TimeZone; l.oid == oidTimestampTZ && !finish.IsUTC(zone) {
		// Months and days are counted by the zone's clocks, each by itself; hours are the same everywhere.
		for _, part := range []interval{{months: i.months}, {days: i.days}} {
			if part != (interval{}) {
				l = q.t.instant(q.shift(q.t.local(l, zone), part), zone)
			}
		}
		i = interval{micros: i.micros}
	}
	return q.shift(l, i)
}

// shift adds an interval to a timestamp as if it were of UTC.
func (q *query) shift(l expr, i interval) expr {
	if l.lit != nil {
		return integerLiteral(l.oid, addConstant(l.lit.integer, i))
	}
	shift := i.days*microsPerDay + i.micros
	if i.months == 0 {
		sql := fmt.Sprintf("%s + toInt64(%d)", l.sql, shift)
		limit := int64(maxArithmeticDay) * microsPerDay
		return with(l.oid, guarded(sql, outside(l.sql, minArithmeticDay*microsPerDay, limit), "timestamp out of range"), l)
	}
	margin := 31 * (absolute(i.months) + 1)
	return with(l.oid, once(l.sql, func(at string) string {
		days := daysOf(at)
		sql := fmt.Sprintf("toInt64(toInt32(addMonths(toDate32(%s), %d))) * %d + (%s - toInt64(%s) * %d) + toInt64(%d)",
			days, i.months, int64(microsPerDay), at, days, int64(microsPerDay), shift)
		return guarded(sql, outside("toInt64("+days+")", firstDay+margin, lastDay-margin), "timestamp out of range")
	}), l)
}

// isFinite is isfinite of dates and timestamps: the ends of the engine's types stand for the infinities.
func isFinite(_ *query, _ string, args []expr) expr {
	x := args[0]
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	switch x.oid {
	case oidDate:
		low, high = math.MinInt32, math.MaxInt32
	case oidTimestamp, oidTimestampTZ:
	default:
		fail("isfinite of this type")
	}
	return with(oidBool, fmt.Sprintf("(%s NOT IN (%d, %d))", x.operand(), low, high), x)
}

func absolute(n int64) int64 { return max(n, -n) }

func addConstant(micros *big.Int, i interval) *big.Int {
	if !micros.IsInt64() || micros.Int64() > lastDay*microsPerDay || micros.Int64() < -700_000*microsPerDay {
		fail("timestamp constant out of range")
	}
	t := time.UnixMicro(micros.Int64()).UTC()
	if i.months != 0 {
		first := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC).AddDate(0, int(i.months), 0)
		lastOfMonth := first.AddDate(0, 1, -1).Day()
		t = time.Date(first.Year(), first.Month(), min(t.Day(), lastOfMonth), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	}
	return big.NewInt(t.UnixMicro() + i.days*microsPerDay + i.micros)
}

// daysOf is the number of days since 1970-01-01 of a timestamp, not guarded. Rounding down of times before 1970 comes from shifting them.
func daysOf(micros string) string {
	const shift = 719_468
	return fmt.Sprintf("toInt32(intDiv(%s + toInt64(%d), %d) - %d)", micros, int64(shift)*microsPerDay, int64(microsPerDay), shift)
}

// calendar is the engine's date of a moment, guarded to the range where it is exact.
func (q *query) calendar(e expr) string {
	return once(e.sql, func(at string) string {
		if e.oid == oidDate {
			return "toDate32(" + guarded(at, outside(at, firstDay, lastDay), "date out of range") + ")"
		}
		return "toDate32(" + guarded(daysOf(at), outside(at, firstDay*microsPerDay, (lastDay+1)*microsPerDay-1), "timestamp out of range") + ")"
	})
}

// calendarFields are the fields that the engine extracts from a date, with an upper bound.
var calendarFields = map[string]string{
	"year": "toYear", "month": "toMonth", "day": "toDayOfMonth", "quarter": "toQuarter", "doy": "toDayOfYear",
	"week": "toISOWeek", "isoyear": "toISOYear", "isodow": "toDayOfWeek",
}

// fieldNames are other words for fields, of those that PostgreSQL's table has (deltatktbl in its datetime.c).
var fieldNames = map[string]string{
	"years": "year", "yr": "year", "yrs": "year", "months": "month", "mon": "month", "mons": "month", "weeks": "week", "days": "day",
	"hours": "hour", "hr": "hour", "hrs": "hour", "minutes": "minute", "min": "minute", "mins": "minute", "seconds": "second", "sec": "second", "secs": "second",
	"decades": "decade", "centuries": "century", "millennia": "millennium", "qtr": "quarter",
}

// fieldNamed is the field that EXTRACT, date_part and date_trunc call so.
func fieldNamed(word string) string {
	word = strings.ToLower(word)
	if field, ok := fieldNames[word]; ok {
		return field
	}
	return word
}

// longFields are units of so many years; the first century is that of the years 1 to 100, a decade that of the
// years that share their other digits.
var longFields = map[string]struct{ years, before int }{"decade": {10, 0}, "century": {100, 99}, "millennium": {1000, 999}}

// julianEpoch is the Julian day of 1970-01-01.
const julianEpoch = 2_440_588

// timeFields are units of the time of day in microseconds, and how many make the next one.
var timeFields = map[string][2]int64{
	"hour": {3_600_000_000, 24}, "minute": {60_000_000, 60},
}

// extract is EXTRACT (numeric) and date_part (float8).
func extract(q *query, name string, args []expr) expr {
	field, ok := args[0].constantText()
	if !ok {
		fail("extract of a field that is not constant")
	}
	field = fieldNamed(field)
	x := args[1]
	if x.oid == oidInterval {
		return q.extractDuration(name, field, x)
	}
	if !isMoment(x.oid) && x.oid != oidTime || x.isNull() {
		fail("extract from this type")
	}
	if field == "epoch" && x.oid != oidTime {
		return q.epoch(name, x)
	}
	x = q.clocked(x)
	if s, ok := secondFields[field]; ok && x.oid != oidDate {
		return q.seconds(name, s, x)
	}
	sql := ""
	if f, ok := calendarFields[field]; ok && x.oid != oidTime {
		sql = "toInt32(" + f + "(" + q.calendar(x) + "))"
	} else if unit, ok := longFields[field]; ok && x.oid != oidTime {
		sql = fmt.Sprintf("toInt32(intDiv(toYear(%s) + %d, %d))", q.calendar(x), unit.before, unit.years)
	} else if field == "julian" && x.oid == oidDate {
		sql = fmt.Sprintf("(%s + %d)", guarded(x.sql, outside(x.sql, firstDay, lastDay), "date out of range"), julianEpoch)
	} else if field == "dow" && x.oid != oidTime {
		sql = "toInt32(toDayOfWeek(" + q.calendar(x) + ") % 7)"
	} else if unit, ok := timeFields[field]; ok && x.oid == oidTime && field == "hour" { // of which there may be 24
		sql = fmt.Sprintf("toInt32(intDiv(%s, %d))", x.sql, unit[0])
	} else if ok && x.oid != oidDate {
		sql = fmt.Sprintf("toInt32(intDiv(%s, %d) %% %d)", q.timeOfDay(x), unit[0], unit[1])
	} else {
		fail("extract of this field")
	}
	if name == "date_part" {
		return tame("toFloat64("+sql+")", x)
	}
	d := decimal{integer: 4}
	if field == "julian" {
		d.integer = 7
	}
	return numericWith("CAST("+sql+", '"+d.String()+"')", d, x)
}

// epoch is the number of seconds since 1970.
func (q *query) epoch(name string, x expr) expr {
	perDay := int64(microsPerDay)
	if x.oid == oidDate {
		perDay = 1
	}
	sql := guarded(x.sql, outside(x.sql, minArithmeticDay*perDay, maxArithmeticDay*perDay), "timestamp out of range")
	d := decimal{integer: 13}
	switch {
	case x.oid == oidDate:
		sql = fmt.Sprintf("toInt64(%s) * 86400", sql)
	case name == "date_part":
		sql = "toFloat64(" + sql + ") / 1000000"
	default:
		sql, d.scale, d.display = fmt.Sprintf("CAST(%s, 'Decimal(19, 0)') * CAST('0.000001', 'Decimal(6, 6)')", sql), 6, 6
	}
	if name == "date_part" {
		return tame("toFloat64("+sql+")", x)
	}
	return numericWith("CAST("+sql+", '"+d.String()+"')", d, x)
}

// secondField is a part of a minute: the digits after the point that PostgreSQL shows of it, and what it computes as a float of the seconds and
// of the microseconds of the last one.
type secondField struct {
	scale int
	float string
}

var secondFields = map[string]secondField{
	"second":       {6, "(toFloat64(%s) + toFloat64(%s) / 1000000)"},
	"milliseconds": {3, "(toFloat64(%s) * 1000 + toFloat64(%s) / 1000)"},
	"microseconds": {0, "(toFloat64(%s) * 1000000 + toFloat64(%s))"},
}

// seconds is a part of a minute (timestamp_part_common).
func (q *query) seconds(name string, field secondField, x expr) expr {
	const perMinute = 60 * microsPerSecond
	micros := q.timeOfDay(x)
	if name == "date_part" {
		return tame(fmt.Sprintf(field.float, fmt.Sprintf("intDiv(%s, %d) %% 60", micros, microsPerSecond), fmt.Sprintf("%s %% %d", micros, microsPerSecond)), x)
	}
	d := decimal{integer: 8, scale: field.scale, display: field.scale}
	whole := fmt.Sprintf("CAST(%s %% %d, 'Decimal(18, 0)')", micros, perMinute)
	if field.scale > 0 {
		whole += fmt.Sprintf(" * CAST('%s', 'Decimal(%d, %[2]d)')", "0."+strings.Repeat("0", field.scale-1)+"1", field.scale)
	}
	return numericWith("CAST("+whole+", '"+d.String()+"')", d, x)
}

// timeOfDay is the number of microseconds since midnight, guarded to the calendar's range; of a time, all of it.
func (q *query) timeOfDay(e expr) string {
	if e.oid == oidTime {
		return e.sql
	}
	return once(e.sql, func(at string) string {
		sql := fmt.Sprintf("(%s - toInt64(%s) * %d)", at, daysOf(at), int64(microsPerDay))
		return guarded(sql, outside(at, firstDay*microsPerDay, (lastDay+1)*microsPerDay-1), "timestamp out of range")
	})
}
