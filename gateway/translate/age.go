package translate

import (
	"fmt"
	"math/big"
	"slices"
)

// age is the difference of two moments in years, months, days and a time (timestamp_age in PostgreSQL's timestamp.c); of one, from midnight of the
// current date. Of two dates PostgreSQL makes timestamps with time zone.
func age(q *query, _ string, args []expr) expr {
	if len(args) == 1 {
		today := integerLiteral(oidDate, big.NewInt(q.clock("age").Today))
		if args[0].oid == oidTimestamp {
			today = q.coerce(today, oidTimestamp)
		} else {
			today = q.coerce(today, oidTimestampTZ)
		}
		args = []expr{today, args[0]}
	}
	is := func(oid uint32) bool { return slices.ContainsFunc(args, func(e expr) bool { return e.oid == oid }) }
	oid := uint32(oidTimestampTZ)
	if is(oidTimestamp) && !is(oidTimestampTZ) {
		oid = oidTimestamp
	}
	pairs := make([]string, 0, 12)
	for i, e := range args {
		if !isMoment(e.oid) || e.isNull() {
			fail("age of this type")
		}
		known := q.coerce(e, oid)
		if known.null {
			known.sql, known.null = "ifNull("+known.sql+", 0)", false
		}
		shown := q.clocked(known)
		names := [][]string{{"i", "a", "s"}, {"j", "b", "t"}}[i]
		pairs = append(pairs, names[0], known.sql, names[1], q.calendar(shown), names[2], q.timeOfDay(shown))
	}
	all := bind(agePartsText(), pairs...)
	part := func(n int) string { return renulled(fmt.Sprintf("tupleElement(%s, %d)", all, n), args...) }
	return intervalOf(intervalFields{months: part(1), days: part(2), micros: part(3), complete: true}, args...)
}

// agePartsText computes an age's months, days and microseconds of the moments i and j, on the days a and b at the times s and t. The later one's fields
// less the earlier one's; what is lacking is borrowed from the next larger field, and a month is as long as the earlier one's.
func agePartsText() string {
	const month = "(toInt64(toYear(%[1]s)) * 12 + toMonth(%[1]s))"
	const leap = "(toYear(e) % 4 = 0 AND (toYear(e) % 100 != 0 OR toYear(e) % 400 = 0))"
	long := "([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][toMonth(e)] + (toMonth(e) = 2 AND " + leap + "))"
	parts := fmt.Sprintf("(g * (m - (d < 0)), g * (d + if(d < 0, toInt64(%s), 0)), g * (u + if(u < 0, %d, 0)))", long, int64(microsPerDay))
	parts = bind(parts, "m", fmt.Sprintf(month, "l")+" - "+fmt.Sprintf(month, "e"), "d", "toInt64(toDayOfMonth(l)) - toDayOfMonth(e) - (u < 0)")
	return bind(parts, "g", "toInt64(if(i < j, -1, 1))", "l", "if(i < j, b, a)", "e", "if(i < j, a, b)", "u", "if(i < j, t - s, s - t)")
}
