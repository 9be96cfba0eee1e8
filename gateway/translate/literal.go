package translate

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// literal is a value that is known at translation. One field besides null is set, by type; dates and
// timestamps keep their number of days or microseconds in integer.
type literal struct {
	null     bool
	text     *string // strings, and literals of unknown type
	integer  *big.Int
	numeric  *number
	boolean  *bool
	interval *interval
}

// number is unscaled · 10^-scale.
type number struct {
	unscaled *big.Int
	scale    int
}

// interval is a constant interval by its three parts.
type interval struct {
	months, days int64
	micros       int64
}

// constant translates a constant of the syntax tree.
func constant(c *pg.A_Const) expr {
	if c.Isnull {
		return nullOf(oidUnknown)
	}
	switch v := c.Val.(type) {
	case *pg.A_Const_Ival:
		return integerLiteral(oidInt4, big.NewInt(int64(v.Ival.Ival)))
	case *pg.A_Const_Fval:
		// The grammar calls everything beyond int4 a float, and the least int4, whose sign it reads last; PostgreSQL takes the smallest type.
		if i, err := strconv.ParseInt(v.Fval.Fval, 10, 32); err == nil {
			return integerLiteral(oidInt4, big.NewInt(i))
		}
		if i, err := strconv.ParseInt(v.Fval.Fval, 10, 64); err == nil {
			return integerLiteral(oidInt8, big.NewInt(i))
		}
		n, ok := parseNumber(v.Fval.Fval)
		if !ok {
			fail("numeric constant of this form")
		}
		return numericLiteral(n)
	case *pg.A_Const_Boolval:
		return boolLiteral(v.Boolval.Boolval)
	case *pg.A_Const_Sval:
		return textLiteral(oidUnknown, v.Sval.Sval)
	}
	fail("bit string constant")
	return expr{}
}

// constantText returns a string that is known at translation, also one of unknown type. A NULL is none.
func (e expr) constantText() (string, bool) {
	if e.lit == nil || e.lit.text == nil {
		return "", false
	}
	return *e.lit.text, true
}

// constantFrom returns an integer that is known at translation and not below low.
func (e expr) constantFrom(low int64) (int64, bool) {
	if e.lit == nil || e.lit.integer == nil || !e.lit.integer.IsInt64() {
		return 0, false
	}
	n := e.lit.integer.Int64()
	return n, n >= low
}

// constantInterval returns an interval that is known at translation.
func (e expr) constantInterval() (interval, bool) {
	if e.lit == nil || e.lit.interval == nil {
		return interval{}, false
	}
	return *e.lit.interval, true
}

func nullOf(oid uint32) expr {
	return expr{sql: "NULL", oid: oid, null: true, lit: &literal{null: true}, pad: -1, dec: decimal{integer: 1}}
}

func textLiteral(oid uint32, s string) expr {
	return expr{sql: quote(s), oid: oid, lit: &literal{text: &s}, pad: -1}
}

func integerLiteral(oid uint32, v *big.Int) expr {
	sql := v.String()
	switch oid {
	case oidInt2:
		sql = "toInt16(" + sql + ")"
	case oidInt4, oidDate:
		sql = "toInt32(" + sql + ")"
	default:
		sql = "toInt64(" + sql + ")"
		if !v.IsInt64() {
			fail("integer constant out of range")
		}
	}
	return expr{sql: sql, oid: oid, lit: &literal{integer: v}, pad: -1}
}

func boolLiteral(v bool) expr {
	return expr{sql: strconv.FormatBool(v), oid: oidBool, lit: &literal{boolean: &v}, pad: -1}
}

// numericLiteral writes the constant with exactly its digits.
func numericLiteral(n number) expr {
	digits := len(new(big.Int).Abs(n.unscaled).String())
	d := decimal{integer: max(0, digits-n.scale), scale: n.scale, display: n.scale}
	if d.precision() > maxPrecision {
		fail("numeric constant of more than %d digits", maxPrecision)
	}
	return expr{
		sql: fmt.Sprintf("CAST('%s', '%s')", n, d), oid: oidNumeric, lit: &literal{numeric: &n}, dec: d, pad: -1,
	}
}

