package translate

import (
	"fmt"
	"strings"

	"github.com/freshet-io/freshet/gateway/finish"
)

// intervalFields are the parts of an interval that is computed by the row, as PostgreSQL keeps them: engine expressions of type Int64. Such an interval
// is a text for the engine, which package finish reads; what is computed of it is computed of its parts.
type intervalFields struct {
	// sql is the interval's own text: an expression that was made something else has another.
	sql                  string
	months, days, micros string
	// complete parts are each NULL where the interval is; of others one that is constant is not.
	complete bool
}

const noPart = "toInt64(0)"

// intervalOf is an interval of such parts.
func intervalOf(f intervalFields, operands ...expr) expr {
	parts := make([]string, 0, 3)
	for _, part := range []string{f.months, f.days, f.micros} {
		parts = append(parts, "toString("+part+")")
	}
	f.sql = "concat('P ', " + strings.Join(parts, ", ' ', ") + ")"
	e := with(oidInterval, f.sql, operands...)
	e.opaque, e.fields = true, &f
	return e
}

// intervalParts are the parts of an interval that is no constant, if they are at hand.
func (e expr) intervalParts() *intervalFields {
	switch {
	case e.oid != oidInterval || e.lit != nil:
		return nil
	case !e.opaque:
		return &intervalFields{months: noPart, days: wholeDays(e.sql), micros: dayRest(e.sql)}
	case e.fields != nil && e.fields.sql == e.sql:
		return e.fields
	}
	return nil
}

// total is what the interval is compared by (interval_cmp_value).
func (f intervalFields) total() string {
	return fmt.Sprintf("((toInt128(%s) * 30 + %s) * %d + %s)", f.months, f.days, int64(microsPerDay), f.micros)
}

// fields are the parts of a constant.
func (i interval) fields() intervalFields {
	part := func(n int64) string { return fmt.Sprintf("toInt64(%d)", n) }
	return intervalFields{months: part(i.months), days: part(i.days), micros: part(i.micros)}
}

func sumOfFields(all []intervalFields) intervalFields {
	sum := intervalFields{months: noPart, days: noPart, micros: noPart}
	add := func(to *string, part string) {
		switch {
		case part == noPart:
		case *to == noPart:
			*to = part
		default:
			*to = "(" + *to + " + " + part + ")"
		}
	}
	for _, f := range all {
		add(&sum.months, f.months)
		add(&sum.days, f.days)
		add(&sum.micros, f.micros)
	}
	return sum
}

// product is a constant interval times a number by the row (interval_mul). PostgreSQL multiplies by a float8, which is exact for whole numbers that are not
// too large; of others it makes days of parts of a month, and hours of parts of a day, but nothing of a time alone.
func (q *query) product(i interval, n expr) intervalFields {
	if !isInteger(n.oid) && i.months == 0 && i.days == 0 {
		product := fmt.Sprintf("(%s * toFloat64(%d))", q.coerce(n, oidFloat8).sql, i.micros)
		micros := once(product, func(x string) string {
			return "toInt64(roundBankers(" + lazy(guarded(x, fmt.Sprintf("NOT (abs(%s) <= %d)", x, exactInteger), "interval out of range"), "0") + "))"
		})
		return intervalFields{months: noPart, days: noPart, micros: micros}
	}
	limit := int64(longestInterval)
	for _, part := range []struct{ n, most int64 }{{i.months, longestInterval / 30}, {i.days, longestInterval}, {i.micros, exactInteger}} {
		if part.n != 0 {
			limit = min(limit, part.most/absolute(part.n))
		}
	}
	part := func(m int64) string {
		if m == 0 {
			return noPart
		}
		if !isInteger(n.oid) { // a day of the week, as a numeric
			return once(q.coerce(n, oidFloat8).sql, func(x string) string {
				whole := guarded(x, fmt.Sprintf("NOT (abs(%s) <= %d AND %[1]s = trunc(%[1]s))", x, limit), "interval times what is not a whole number")
				return fmt.Sprintf("(toInt64(%s) * %d)", lazy(whole, "0"), m)
			})
		}
		return once(n.sql, func(x string) string {
			return fmt.Sprintf("(toInt64(%s) * %d)", guarded(x, outside(x, -limit, limit), "interval out of range"), m)
		})
	}
	return intervalFields{months: part(i.months), days: part(i.days), micros: part(i.micros)}
}

// divided is an interval without months over a float8 that is not zero (interval_div): parts of a day become hours.
func (f intervalFields) divided(by string) intervalFields {
	const micros = "roundBankers(toFloat64(t) / n + (r - w * 86400) * 1000000)"
	body := bind("(toInt64(q) + w, toInt64("+guarded(micros, fmt.Sprintf("NOT (abs(q) <= %d AND abs(%s) <= %d)", longestInterval, micros, int64(longestInterval)*microsPerDay), "interval out of range")+"))",
		"w", "toInt64(r / 86400)")
	body = bind(body, "r", "roundBankers((q - toInt64(q)) * 86400 * 1000000) / 1000000")
	body = bind(body, "q", "toFloat64(d) / n")
	both := bind(body, "d", "ifNull("+f.days+", 0)", "t", "ifNull("+f.micros+", 0)", "n", "ifNull("+by+", 1)")
	return intervalFields{months: noPart, days: "tupleElement(" + both + ", 1)", micros: "tupleElement(" + both + ", 2)"}
}

// renulled makes the parts NULL where an operand is.
func (f intervalFields) renulled(operands ...expr) intervalFields {
	part := func(sql string) string { return renulled(sql, operands...) }
	return intervalFields{months: part(f.months), days: part(f.days), micros: part(f.micros), complete: true}
}

