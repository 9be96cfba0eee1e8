package translate

import (
	"fmt"
	"regexp"
	"strings"
)

// pattern writes one field of a moment: date is the engine's date, micros the time of day in microseconds. A filled one has its leading zeros
// or trailing blanks, which the modifier FM leaves out.
type pattern func(date, micros string, filled bool) string

// patterns are the template patterns of to_char that are translated. PostgreSQL knows those of numbers in upper and in lower case.
var patterns = withNames(map[string]pattern{
	"YYYY": dateField("toYear(%s)", 4), "IYYY": dateField("toISOYear(%s)", 4), "YY": dateField("toYear(%s) %% 100", 2), "Q": dateField("toQuarter(%s)", 1),
	"MM": dateField("toMonth(%s)", 2), "DD": dateField("toDayOfMonth(%s)", 2), "DDD": dateField("toDayOfYear(%s)", 3),
	"IW": dateField("toISOWeek(%s)", 2), "ID": dateField("toDayOfWeek(%s)", 1), "D": dateField("toDayOfWeek(%s) %% 7 + 1", 1),
	"WW": dateField("intDiv(toDayOfYear(%s) - 1, 7) + 1", 2), "W": dateField("intDiv(toDayOfMonth(%s) - 1, 7) + 1", 1),
	"HH24": timeField("intDiv(%s, 3600000000)", 2), "HH12": timeField(twelveHours, 2), "HH": timeField(twelveHours, 2),
	"MI": timeField("intDiv(%s, 60000000) %% 60", 2), "SS": timeField("intDiv(%s, 1000000) %% 60", 2),
	"MS": alwaysFilled(timeField("intDiv(%s, 1000) %% 1000", 3)), "US": alwaysFilled(timeField("%s %% 1000000", 6)),
	"AM": halfDay("AM", "PM"), "PM": halfDay("AM", "PM"), "am": halfDay("am", "pm"), "pm": halfDay("am", "pm"),
})

// clockPatterns are those of a time, which PostgreSQL makes an interval of, and of an interval.
var clockPatterns = func() map[string]pattern {
	some := map[string]pattern{}
	for _, name := range []string{"HH24", "HH12", "HH", "MI", "SS", "MS", "US"} {
		some[name] = patterns[name]
	}
	return some
}()

// clockOf is an interval without its months and days, in microseconds. PostgreSQL gives the fields of a negative one signs, and those of a long one more digits.
func clockOf(x expr) string {
	f := x.intervalParts()
	if f == nil {
		fail("to_char of a constant interval")
	}
	micros := f.micros
	if !f.complete {
		micros = f.renulled(x).micros
	}
	return once(micros, func(micros string) string {
		return guarded(micros, outside(micros, 0, 100*timeFields["hour"][0]-1), "interval that is negative or long")
	})
}

const twelveHours = "(intDiv(%s, 3600000000) + 11) %% 12 + 1"

// otherPatterns are what PostgreSQL takes for something else where it begins like one of patterns, and what modifies patterns.
var otherPatterns = []string{"SSSSS", "SSSS", "YYY", "IYY", "IDDD", "TH", "SP"}