func (n number) String() string {
	s := new(big.Int).Abs(n.unscaled).String()
	if n.scale > 0 {
		if missing := n.scale + 1 - len(s); missing > 0 {
			s = strings.Repeat("0", missing) + s
		}
		s = s[:len(s)-n.scale] + "." + s[len(s)-n.scale:]
	}
	if n.unscaled.Sign() < 0 {
		s = "-" + s
	}
	return s
}

var numericForm = regexp.MustCompile(`^\s*([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?\s*$`)

// parseNumber reads PostgreSQL's numeric input, without NaN, infinities and other bases.
func parseNumber(s string) (number, bool) {
	m := numericForm.FindStringSubmatch(s)
	if m == nil || m[2]+m[3] == "" {
		return number{}, false
	}
	unscaled, ok := new(big.Int).SetString(m[1]+m[2]+m[3], 10)
	if !ok {
		return number{}, false
	}
	scale := len(m[3])
	if m[4] != "" {
		exponent, err := strconv.Atoi(m[4])
		if err != nil {
			return number{}, false
		}
		scale -= exponent
	}
	if scale < 0 {
		unscaled.Mul(unscaled, pow10(-scale))
		scale = 0
	}
	return number{unscaled, scale}, true
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// rescale rounds half away from zero to scale digits after the point, as PostgreSQL does.
func (n number) rescale(scale int) number {
	if scale >= n.scale {
		return number{new(big.Int).Mul(n.unscaled, pow10(scale-n.scale)), scale}
	}
	unit := pow10(n.scale - scale)
	twice := new(big.Int).Mul(new(big.Int).Abs(n.unscaled), big.NewInt(2))
	q := twice.Add(twice, unit).Quo(twice, new(big.Int).Mul(unit, big.NewInt(2)))
	if n.unscaled.Sign() < 0 {
		q.Neg(q)
	}
	return number{q, scale}
}

const microsPerDay = 86_400_000_000

// parseDate reads the ISO form only, with or without leading zeros: every other form depends on settings or the clock.
func parseDate(s string) (*big.Int, bool) {
	t, err := time.Parse("2006-1-2", trimBlanks(s))
	if err != nil || t.Year() < 1 {
		return nil, false
	}
	return big.NewInt(t.Unix() / 86400), true
}

var timestampForm = regexp.MustCompile(`^(\d{4}-\d\d?-\d\d?)(?:[ T](\d\d?):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?( ?(?:Z|([+-])(\d\d)(?::?(\d\d))?))?$`)

// writtenTime is a constant's date and time of day, in microseconds each, and the offset of its zone, if it is zoned.
type writtenTime struct {
	date, clock, offset int64
	zoned               bool
}

// parseTimestamp reads the ISO forms.
func parseTimestamp(s string) (t writtenTime, ok bool) {
	m := timestampForm.FindStringSubmatch(trimBlanks(s))
	if m == nil || m[2] == "" && strings.HasPrefix(m[6], "-") { // right behind a date, which then has four parts to PostgreSQL
		return t, false
	}
	days, ok := parseDate(m[1])
	if !ok {
		return t, false
	}
	t.date, t.zoned = days.Int64()*microsPerDay, m[6] != ""
	if t.clock, ok = parseClock(m[2], m[3], m[4], m[5]); !ok {
		return t, false
	}
	if t.offset, ok = parseClock(m[8], m[9], "", ""); !ok || t.offset >= 16*3_600_000_000 { // PostgreSQL's limit
		return t, false
	}
	if m[7] == "-" {
		t.offset = -t.offset
	}
	return t, true
}

func parseClock(hour, minute, second, fraction string) (int64, bool) {
	var parts [3]int64
	for i, p := range []string{hour, minute, second} {
		if p == "" {
			continue
		}
		v, err := strconv.ParseInt(p, 10, 64)
		if err != nil {
			return 0, false
		}
		parts[i] = v
	}
	if parts[0] > 23 || parts[1] > 59 || parts[2] > 59 {
		return 0, false
	}
	f := int64(0)
	if fraction != "" {
		v, err := strconv.ParseInt((fraction + "000000")[:6], 10, 64)
		if err != nil {
			return 0, false
		}
		f = v
	}
	return ((parts[0]*60+parts[1])*60+parts[2])*1_000_000 + f, true
}

var (
	// daysPart is a number right before a clock time.
	daysPart     = regexp.MustCompile(`^([+-]?\d{1,9})\s+([+-]?\s*\d{1,9}:[\d:.]*\s*)$`)
	yearsMonths  = regexp.MustCompile(`^([+-]?)(\d{1,9})-(\d{1,2})$`)
	intervalPart = regexp.MustCompile(`^([+-]?)\s*(\d{1,9})(?:\.(\d{1,6}))?\s*([a-z]+)(?:\s+|$)`)
	clockPart    = regexp.MustCompile(`^([+-]?)\s*(\d{1,9}):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?\s*$`)
)

// intervalUnits maps a unit's names to one unit of it.
var intervalUnits = map[string]interval{
	"year": {months: 12}, "years": {months: 12}, "yr": {months: 12}, "yrs": {months: 12},
	"month": {months: 1}, "months": {months: 1}, "mon": {months: 1}, "mons": {months: 1},
	"week": {days: 7}, "weeks": {days: 7}, "day": {days: 1}, "days": {days: 1},
	"hour": {micros: 3_600_000_000}, "hours": {micros: 3_600_000_000},
	"minute": {micros: 60_000_000}, "minutes": {micros: 60_000_000}, "min": {micros: 60_000_000}, "mins": {micros: 60_000_000},
	"second": {micros: 1_000_000}, "seconds": {micros: 1_000_000}, "sec": {micros: 1_000_000}, "secs": {micros: 1_000_000},
}

// longestInterval bounds the quantities of an interval, in days: longer ones are left to PostgreSQL, whose limits are beyond.
const longestInterval = 10_000_000

// parseInterval reads quantities with units and a clock time, the common part of PostgreSQL's interval input, and '1-2' for years and months.
// unit is the last field that counts and the unit of a bare number, from a qualifier such as INTERVAL '3' MONTH; empty: none.
func parseInterval(s, unit string) (interval, bool) {
	if strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) { // of which some are letters when they are made small
		return interval{}, false
	}
	rest := strings.ToLower(trimBlanks(s))
	if _, err := strconv.ParseInt(rest, 10, 32); err == nil && unit != "" {
		rest += " " + unit
	}
	if m := yearsMonths.FindStringSubmatch(rest); m != nil {
		years, ok := quantity(m[1], m[2], "", intervalUnits["year"])
		months, err := strconv.ParseInt(m[1]+m[3], 10, 64)
		out := years.plus(interval{months: months})
		return out.upTo(unit), ok && err == nil && absolute(months) < 12 && out.fits()
	}
	out, ok := parseQuantities(rest)
	return out.upTo(unit), ok
}

