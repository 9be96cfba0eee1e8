package translate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A text is read as a moment in the plain ISO forms, which mean the same under every DateStyle. All others are left to
// PostgreSQL.
const (
	dayForm    = `[0-9]{4}-[0-9]{2}-[0-9]{2}`
	hourForm   = `([01][0-9]|2[0-3])`
	sixtyForm  = `[0-5][0-9]`
	zoneForm   = `(Z|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?)?`
	momentForm = `^` + dayForm + `([ T]` + hourForm + `:` + sixtyForm + `(:` + sixtyForm + `([.][0-9]{1,6})?` + zoneForm + `)?)?$`
	// zoneFound is what follows a second.
	zoneFound = `:[0-9]{2}(?:[.][0-9]+)?([Z+-][0-9:]*)$`
)

// momentText says where in a text, a name in the engine's SQL, the fields of a moment are: as engine expressions of
// type String, empty for none.
type momentText struct{ day, hour, minute, second, fraction string }

// micros is the moment in microseconds.
func (m momentText) micros() string {
	sum := fmt.Sprintf("toInt64(toDate32OrZero(%s)) * %d", m.day, int64(microsPerDay))
	for _, part := range []struct {
		text string
		unit int64
	}{{m.hour, 3600 * microsPerSecond}, {m.minute, 60 * microsPerSecond}, {m.second, microsPerSecond}, {m.fraction, 1}} {
		if part.text != "" {
			sum += fmt.Sprintf(" + toInt64OrZero(%s) * %d", part.text, part.unit)
		}
	}
	return "(" + sum + ")"
}

// isDay says that there is such a day, of those that the engine knows.
func (m momentText) isDay() string {
	return fmt.Sprintf("toString(toDate32OrZero(%s)) = %[1]s AND %[1]s > '1900-01-01'", m.day)
}

// momentIn reads a text that has a form, in which parts finds the fields.
func momentIn(e expr, form string, parts func(text string) momentText) expr {
	out := with(oidTimestamp, once(e.sql, func(x string) string {
		m := parts(expr{sql: x, null: e.null}.orEmpty())
		return guarded(m.micros(), fmt.Sprintf("NOT (match(%s, %s) AND %s)", x, quote(form), m.isDay()), "text of another form")
	}), e).renulledBy(e)
	out.fails = true
	return out
}

// parsedMoment is a text as a timestamp, which heeds no zone in it, or as one with time zone.
func (q *query) parsedMoment(e expr, oid uint32) expr {
	shown := momentIn(e, momentForm, func(text string) momentText {
		at := func(from, length int) string { return fmt.Sprintf("substring(%s, %d, %d)", text, from, length) }
		fraction := fmt.Sprintf(`rightPad(extract(%s, '[.]([0-9]+)'), 6, '0')`, text)
		return momentText{day: at(1, 10), hour: at(12, 2), minute: at(15, 2), second: at(18, 2), fraction: fraction}
	})
	if oid == oidTimestamp {
		return shown
	}
	// Without a zone it is what the session's clocks show.
	local := q.t.instant(shown, q.t.env.TimeZone)
	zone := "extract(" + e.orEmpty() + ", " + quote(zoneFound) + ")"
	minutes := "toInt64OrZero(substring(z, 2, 2)) * 60 + if(length(z) > 3, toInt64OrZero(substring(z, -2)), 0)"
	instant := fmt.Sprintf("if(z = '', %s, %s - if(startsWith(z, '-'), -1, 1) * (%s) * %d)", local.sql, shown.sql, minutes, 60*microsPerSecond)
	out := with(oidTimestampTZ, bind(instant, "z", zone), e).renulledBy(e)
	out.fails = true
	return out
}

// momentFields are the patterns of to_date and to_timestamp that texts are read by, with the digits that each has to
// have. Each but the year stands beside the one before it.
var momentFields = []struct{ pattern, digits string }{
	{"YYYY", "[0-9]{4}"}, {"MM", "[0-9]{2}"}, {"DD", "[0-9]{2}"}, {"HH24", hourForm}, {"MI", sixtyForm}, {"SS", sixtyForm},
}

// readTemplate reads texts in which each pattern of a template has all of its digits, and each separator is as in the
// template.
func readTemplate(e expr, template string) expr {
	form, found, at := "^", make([]int, len(momentFields)), 1
	for rest := template; rest != ""; {
		i := slices.IndexFunc(momentFields, func(f struct{ pattern, digits string }) bool {
			return strings.HasPrefix(rest, f.pattern) || strings.HasPrefix(rest, strings.ToLower(f.pattern))
		})
		switch {
		case i >= 0 && found[i] == 0:
			found[i], form, rest = at, form+momentFields[i].digits, rest[len(momentFields[i].pattern):]
			at += widthOf(i)
		case i < 0 && strings.ContainsRune("-/.: ", rune(rest[0])):
			form, rest = form+regexp.QuoteMeta(rest[:1]), rest[1:]
			at++
		default:
			fail("reading a text by this template")
		}
	}
	for i, place := range found {
		if place == 0 && (i == 0 || slices.ContainsFunc(found[i:], func(later int) bool { return later > 0 })) {
			fail("reading a text by this template")
		}
	}
	return momentIn(e, form+"$", func(text string) momentText {
		field := func(i int) string {
			if found[i] == 0 {
				return ""
			}
			return fmt.Sprintf("substring(%s, %d, %d)", text, found[i], widthOf(i))
		}
		month, day := "'01'", "'01'"
		if found[1] > 0 {
			month = field(1)
		}
		if found[2] > 0 {
			day = field(2)
		}
		return momentText{day: "concat(" + field(0) + ", '-', " + month + ", '-', " + day + ")", hour: field(3), minute: field(4), second: field(5)}
	})
}

func widthOf(field int) int {
	if field == 0 {
		return 4
	}
	return 2
}

// readMoment is to_timestamp() or to_date() of a text. Of a constant in ISO form it is what the type's own input reads.
func readMoment(q *query, name string, args []expr) expr {
	x := q.asText(args[0])
	template, ok := q.asText(args[1]).constantText()
	if !ok {
		fail("%s by a template that is not a constant", name)
	}
	oid := map[string]uint32{"to_date": oidDate, "to_timestamp": oidTimestampTZ}[name]
	if text, ok := x.constantText(); ok && readForms[template] != nil && readForms[template].MatchString(text) {
		return q.t.parseLiteral(text, oid)
	}
	shown := readTemplate(x, template)
	if oid == oidTimestampTZ {
		return q.t.instant(shown, q.t.env.TimeZone)
	}
	out := with(oidDate, daysOf(shown.sql), shown)
	out.fails = true
	return out
}
