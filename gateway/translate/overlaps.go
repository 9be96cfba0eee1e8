package translate

import (
	"fmt"
	"slices"
)

// overlaps is OVERLAPS of two periods, each between two moments in either order, or by its start and how long it is.
func overlaps(q *query, _ string, args []expr) expr {
	oid := overlapType(args)
	for i := range args {
		if args[i].oid == oidInterval {
			continue
		}
		args[i] = q.coerce(args[i], oid)
	}
	for i := 1; i < len(args); i += 2 {
		if args[i].oid == oidInterval {
			args[i] = q.addInterval("+", args[i-1], args[i])
		}
	}
	first, last := make([]string, 2), make([]string, 2)
	for i := range first {
		a, b := args[2*i], args[2*i+1]
		first[i] = "least(" + a.sql + ", " + b.sql + ")" // the one that is known, if only one is
		last[i] = renulled("greatest("+a.sql+", "+b.sql+")", a, b)
	}
	// By the standard, as PostgreSQL reads it (overlaps_timestamp): an end that is not known only matters where the others do not decide.
	later := func(start, other, end string) string {
		return fmt.Sprintf("multiIf(isNull(%s), NULL, %s < %[1]s, true, isNull(%[3]s), NULL, false)", other, start, end)
	}
	sql := fmt.Sprintf("multiIf(isNull(a) OR isNull(c), NULL, a > c, %s, a < c, %s, isNull(b) OR isNull(d), NULL, true)", later("a", "d", "b"), later("c", "b", "d"))
	kind := "Bool"
	if slices.ContainsFunc(args, func(e expr) bool { return e.null }) {
		kind = "Nullable(Bool)"
	} else {
		sql = "(a = c OR a > c AND a < d OR a < c AND c < b)"
	}
	return with(oidBool, "CAST("+bind(sql, "a", first[0], "b", last[0], "c", first[1], "d", last[1])+", '"+kind+"')", args...).costlier()
}

// overlapType is the type in which PostgreSQL compares moments: it prefers time zones, which dates have there, too, unless there are timestamps beside them.
func overlapType(args []expr) uint32 {
	has := func(oid uint32) bool { return slices.ContainsFunc(args, func(e expr) bool { return e.oid == oid }) }
	for i, e := range args {
		if e.isNull() || !isMoment(e.oid) && (e.oid != oidInterval || i%2 == 0) {
			fail("OVERLAPS of these types")
		}
	}
	if has(oidTimestamp) && !has(oidTimestampTZ) {
		return oidTimestamp
	}
	return oidTimestampTZ
}
