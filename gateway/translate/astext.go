package translate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/freshet-io/freshet/gateway/finish"
)

// castToText is a value as PostgreSQL casts it to text.
func (q *query) castToText(e expr) expr {
	if e.oid == oidBool && !e.isNull() {
		return with(oidText, "if("+e.sql+", 'true', 'false')", e).renulledBy(e)
	}
	return q.written(e)
}

// written is a value as the output function of its type writes it, in a session whose DateStyle is ISO: others have no columnar route.
func (q *query) written(e expr) expr {
	switch {
	case e.isNull():
		return nullOf(oidText)
	case e.oid == oidBpchar:
		return with(oidText, withBlanks(e), e)
	case e.isUnknown() || isString(e.oid):
		return q.asText(e)
	case e.enum || e.oid == oidJSON || e.oid == oidNumeric && e.opaque:
		return with(oidText, e.sql, e)
	case e.oid == oidJSONB:
		return with(oidText, writtenJSON(e.sql), e).costlier()
	case e.opaque:
		fail("text of an opaque type")
	}
	switch e.oid {
	case oidBool:
		return with(oidText, "if("+e.sql+", 't', 'f')", e).renulledBy(e)
	case oidInt2, oidInt4, oidInt8:
		return with(oidText, "toString("+e.sql+")", e)
	case oidNumeric:
		if e.dec.display < 0 || e.dec.display != e.dec.scale {
			fail("text of a numeric whose display scale is not known")
		}
		return with(oidText, "toDecimalString("+e.sql+", "+itoa(e.dec.scale)+")", e)
	case oidDate:
		return with(oidText, "toString("+q.calendar(e)+")", e)
	case oidTime:
		return with(oidText, once(e.sql, clockText), e)
	case oidTimestamp:
		return with(oidText, q.timestampText(e), e)
	case oidTimestampTZ:
		zone := q.t.env.TimeZone
		offset := "'+00'"
		if !finish.IsUTC(zone) {
			offset = once(offsetAt(q.t.zone(zone), e.sql), offsetText)
		}
		return with(oidText, "concat("+q.timestampText(q.clocked(e))+", "+offset+")", e)
	case oidUUID:
		return with(oidText, "replaceRegexpOne(lower(hex("+e.sql+")), '^(.{8})(.{4})(.{4})(.{4})', "+quote(`\1-\2-\3-\4-`)+")", e)
	}
	fail("text of this type")
	return expr{}
}

// timestampText writes a timestamp without time zone.
func (q *query) timestampText(e expr) string {
	return "concat(toString(" + q.calendar(e) + "), ' ', " + once(q.timeOfDay(e), clockText) + ")"
}

// clockText writes a time of day in microseconds; a fraction of a second has no trailing zeros.
func clockText(micros string) string {
	field := func(name string) string { return patterns[name]("", micros, true) }
	fraction := fmt.Sprintf("if(%s %% %d = 0, '', concat('.', trim(TRAILING '0' FROM %s)))", micros, microsPerSecond, field("US"))
	return "concat(" + field("HH24") + ", ':', " + field("MI") + ", ':', " + field("SS") + ", " + fraction + ")"
}

// offsetText writes how far a zone is ahead of UTC, in microseconds: minutes only where there are any. Offsets with seconds are guarded.
func offsetText(micros string) string {
	part := func(unit, many int64) string {
		return padded(fmt.Sprintf("intDiv(abs(%s), %d) %% %d", micros, unit, many), 2)
	}
	sql := fmt.Sprintf("concat(if(%s < 0, '-', '+'), %s, if(%[1]s %% 3600000000 = 0, '', concat(':', %[3]s)))", micros, part(3_600_000_000, 24), part(60_000_000, 60))
	return guarded(sql, micros+" % 60000000 != 0", "offset of a time zone in seconds")
}

// format is format() of a constant in which %s stands for the arguments in turn.
func format(q *query, _ string, args []expr) expr {
	rest, ok := args[0].constantText()
	if !ok {
		fail("format that is not constant")
	}
	var parts []string
	operands := args[1:]
	used := 0
	for rest != "" {
		before, after, found := strings.Cut(rest, "%")
		if before != "" {
			parts = append(parts, quote(before))
		}
		switch {
		case !found:
		case strings.HasPrefix(after, "%"):
			parts = append(parts, "'%'")
			after = after[1:]
		case strings.HasPrefix(after, "s") && used < len(operands):
			operands[used] = q.written(operands[used])
			parts = append(parts, operands[used].orEmpty())
			after = after[1:]
			used++
		default:
			fail("format of this kind")
		}
		rest = after
	}
	if used < len(operands) { // which PostgreSQL computes
		fail("format with more arguments than it shows")
	}
	e := with(oidText, "concat("+strings.Join(append(parts, "''", "''"), ", ")+")", operands...)
	e.null = false
	return e
}

// overlay replaces a piece of a text by another: as many characters as that has, or a constant number of them.
func overlay(q *query, _ string, args []expr) expr {
	x, by := q.asText(args[0]), q.asText(args[1])
	const most = 1 << 30 // well within what positions are counted in
	start, ok := q.asInt(args[2]).constantFrom(1)
	if !ok || start > most {
		fail("overlay from what is not a constant")
	}
	count := "lengthUTF8(" + by.sql + ")"
	if len(args) == 4 {
		n, ok := q.asInt(args[3]).constantFrom(0)
		if !ok || n > most {
			fail("overlay for what is not a constant")
		}
		count = strconv.FormatInt(n, 10)
	}
	sql := fmt.Sprintf("concat(substringUTF8(%[1]s, 1, %[2]d - 1), %[3]s, substringUTF8(%[1]s, %[2]d + %[4]s))", x.sql, start, by.sql, count)
	return with(oidText, sql, x, by)
}