// parseQuantities reads quantities with units, the last of which may be a clock time.
func parseQuantities(rest string) (out interval, ok bool) {
	some := rest != ""
	if m := daysPart.FindStringSubmatch(rest); m != nil {
		rest = m[1] + " day " + m[2]
	}
	seen := map[interval]bool{} // units, each of which PostgreSQL takes once
	for rest != "" {
		if m := clockPart.FindStringSubmatch(rest); m != nil {
			micros, ok := parseClock("", m[3], m[4], m[5])
			for _, unit := range []string{"hour", "minute", "second"} {
				ok = ok && !seen[intervalUnits[unit]]
			}
			clock, fits := quantity("", m[2], "", intervalUnits["hour"]) // of which there may be more than a day has
			clock.micros += micros
			if m[1] == "-" {
				clock = clock.times(-1)
			}
			out = out.plus(clock)
			return out, ok && fits && out.fits()
		}
		m := intervalPart.FindStringSubmatch(rest)
		if m == nil {
			return out, false
		}
		one, ok := intervalUnits[m[4]]
		part, whole := quantity(m[1], m[2], m[3], one)
		if !ok || !whole || seen[one] {
			return out, false
		}
		seen[one] = true
		out = out.plus(part)
		rest = rest[len(m[0]):]
	}
	return out, some && out.fits()
}
