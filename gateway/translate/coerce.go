package translate

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// displayText is the display scale of a numeric as an engine expression.
func (e expr) displayText() string {
	if e.dec.display >= 0 {
		// NULL values have no display scale, so that max() over a group ignores them.
		if e.null {
			return fmt.Sprintf("if(isNull(%s), NULL, toInt32(%d))", e.sql, e.dec.display)
		}
		return fmt.Sprintf("toInt32(%d)", e.dec.display)
	}
	return e.dec.displaySQL
}

// scaled is a numeric's text in a representation that is wide enough for it.
func (e expr) scaled(d decimal) string {
	if e.isNull() {
		return engineNull(d.String())
	}
	if e.lit == nil && e.dec.scale == d.scale && e.dec.precision() == d.precision() {
		return e.sql
	}
	return "CAST(" + e.sql + ", '" + d.String() + "')"
}

// widest is the representation that holds all of some numerics.
func widest(all []expr) decimal {
	d := decimal{display: -3}
	for _, a := range all {
		if a.isNull() {
			continue
		}
		d.integer = max(d.integer, a.dec.integer)
		d.scale = max(d.scale, a.dec.scale)
		switch {
		case d.display == -3:
			d.display, d.displaySQL = a.dec.display, a.dec.displaySQL
		case d.display == displayUnknown || a.dec.display == displayUnknown:
			d.display = displayUnknown
		case d.display != a.dec.display || d.display == displayDynamic:
			d.display = displayDynamic
		}
	}
	if d.display == -3 {
		d.display = 0
	}
	if d.integer+d.scale > maxPrecision {
		fail("numeric of more than %d digits", maxPrecision)
	}
	return d
}

// typeRank orders the number types and the date types by PostgreSQL's implicit casts.
func typeRank(oid uint32) (category, rank int) {
	switch oid {
	case oidInt2:
		return 1, 1
	case oidInt4:
		return 1, 2
	case oidInt8:
		return 1, 3
	case oidNumeric:
		return 1, 4
	case oidFloat4:
		return 1, 5
	case oidFloat8:
		return 1, 6
	case oidDate:
		return 2, 1
	case oidTimestamp:
		return 2, 2
	case oidTimestampTZ:
		return 2, 3
	case oidText, oidVarchar, oidBpchar, oidName:
		return 3, 0 // casts between them go both ways, but for a name's: the first type stays, unless it is unknown
	}
	return int(oid) + 100, 0
}

// unify brings alternatives to the type that PostgreSQL chooses for CASE, UNION and the like.
func (q *query) unify(all []expr) []expr {
	oid := uint32(oidUnknown)
	for _, a := range all {
		if a.isUnknown() {
			continue
		}
		if oid == oidUnknown {
			oid = a.oid
			continue
		}
		c1, r1 := typeRank(oid)
		c2, r2 := typeRank(a.oid)
		if c1 != c2 {
			fail("alternatives of different types")
		}
		if r2 > r1 {
			oid = a.oid
		}
	}
	switch {
	case oid == oidUnknown:
		oid = oidText
	case (oid == oidVarchar || oid == oidBpchar) && slices.ContainsFunc(all, func(e expr) bool { return e.oid == oidName }):
		fail("alternatives of which one is a name") // and so all are, of as many bytes: only text has a cast from it
	}
	out := make([]expr, len(all))
	enum := slices.IndexFunc(all, func(e expr) bool { return e.enum && e.oid == oid })
	for i, a := range all {
		if enum >= 0 && a.isUnknown() {
			out[i] = q.constantFor(a, all[enum])
			continue
		}
		out[i] = q.coerce(a, oid)
	}
	readNumerics(out)
	opaque := slices.IndexFunc(out, func(e expr) bool { return e.opaque })
	for i := range out {
		if opaque >= 0 && !out[i].opaque {
			if !out[i].isNull() {
				fail("alternatives of an opaque type")
			}
			out[i].opaque = true
		}
	}
	return out
}

