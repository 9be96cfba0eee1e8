package translate

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// asText brings an operand of a text function to text.
func (q *query) asText(e expr) expr {
	switch {
	case e.isUnknown():
		return resolveUnknown(e)
	case e.opaque || !isString(e.oid):
		fail("text function over another type")
	}
	return q.coerce(e, oidText)
}

func (q *query) concatenate(l, r expr) expr {
	switch textual := func(e expr) bool { return e.isUnknown() || isString(e.oid) }; {
	case elementOf(l.oid) != 0 || elementOf(r.oid) != 0:
		fail("|| of arrays")
	case textual(l) && !textual(r):
		r = q.castToText(r)
	case textual(r) && !textual(l):
		l = q.castToText(l)
	}
	l, r = q.asText(l), q.asText(r)
	if l.isNull() || r.isNull() {
		if c := collationOf(l, r); !c.isDefault() && !c.bytewise {
			fail("NULL under a collation that is not bytewise") // for which a constant has no place
		}
		return nullOf(oidText)
	}
	e := with(oidText, "concat("+l.sql+", "+r.sql+")", l, r)
	if before, ok := l.constantText(); ok {
		if behind, ok := r.constantText(); ok {
			folded := textLiteral(oidText, before+behind)
			folded.collation = e.collation
			return folded
		}
	}
	return e
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// asciiOnly guards what is only the same in both engines for ASCII.
func asciiOnly(sql string) string {
	return guarded(sql, "length("+sql+") != lengthUTF8("+sql+")", "text beyond ASCII")
}

// changeCase is upper or lower.
func changeCase(q *query, name string, args []expr) expr {
	x := q.asText(args[0])
	q.t.requireASCIICase(x.collation)
	if text, ok := x.constantText(); ok && isASCII(text) {
		change := strings.ToLower
		if name == "upper" {
			change = strings.ToUpper
		}
		e := textLiteral(oidText, change(text))
		e.collation = x.collation
		return e
	}
	e := with(oidText, name+"("+asciiOnly(x.sql)+")", x)
	e.letterCase = &letterCase{e.sql, x.sql, name, x.collation}
	return e
}

func textLength(q *query, name string, args []expr) expr {
	x := args[0]
	if x.oid == oidBytea && name == "length" {
		return octetLength(q, name, args)
	}
	if x.oid != oidBpchar {
		x = q.asText(x)
	}
	return smallInteger("toInt32(lengthUTF8("+x.sql+"))", 0, 1<<30, x)
}

func octetLength(q *query, _ string, args []expr) expr {
	x := args[0]
	if x.oid != oidBpchar && x.oid != oidBytea {
		x = q.asText(x)
	}
	return smallInteger("toInt32(length("+withBlanks(x)+"))", 0, 1<<30, x)
}

func bitLength(q *query, _ string, args []expr) expr {
	x := q.asText(args[0])
	return with(oidInt4, "toInt32(length("+x.sql+") * 8)", x)
}

// smallInteger is an int4 within bounds.
func smallInteger(sql string, low, high int64, operands ...expr) expr {
	e := with(oidInt4, sql, operands...)
	e.bounded, e.low, e.high = true, low, high
	return e
}

func (q *query) asInt(e expr) expr {
	if e.isUnknown() {
		e = q.coerce(e, oidInt4)
	}
	if e.oid != oidInt4 && e.oid != oidInt2 || e.isNull() {
		fail("text function with such an argument")
	}
	return e
}

// substring has characters counted from 1; a start before the first one shortens the piece. The engine's greatest() and least() leave NULLs out.
func substring(q *query, name string, args []expr) expr {
	// PostgreSQL takes untyped constants for texts where a function has a form for these. The one called substr has not.
	pattern := name == "substring" && args[1].isUnknown() && args[len(args)-1].isUnknown()
	if len(args) == 2 && (pattern || name == "substring" && isText(args[1].oid)) {
		return q.extractMatch(args[0], args[1], firstGroup)
	}
	if pattern || !args[1].isUnknown() && !isInteger(args[1].oid) {
		fail("substring by pattern")
	}
	x, start := q.asText(args[0]), q.asInt(args[1])
	if len(args) == 2 {
		return with(oidText, renulled("substringUTF8("+x.sql+", greatest("+start.sql+", 1))", append(thatFail(x), start)...), x, start)
	}
	count := q.asInt(args[2])
	operands := []expr{x, start, count}
	if start.lit != nil && count.lit != nil && start.lit.integer.Sign() > 0 && count.lit.integer.Sign() >= 0 {
		return with(oidText, "substringUTF8("+x.sql+", "+start.lit.integer.String()+", "+count.lit.integer.String()+")", operands...)
	}
	if count.refs == 0 && (count.lit == nil || count.lit.integer.Sign() < 0) {
		fail("substring of a computed length without columns") // where it is negative PostgreSQL may say so as it plans, rows or none
	}
	end := "toInt64(" + start.sql + ") + " + count.sql
	sql := "substringUTF8(" + x.sql + ", greatest(toInt64(" + start.sql + "), 1), greatest(" + end + " - greatest(toInt64(" + start.sql + "), 1), 0))"
	e := with(oidText, renulled(guarded(sql, count.sql+" < 0", "negative substring length"), append(thatFail(x), start, count)...), operands...)
	e.fails = true
	return e
}

// leftRight: a negative count leaves out as many characters at the other end.
func leftRight(q *query, name string, args []expr) expr {
	x, n := q.asText(args[0]), q.asInt(args[1])
	length := "toInt64(lengthUTF8(" + x.sql + "))"
	count := "if(" + n.sql + " < 0, greatest(" + length + " + " + n.sql + ", 0), least(toInt64(" + n.sql + "), " + length + "))"
	if name == "left" {
		return with(oidText, renulled("substringUTF8("+x.sql+", 1, "+count+")", append(thatFail(x), n)...), x, n)
	}
	sql := "substringUTF8(" + x.sql + ", " + length + " - " + count + " + 1, " + count + ")"
	if low, _ := n.bounds(); low.Int64() == math.MinInt32 { // which has no opposite, so that PostgreSQL leaves out nothing
		sql = guarded(sql, n.sql+fmt.Sprintf(" = %d", math.MinInt32), "negative length")
	}
	return with(oidText, renulled(sql, append(thatFail(x), n)...), x, n)
}

// trim removes blanks, or ASCII characters of a constant set.
func trim(q *query, name string, args []expr) expr {
	side := map[string]string{"btrim": "BOTH", "ltrim": "LEADING", "rtrim": "TRAILING"}[name]
	x := q.asText(args[0])
	set := " "
	if len(args) == 2 {
		set, _ = args[1].constantText()
		if set == "" || !isASCII(set) {
			fail("trim of a set that is not constant")
		}
	}
	return with(oidText, "trim("+side+" "+quote(set)+" FROM "+x.sql+")", x)
}

func strpos(q *query, _ string, args []expr) expr {
	x, y := q.asText(args[0]), q.asText(args[1])
	return smallInteger("toInt32(positionUTF8("+x.sql+", "+y.sql+"))", 0, 1<<30, x, y)
}

func replaceText(q *query, _ string, args []expr) expr {
	x, from, to := q.asText(args[0]), q.asText(args[1]), q.asText(args[2])
	if text, _ := from.constantText(); text == "" {
		fail("replace of what is not a constant")
	}
	return with(oidText, "replaceAll("+x.sql+", "+from.sql+", "+to.sql+")", x, to)
}

// concat takes NULLs for empty strings.
func concat(q *query, _ string, args []expr) expr {
	parts := make([]string, len(args))
	for i, a := range args {
		args[i] = q.written(a)
		parts[i] = args[i].orEmpty()
	}
	parts = append(parts, "''")
	e := with(oidText, "concat("+strings.Join(parts, ", ")+")", args...)
	e.null = false
	return e
}

func ascii(q *query, _ string, args []expr) expr {
	x := q.asText(args[0])
	// Only the first character counts; the engine returns its first byte.
	code := "ascii(" + x.sql + ")"
	return smallInteger("toInt32("+guarded(code, code+" > 127", "text beyond ASCII")+")", 0, 127, x)
}

func startsWith(q *query, _ string, args []expr) expr {
	x, y := q.asText(args[0]), q.asText(args[1])
	return with(oidBool, "startsWith("+x.sql+", "+y.sql+")", x, y)
}

func reverse(q *query, _ string, args []expr) expr {
	x := q.asText(args[0])
	return with(oidText, "reverse("+asciiOnly(x.sql)+")", x)
}

// pad is lpad or rpad to a constant width; longer texts are cut.
func pad(q *query, name string, args []expr) expr {
	x := q.asText(args[0])
	width, ok := q.asInt(args[1]).constantFrom(0)
	fill := textLiteral(oidText, " ")
	if len(args) == 3 {
		fill = q.asText(args[2])
	}
	if text, _ := fill.constantText(); !ok || text == "" {
		fail("padding that is not constant")
	}
	f := map[string]string{"lpad": "leftPadUTF8", "rpad": "rightPadUTF8"}[name]
	return with(oidText, f+"("+x.sql+", "+strconv.FormatInt(width, 10)+", "+fill.sql+")", x)
}

// mostRepeated is how often a text is repeated here.
const mostRepeated = 1000

func repeat(q *query, _ string, args []expr) expr {
	x, n := q.asText(args[0]), q.asInt(args[1])
	sql := "repeat(" + x.sql + ", " + n.sql + ")"
	if _, high := n.bounds(); high.Cmp(big.NewInt(mostRepeated)) > 0 {
		sql = "repeat(" + x.sql + ", " + guarded(n.sql, n.sql+fmt.Sprintf(" > %d", mostRepeated), "repeat very often") + ")"
	}
	return with(oidText, sql, x, n)
}

// concatWS joins what is not NULL.
func concatWS(q *query, _ string, args []expr) expr {
	separator := q.asText(args[0])
	if separator.lit == nil {
		fail("concat_ws by a separator that is not a constant")
	}
	parts := make([]string, len(args)-1)
	for i, a := range args[1:] {
		if a.isNull() {
			parts[i] = engineNull("String")
			continue
		}
		a = q.written(a)
		parts[i], args[i+1] = a.sql, a
	}
	list := "[" + strings.Join(parts, ", ") + "]"
	e := with(oidText, "arrayStringConcat(arrayMap(v -> assumeNotNull(v), arrayFilter(v -> isNotNull(v), "+list+")), "+separator.sql+")", args...)
	e.null = false
	return e
}

// mostParts is how far from the end a part is counted.
const mostParts = 1 << 20

// splitPart counts the parts from 1, or with a negative number from the end; there is an empty text where there is no such part.
func splitPart(q *query, _ string, args []expr) expr {
	x, by := q.asText(args[0]), q.asText(args[1])
	n, ok := q.asInt(args[2]).constantFrom(-mostParts)
	if text, _ := by.constantText(); !ok || n == 0 || text == "" {
		fail("split_part by what is not a constant")
	}
	text := x.sql
	if x.null {
		text = "ifNull(" + x.sql + ", '')"
	}
	e := with(oidText, "splitByString("+by.sql+", "+text+")["+strconv.FormatInt(n, 10)+"]", x)
	return e.renulledBy(x)
}

func md5(q *query, _ string, args []expr) expr {
	x := args[0]
	if x.oid != oidBytea {
		x = q.asText(x)
	}
	return with(oidText, "lower(hex(MD5("+x.sql+")))", x)
}

// translateText replaces single characters; those without a counterpart go, before others may become them.
func translateText(q *query, _ string, args []expr) expr {
	x := q.asText(args[0])
	from, known := q.asText(args[1]).constantText()
	to, ok := q.asText(args[2]).constantText()
	if !known || !ok || !isASCII(from) || !isASCII(to) {
		fail("translate by what is not a constant list of ASCII characters")
	}
	sql, replaced, by := x.sql, "", ""
	for i, c := range from {
		switch {
		case strings.IndexRune(from, c) < i: // the first one counts
		case i < len(to):
			replaced, by = replaced+string(c), by+to[i:i+1]
		default:
			sql = "replaceAll(" + sql + ", " + quote(string(c)) + ", '')"
		}
	}
	if replaced != "" {
		sql = "translateUTF8(" + sql + ", " + quote(replaced) + ", " + quote(by) + ")"
	}
	return with(oidText, sql, x)
}

// chr is a constant character.
func chr(q *query, _ string, args []expr) expr {
	n, ok := q.asInt(args[0]).constantFrom(1)
	if !ok || n >= 0xd800 {
		fail("chr of what is not a constant")
	}
	return textLiteral(oidText, string(rune(n)))
}

// initCap guards what is no letter, digit or blank, since the engines differ on where a word begins.
func initCap(q *query, _ string, args []expr) expr {
	x := q.asText(args[0])
	q.t.requireASCIICase(x.collation)
	return with(oidText, "initcap("+guarded(x.sql, "NOT match("+x.sql+", '^[A-Za-z0-9 ]*$')", "initcap")+")", x)
}
