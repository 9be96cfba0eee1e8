package translate

import (
	"fmt"
	"strings"
)

// pattern writes one field of a moment: date is the engine's date, micros the time of day in microseconds.
type pattern func(date, micros string) string

// patterns are the template patterns of to_char that are translated. PostgreSQL knows them in upper and in lower case.
var patterns = map[string]pattern{
	"YYYY": dateField("toYear", 4), "IYYY": dateField("toISOYear", 4), "MM": dateField("toMonth", 2), "DD": dateField("toDayOfMonth", 2),
	"DDD": dateField("toDayOfYear", 3), "IW": dateField("toISOWeek", 2), "ID": dateField("toDayOfWeek", 1), "Q": dateField("toQuarter", 1),
	"YY":   func(date, _ string) string { return padded("toYear("+date+") % 100", 2) },
	"HH24": timeField(3_600_000_000, 24, 2), "MI": timeField(60_000_000, 60, 2), "SS": timeField(1_000_000, 60, 2),
	"MS": timeField(1000, 1000, 3), "US": timeField(1, 1_000_000, 6),
	"MON": monthName("JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"),
	"mon": monthName("janfebmaraprmayjunjulaugsepoctnovdec"),
	"Mon": monthName("JanFebMarAprMayJunJulAugSepOctNovDec"),
}

// otherPatterns are what PostgreSQL takes for something else where it begins like one of patterns, and what modifies patterns.
var otherPatterns = []string{"SSSSS", "SSSS", "YYY", "IYY", "IDDD", "MONTH", "Month", "month", "TH", "SP"}

func dateField(function string, width int) pattern {
	return func(date, _ string) string { return padded(function+"("+date+")", width) }
}

func timeField(unit, many int64, width int) pattern {
	return func(_, micros string) string {
		return padded(fmt.Sprintf("intDiv(%s, %d) %% %d", micros, unit, many), width)
	}
}

// monthName picks three letters of names.
func monthName(names string) pattern {
	return func(date, _ string) string { return "substring('" + names + "', toMonth(" + date + ") * 3 - 2, 3)" }
}

func padded(sql string, width int) string {
	if width == 1 {
		return "toString(" + sql + ")"
	}
	return fmt.Sprintf("leftPad(toString(%s), %d, '0')", sql, width)
}

// toChar is to_char of dates and timestamps with a constant template.
func toChar(q *query, _ string, args []expr) expr {
	x, template := args[0], args[1].lit
	if template == nil || template.text == nil || *template.text == "" {
		fail("to_char with a template that is not constant")
	}
	if x.oid == oidDate {
		x = q.coerce(x, oidTimestampTZ)
	}
	if x.oid != oidTimestamp && x.oid != oidTimestampTZ {
		fail("to_char of this type")
	}
	x = q.clocked(x)
	date, micros := q.calendar(x), q.timeOfDay(x)
	var parts []string
	for rest := *template.text; rest != ""; {
		if literal, tail := literalPrefix(rest); literal != "" {
			parts, rest = append(parts, quote(literal)), tail
			continue
		}
		name := templatePattern(rest)
		p, ok := patterns[name]
		if !ok && name == strings.ToLower(name) {
			p, ok = patterns[strings.ToUpper(name)]
		}
		if !ok {
			fail("to_char with this template")
		}
		parts, rest = append(parts, p(date, micros)), rest[len(name):]
	}
	if len(parts) == 1 {
		return with(oidText, parts[0], x)
	}
	return with(oidText, "concat("+strings.Join(parts, ", ")+")", x)
}

// literalPrefix cuts off what a template begins with and stands for itself: punctuation, or a text in double quotes.
func literalPrefix(template string) (literal, rest string) {
	if tail, quoted := strings.CutPrefix(template, `"`); quoted {
		literal, rest, closed := strings.Cut(tail, `"`)
		if !closed || strings.Contains(literal, `\`) || !isASCII(literal) {
			fail("to_char with this template")
		}
		return literal, rest
	}
	n := 0
	for n < len(template) && strings.IndexByte(" -/.,:;_()", template[n]) >= 0 {
		n++
	}
	return template[:n], template[n:]
}

// templatePattern is the longest pattern that a template begins with; empty: none.
func templatePattern(template string) string {
	longest := ""
	try := func(name string) {
		for _, form := range []string{name, strings.ToLower(name)} {
			if len(form) > len(longest) && strings.HasPrefix(template, form) {
				longest = form
			}
		}
	}
	for name := range patterns {
		try(name)
	}
	for _, name := range otherPatterns {
		try(name)
	}
	return longest
}