// coerce applies PostgreSQL's implicit cast.
func (q *query) coerce(e expr, oid uint32) expr {
	if e.oid == oid {
		return e
	}
	if oid != oidFloat8 {
		e = readNumeric(e)
	}
	switch {
	case e.isNull():
		return nullOf(oid)
	case e.isUnknown():
		return q.t.parseLiteral(*e.lit.text, oid)
	case e.oid == oidNumeric && e.opaque && oid == oidFloat8:
		return readFloat(e)
	case e.opaque:
		fail("cast of an opaque type")
	case isInteger(e.oid) && isInteger(oid) && integerDigits[oid] > integerDigits[e.oid]:
		return widen(e, oid)
	case isInteger(e.oid) && oid == oidNumeric:
		return toNumeric(e)
	case isInteger(e.oid) && oid == oidFloat8:
		return tame("toFloat64("+e.sql+")", e)
	case e.oid == oidFloat4 && oid == oidFloat8:
		return with(oidFloat8, "toFloat64("+e.sql+")", e)
	case e.oid == oidNumeric && oid == oidFloat8:
		return numericToFloat(e)
	case isText(e.oid) && isText(oid) && oid != oidName:
		e.oid = oid
		return e.plain()
	case e.oid == oidBpchar && isText(oid):
		e.oid, e.pad = oid, -1
		return e.plain()
	case isText(e.oid) && oid == oidBpchar:
		return trimmed(e)
	case e.oid == oidDate && (oid == oidTimestamp || oid == oidTimestampTZ):
		return q.dateToTimestamp(e, oid)
	case e.oid == oidTimestamp && oid == oidTimestampTZ:
		return q.t.instant(e, q.t.env.TimeZone)
	}
	fail("cast between these types")
	return expr{}
}

func widen(e expr, oid uint32) expr {
	if e.lit != nil {
		return integerLiteral(oid, e.lit.integer)
	}
	low, high := e.bounds()
	out := with(oid, "CAST("+e.sql+", '"+expr{oid: oid}.engineType()+"')", e)
	out.bounded, out.low, out.high = true, low.Int64(), high.Int64()
	out.nonzero = e.nonzero
	return out
}

func toNumeric(e expr) expr {
	if e.lit != nil {
		return numericLiteral(number{e.lit.integer, 0})
	}
	low, high := e.bounds()
	digits := max(len(new(big.Int).Abs(low).String()), len(high.String()))
	d := decimal{integer: digits}
	out := numericWith("CAST("+e.sql+", '"+d.String()+"')", d, e)
	out.nonzero = e.nonzero
	return out
}

// trimmed is a text as bpchar: trailing blanks do not count, but are shown.
func trimmed(e expr) expr {
	out := with(oidBpchar, "trimRight("+e.sql+")", e)
	if text, ok := e.constantText(); ok {
		out = textLiteral(oidBpchar, strings.TrimRight(text, " "))
		out.collation = e.collation
	}
	out.blanks = &blanks{out.sql, e.sql}
	return out
}

var (
	floatForm = regexp.MustCompile(`^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$`)
	uuidForm  = regexp.MustCompile(`^[[:xdigit:]]{4}(-?[[:xdigit:]]{4}){7}$`)
	timeForm  = regexp.MustCompile(`^(\d\d?):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?$`)
)