// quotientOfInterval is an interval by the row, without months, over a number.
func (q *query) quotientOfInterval(l expr, n expr) expr {
	f := l.intervalParts()
	if f == nil || f.months != noPart || !isNumber(n.oid) || n.isNull() || !q.t.env.UnfusedFloats {
		fail("division of an interval")
	}
	by := once(q.coerce(n, oidFloat8).sql, func(x string) string {
		return lazy(guarded(x, x+" = 0 OR NOT isFinite("+x+")", "division by zero"), "1")
	})
	e := intervalOf(f.divided(by).renulled(l, n), l, n)
	e.fails = true
	return e
}

// extractField is EXTRACT and date_part from an interval with months (interval_part_common).
func (f intervalFields) extractField(name, field string, x expr) expr {
	if !f.complete {
		f = f.renulled(x)
	}
	years, months := fmt.Sprintf("intDiv(%s, 12)", f.months), fmt.Sprintf("((%s) %% 12)", f.months)
	var sql string
	switch field {
	case "year":
		sql = years
	case "month":
		sql = months
	case "day":
		sql = f.days
	case "hour":
		sql = fmt.Sprintf("intDiv(%s, %d)", f.micros, timeFields[field][0])
	case "minute":
		sql = fmt.Sprintf("intDiv(%s, %d) %% 60", f.micros, timeFields[field][0])
	case "epoch":
		if name == "date_part" {
			return with(oidFloat8, fmt.Sprintf("(toFloat64(%s) / 1000000 + 31557600 * toFloat64(%s) + 2592000 * toFloat64(%s) + 86400 * toFloat64(%s))", f.micros, years, months, f.days), x)
		}
		d := decimal{integer: 16, scale: 6, display: 6}
		seconds := fmt.Sprintf("CAST(%s * 31557600 + %s * 2592000 + %s * 86400, 'Decimal(19, 0)')", years, months, f.days)
		return numericWith(fmt.Sprintf("CAST(%s + CAST(%s, 'Decimal(19, 0)') * CAST('0.000001', 'Decimal(6, 6)'), '%s')", seconds, f.micros, d), d, x)
	default:
		fail("extract of this field of an interval")
	}
	if name == "date_part" {
		return with(oidFloat8, "toFloat64("+sql+")", x)
	}
	d := decimal{integer: 13}
	return numericWith("CAST("+sql+", '"+d.String()+"')", d, x)
}

// mostMonths bounds what is added to dates: all of the calendar's.
const mostMonths = 400 * 12

// addParts adds an interval that is no constant to a timestamp, or takes it away.
func (q *query) addParts(op string, l expr, f intervalFields, r expr) expr {
	steps := []intervalFields{f}
	here := func(e expr) expr { return e }
	there := here
	if zone := q.t.env.TimeZone; l.oid == oidTimestampTZ && !finish.IsUTC(zone) {
		// Months and days are counted by the zone's clocks, each by itself; hours are the same everywhere.
		here, there = func(e expr) expr { return q.t.local(e, zone) }, func(e expr) expr { return q.t.instant(e, zone) }
		steps = []intervalFields{{months: f.months, days: noPart, micros: noPart}, {months: noPart, days: f.days, micros: noPart}, {months: noPart, days: noPart, micros: f.micros}}
	}
	for _, step := range steps {
		switch {
		case step.months == noPart && step.days == noPart && step.micros == noPart:
		case step.months == noPart && step.days == noPart:
			l = q.shiftBy(op, l, step, r)
		default:
			l = there(q.shiftBy(op, here(l), step, r))
		}
	}
	return l
}

// shiftBy is addParts as if the timestamp were of UTC.
func (q *query) shiftBy(op string, l expr, f intervalFields, r expr) expr {
	at := l.sql
	if f.months != noPart {
		at = renulled(q.addMonths(op, l, f.months), l, expr{sql: f.months, oid: oidInt8, null: r.null, fails: r.fails})
	}
	var added []string
	wrong := []string{outside(l.sql, minArithmeticDay*microsPerDay, maxArithmeticDay*microsPerDay)}
	if f.days != noPart {
		added = append(added, fmt.Sprintf("toInt64(%s) * %d", f.days, int64(microsPerDay)))
		wrong = append(wrong, outside(f.days, -longestInterval, longestInterval))
	}
	if f.micros != noPart {
		added = append(added, f.micros)
		wrong = append(wrong, outside(f.micros, -longestInterval*microsPerDay, longestInterval*microsPerDay))
	}
	sql := at
	if len(added) > 0 {
		sql = fmt.Sprintf("%s %s (%s)", at, op, strings.Join(added, " + "))
	}
	e := with(l.oid, guarded("toInt64("+sql+")", strings.Join(wrong, " OR "), "timestamp out of range"), l, r)
	e.sql = "(" + e.sql + ")"
	return e
}

// addMonths writes a timestamp so many months later or earlier: on the same day, or the last one of a shorter month.
func (q *query) addMonths(op string, l expr, months string) string {
	moved := fmt.Sprintf("toInt64(toInt32(addMonths(d, %sm))) * %d + t", strings.TrimPrefix(op, "+"), int64(microsPerDay))
	month := fmt.Sprintf("toInt64(toYear(d)) * 12 + toMonth(d) - 1 %s m", op)
	lowest, highest := int64(1900*12), int64(2299*12+10) // to November, for the calendar's last day is none of the engine's
	wrong := outside("m", -mostMonths, mostMonths) + " OR " + outside("("+month+")", lowest, highest)
	known := l
	known.sql, known.null = "ifNull("+l.sql+", 0)", false
	return bind(guarded(moved, wrong, "timestamp out of range"), "d", q.calendar(known), "t", q.timeOfDay(known), "m", "ifNull("+months+", 0)")
}
