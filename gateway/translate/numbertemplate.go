package translate

import (
	"fmt"
	"strings"
)

// numberTemplate is a template of to_char for numbers: digits with commas and a point, and what stands for itself before and behind them. What depends on
// the locale (D, G, L, S), other signs, Roman numerals and the like are not translated.
type numberTemplate struct {
	before, behind string
	// filled numbers are as wide as the template; the modifier FM leaves blanks out, and zeros at the end where the template has a 9.
	filled bool
	// whole and fraction are how many digits there are before and after the point.
	whole, fraction int
	// commas are the numbers of digits between a comma and the point.
	commas []int
	// zeros is how many digits before the point are shown in any case, kept is the same after the point where blanks are left out.
	zeros, kept int
}

// maxTemplateDigits bounds a template to what the engine's decimals hold.
const maxTemplateDigits = 60

// parseNumberTemplate reads a template (parse_format and NUMDesc_prepare in PostgreSQL's formatting.c).
func parseNumberTemplate(text string) numberTemplate {
	t := numberTemplate{filled: true}
	var digits, point, ended bool
	for rest := text; rest != ""; {
		if tail, ok := cutModifier(rest); ok {
			t.filled, rest = false, tail
			continue
		}
		c := rest[0]
		switch {
		case c == '9' || c == '0':
			if ended {
				fail("to_char with this template")
			}
			digits = true
			t.digit(c == '0', point)
		case c == ',' && digits && !point && !ended && len(rest) > 1 && (rest[1] == '9' || rest[1] == '0'):
			t.commas = append(t.commas, t.whole) // from the left, until all digits are there
		case c == '.' && digits && !point && !ended:
			point = true
		default:
			literal, tail := numberLiteral(rest)
			if digits {
				ended = true
				t.behind += literal
			} else {
				t.before += literal
			}
			rest = tail
			continue
		}
		rest = rest[1:]
	}
	if t.whole == 0 || point && t.fraction == 0 || t.whole+t.fraction > maxTemplateDigits {
		fail("to_char with this template")
	}
	for i := range t.commas {
		t.commas[i] = t.whole - t.commas[i]
	}
	if t.zeros > 0 {
		t.zeros = t.whole - t.zeros + 1
	}
	return t
}

func cutModifier(template string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(template, "FM"); ok {
		return rest, true
	}
	return strings.CutPrefix(template, "fm")
}

// digit adds a digit. zeros is the place of the first 0, counted from the left, until all digits are there.
func (t *numberTemplate) digit(zero, point bool) {
	if point {
		t.fraction++
		if zero {
			t.kept = t.fraction
		}
		return
	}
	t.whole++
	if zero && t.zeros == 0 {
		t.zeros = t.whole
	}
}

// numberLiteral cuts off what stands for itself: a text in double quotes, or a character that is no pattern and no part of one.
func numberLiteral(template string) (literal, rest string) {
	if strings.HasPrefix(template, `"`) {
		return literalPrefix(template)
	}
	for i, r := range template {
		if i > 0 {
			return template[:i], template[i:]
		}
		if isASCIILetter(r) || strings.ContainsRune(`0123456789.,\`, r) {
			fail("to_char with this template")
		}
	}
	return template, ""
}

// numberToChar is to_char of integers and numerics (NUM_processor in PostgreSQL's formatting.c).
func numberToChar(q *query, x expr, template string) expr {
	t := parseNumberTemplate(template)
	if x.oid == oidInt2 && t.fraction > 10 { // which PostgreSQL writes as a float8, of 15 digits
		fail("to_char of a smallint with so many digits")
	}
	x = roundTo(q.coerce(q.number(x), oidNumeric), t.fraction)
	sign := "if(v < 0, '-', '')"
	number := "concat(" + sign + ", " + t.wholeText() + t.fractionText() + ")"
	if t.filled {
		number = fmt.Sprintf("leftPad(%s, %d, ' ')", number, t.width())
	}
	if x.dec.integer > t.whole {
		overflow := "concat(" + sign + ", " + quote(t.overflow()) + ")"
		if t.filled {
			overflow = fmt.Sprintf("leftPad(%s, %d, ' ')", overflow, t.width())
		}
		number = fmt.Sprintf("if(length(w) > %d, %s, %s)", t.whole, overflow, number)
	}
	if t.before != "" || t.behind != "" {
		number = "concat(" + quote(t.before) + ", " + number + ", " + quote(t.behind) + ")"
	}
	digits := fmt.Sprintf("splitByChar('.', assumeNotNull(toDecimalString(abs(v), %d)))", t.fraction)
	sql := bind(bind(bind(number, "w", "d[1]", "f", "d[2]"), "d", digits), "v", x.orElse(0))
	return with(oidText, sql, x).renulledBy(x)
}

// width is how many characters there are in front of and in the digits, a sign among them.
func (t numberTemplate) width() int { return 1 + len(t.overflow()) }

// overflow is what is shown of a number that has too many digits.
func (t numberTemplate) overflow() string {
	text := ""
	left := t.whole
	for _, behind := range t.commas {
		text += strings.Repeat("#", left-behind) + ","
		left = behind
	}
	text += strings.Repeat("#", left)
	if t.fraction > 0 {
		text += "." + strings.Repeat("#", t.fraction)
	}
	return text
}

// wholeText writes the digits before the point, w. A single 0 is only shown where the template says so, or where nothing else is.
func (t numberTemplate) wholeText() string {
	w := "w"
	switch {
	case t.zeros > 1:
		w = fmt.Sprintf("substring(concat('%s', w), 1 + least(%d, length(w)))", strings.Repeat("0", t.zeros), t.zeros)
	case t.zeros == 0 && t.fraction > 0:
		alone := "0"
		if t.filled || t.kept > 0 {
			alone = ""
		}
		w = fmt.Sprintf("if(w = '0', if(v = 0, '%s', ''), w)", alone)
	}
	if len(t.commas) == 0 {
		return w
	}
	var parts []string
	at := 1
	for _, behind := range append(t.commas, 0) {
		next := t.whole - behind + 1
		parts = append(parts, fmt.Sprintf("substring(p, %d, %d)", at, next-at))
		at = next
	}
	grouped := "trim(LEADING ' ,' FROM concat(" + strings.Join(parts, ", ',', ") + "))"
	return bind(grouped, "p", fmt.Sprintf("leftPad(%s, %d, ' ')", w, t.whole))
}

// fractionText writes the point and the digits after it, f, as further arguments of concat.
func (t numberTemplate) fractionText() string {
	switch {
	case t.fraction == 0:
		return ""
	case t.filled || t.kept == t.fraction:
		return ", '.', f"
	}
	return fmt.Sprintf(", '.', substring(f, 1, %d), trim(TRAILING '0' FROM substring(f, %d))", t.kept, t.kept+1)
}