// withNames adds the patterns of names of months and days: in capitals, capitalised and in small letters, whole and shortened.
func withNames(patterns map[string]pattern) map[string]pattern {
	months := strings.Fields("January February March April May June July August September October November December")
	days := strings.Fields("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
	for _, change := range []func(string) string{strings.ToUpper, strings.ToLower, func(s string) string { return s }} {
		patterns[change("Month")], patterns[change("Mon")] = nameField("toMonth", months, 9, change), nameField("toMonth", months, 3, change)
		patterns[change("Day")], patterns[change("Dy")] = nameField("toDayOfWeek", days, 9, change), nameField("toDayOfWeek", days, 3, change)
	}
	return patterns
}

func dateField(number string, width int) pattern {
	return func(date, _ string, filled bool) string { return numberField(fmt.Sprintf(number, date), width, filled) }
}

func timeField(number string, width int) pattern {
	return func(_, micros string, filled bool) string {
		return numberField(fmt.Sprintf(number, micros), width, filled)
	}
}

func numberField(sql string, width int, filled bool) string {
	if !filled {
		width = 1
	}
	return padded(sql, width)
}

// alwaysFilled is a pattern that FM does not change.
func alwaysFilled(p pattern) pattern {
	return func(date, micros string, _ bool) string { return p(date, micros, true) }
}

// nameField is a name of those that a function numbers from 1: its first letters, or all of it, filled up to a width.
func nameField(function string, names []string, width int, change func(string) string) pattern {
	return func(date, _ string, filled bool) string {
		shown := make([]string, len(names))
		for i, name := range names {
			name = change(name[:min(len(name), width)])
			if filled {
				name += strings.Repeat(" ", width-len(name))
			}
			shown[i] = quote(name)
		}
		return "[" + strings.Join(shown, ", ") + "][" + function + "(" + date + ")]"
	}
}

func halfDay(before, after string) pattern {
	return func(_, micros string, _ bool) string {
		return fmt.Sprintf("['%s', '%s'][intDiv(%s, 43200000000) + 1]", before, after, micros)
	}
}

func padded(sql string, width int) string {
	if width == 1 {
		return "toString(" + sql + ")"
	}
	return fmt.Sprintf("leftPad(toString(%s), %d, '0')", sql, width)
}

// toChar is to_char of dates, timestamps and numbers with a constant template.
func toChar(q *query, _ string, args []expr) expr {
	x, template := args[0], args[1].lit
	if template == nil || template.text == nil || *template.text == "" {
		fail("to_char with a template that is not constant")
	}
	if isNumber(x.oid) {
		return numberToChar(q, x, *template.text)
	}
	date, micros := "", ""
	known := patterns
	switch x.oid {
	case oidTime:
		micros, known = x.sql, clockPatterns
	case oidInterval:
		micros, known = clockOf(x), clockPatterns
	case oidDate, oidTimestamp, oidTimestampTZ:
		if x.oid == oidDate {
			x = q.coerce(x, oidTimestampTZ)
		}
		x = q.clocked(x)
		date, micros = q.calendar(x), q.timeOfDay(x)
	default:
		fail("to_char of this type")
	}
	var parts []string
	shown := false
	for left := *template.text; left != ""; {
		if literal, tail := literalPrefix(left); literal != "" {
			parts, left = append(parts, quote(literal)), tail
			continue
		}
		rest, unfilled := strings.CutPrefix(left, "FM")
		name := templatePattern(rest)
		p, ok := known[name]
		if !ok && name == strings.ToLower(name) {
			p, ok = known[strings.ToUpper(name)]
		}
		if !ok {
			fail("to_char with this template")
		}
		parts, left, shown = append(parts, p(date, micros, !unfilled)), rest[len(name):], true
	}
	if !shown { // it is NULL all the same where the moment is, or is infinite
		fail("to_char with this template")
	}
	if len(parts) == 1 {
		return with(oidText, parts[0], x)
	}
	return with(oidText, "concat("+strings.Join(parts, ", ")+")", x)
}

// literalPrefix cuts off what a template begins with and stands for itself: all but letters and backslashes, or a text in double quotes.
func literalPrefix(template string) (literal, rest string) {
	if tail, quoted := strings.CutPrefix(template, `"`); quoted {
		literal, rest, closed := strings.Cut(tail, `"`)
		if !closed || strings.Contains(literal, `\`) {
			fail("to_char with this template")
		}
		return literal, rest
	}
	rest = strings.TrimLeftFunc(template, func(r rune) bool { return !isASCIILetter(r) && r != '"' && r != '\\' })
	return template[:len(template)-len(rest)], rest
}

func isASCIILetter(c rune) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

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

// readForms are the templates by which constants are read, with the only form of a constant for which one is: every pattern with all of its digits.
var readForms = map[string]*regexp.Regexp{
	"YYYY-MM-DD":               regexp.MustCompile(`^\d{4}-\d\d-\d\d$`),
	"YYYY-MM-DD HH24:MI":       regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d$`),
	"YYYY-MM-DD HH24:MI:SS":    regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`),
	"YYYY-MM-DD HH24:MI:SS.MS": regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$`),
	"YYYY-MM-DD HH24:MI:SS.US": regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$`),
}

// toTimestamp is to_timestamp() of seconds or of a text.
func toTimestamp(q *query, name string, args []expr) expr {
	if len(args) == 1 {
		return q.secondsToTimestamp(args[0])
	}
	return readMoment(q, name, args)
}