// parseFloat reads decimals that the type has. PostgreSQL refuses those that are too large, and those that are not zero but too small.
func parseFloat(s string, oid uint32) (float64, bool) {
	bits := 64
	if oid == oidFloat4 {
		bits = 32
	}
	v, err := strconv.ParseFloat(trimBlanks(s), bits)
	if err != nil || !floatForm.MatchString(s) {
		return 0, false
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
	return v, v != 0 || !strings.ContainsAny(mantissa, "123456789")
}

// floatLiteral writes the bits, since the engine's own reading of decimals is not exact.
func floatLiteral(oid uint32, v float64, text string) expr {
	e := expr{oid: oid, lit: &literal{text: &text}, pad: -1}
	if oid == oidFloat4 {
		narrow, err := strconv.ParseFloat(trimBlanks(text), 32)
		if err != nil {
			fail("constant out of range")
		}
		e.sql = fmt.Sprintf("reinterpret(toUInt32(%d), 'Float32')", math.Float32bits(float32(narrow)))
		return e
	}
	e.sql = fmt.Sprintf("reinterpret(toUInt64(%d), 'Float64')", math.Float64bits(v))
	return e
}

func uuidLiteral(raw []byte) expr {
	return expr{sql: fmt.Sprintf("CAST(unhex('%x'), 'FixedString(16)')", raw), oid: oidUUID, pad: -1}
}

// nameBytes is how long a name may be; PostgreSQL's NAMEDATALEN-1, which is fixed when it is compiled and hardly ever another.
const nameBytes = 63

// clipName is the string as a name: as many of its characters as fit.
func clipName(s string) string {
	if len(s) <= nameBytes {
		return s
	}
	end := nameBytes
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// trimBlanks drops what PostgreSQL's input functions take for blanks around a value.
func trimBlanks(s string) string { return strings.Trim(s, " \t\n\v\f\r") }

// parseLiteral reads a string constant as PostgreSQL's input function of a type would.
func (t *translator) parseLiteral(s string, oid uint32) expr {
	t.env.Dialect.checkText(s, oid)
	var e expr
	var ok bool
	switch oid {
	case oidText, oidVarchar:
		return textLiteral(oid, s)
	case oidName:
		return textLiteral(oid, clipName(s))
	case oidBpchar:
		return trimmed(textLiteral(oidText, s))
	case oidInt2, oidInt4, oidInt8, oidNumeric, oidFloat4, oidFloat8:
		e, ok = parseNumeral(s, oid)
	case oidDate, oidTimestamp, oidTimestampTZ, oidTime, oidInterval:
		e, ok = t.parseTemporal(s, oid)
	case oidBool:
		e, ok = parseBool(s)
	case oidUUID:
		e, ok = parseUUID(s)
	case oidBytea:
		e, ok = parseBytea(s)
	case oidJSON, oidJSONB: // what COALESCE has in place of nothing
		e, ok = expr{sql: quote(s), oid: oid, opaque: true, pad: -1}, s == "[]" || s == "{}"
	}
	if !ok {
		fail("string constant as a value of %s in this form", typeName(oid))
	}
	return e
}

func parseNumeral(s string, oid uint32) (expr, bool) {
	switch oid {
	case oidNumeric:
		n, ok := parseNumber(s)
		if !ok {
			return expr{}, false
		}
		return numericLiteral(n), true
	case oidFloat4, oidFloat8:
		v, ok := parseFloat(s, oid)
		if !ok {
			return expr{}, false
		}
		return floatLiteral(oid, v, s), true
	}
	i, ok := new(big.Int).SetString(trimBlanks(s), 10)
	if !ok || i.Cmp(big.NewInt(minOf[oid])) < 0 || i.Cmp(big.NewInt(maxOf[oid])) > 0 {
		return expr{}, false
	}
	return integerLiteral(oid, i), true
}

func (t *translator) parseTemporal(s string, oid uint32) (expr, bool) {
	switch oid {
	case oidTime:
		return parseTime(s)
	case oidInterval:
		i, ok := parseInterval(s, "")
		if !ok {
			return expr{}, false
		}
		return intervalLiteral(i), true
	}
	at, ok := parseTimestamp(s)
	shown := big.NewInt(at.date + at.clock)
	switch {
	case !ok:
		return expr{}, false
	case oid == oidDate: // the time of day does not count
		return integerLiteral(oidDate, big.NewInt(at.date/microsPerDay)), true
	case oid == oidTimestamp: // whatever the zone is
		return integerLiteral(oidTimestamp, shown), true
	case at.zoned:
		return integerLiteral(oid, shown.Sub(shown, big.NewInt(at.offset))), true
	}
	return t.instant(integerLiteral(oidTimestamp, shown), t.env.TimeZone), true
}

func parseTime(s string) (expr, bool) {
	m := timeForm.FindStringSubmatch(s)
	if m == nil {
		return expr{}, false
	}
	micros, ok := parseClock(m[1], m[2], m[3], m[4])
	e := integerLiteral(oidInt8, big.NewInt(micros))
	e.oid = oidTime
	return e, ok
}

func parseBool(s string) (expr, bool) {
	switch strings.ToLower(trimBlanks(s)) {
	case "t", "true", "yes", "y", "on", "1":
		return boolLiteral(true), true
	case "f", "false", "no", "n", "off", "0":
		return boolLiteral(false), true
	}
	return expr{}, false
}

func parseUUID(s string) (expr, bool) {
	if inner, ok := strings.CutPrefix(s, "{"); ok && strings.HasSuffix(s, "}") {
		s = inner[:len(inner)-1]
	}
	if !uuidForm.MatchString(s) {
		return expr{}, false
	}
	raw, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	return uuidLiteral(raw), err == nil
}
