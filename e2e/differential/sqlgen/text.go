package sqlgen

import (
	"fmt"
	"strconv"
	"strings"
)

// textExpr is string manipulation.
func (g *gen) textExpr(c ctx, depth int) expr {
	arg := func() expr { return g.expr(c, famStr, depth-1) }
	text := typ{kind: Text}
	switch g.weighted(4, 4, 4, 3, 2, 2, 2, 2, 1, 1, 1) {
	case 0:
		a, b := arg(), arg()
		g.use("||")
		if g.chance(0.25) {
			g.use("text || another type")
			b = g.leaf(c, []family{famInt, famNum, famDate, famBool, famTS, famTime, famUUID}[g.r.IntN(7)])
		}
		return expr{sql: fmt.Sprintf("(%s || %s)", a.sql, b.sql), t: text}
	case 1:
		g.use("upper, lower")
		return expr{sql: fmt.Sprintf("%s(%s)", g.one("upper", "lower"), arg().sql), t: text}
	case 2:
		g.use("substring")
		n, m := g.count(c, g.r.IntN(6)-1), g.count(c, g.r.IntN(5))
		return expr{sql: fmt.Sprintf(g.one("substring(%s from %s for %s)", "substr(%s, %s, %s)", "substring(%s, %s, %s)"), arg().sql, n, m), t: text}
	case 3:
		g.use("left, right, trim")
		if g.chance(0.4) {
			return expr{sql: fmt.Sprintf("%s(%s, %s)", g.one("left", "right", "substr"), arg().sql, g.count(c, g.r.IntN(6)-2)), t: text}
		}
		f := g.one("trim(%s)", "ltrim(%s)", "rtrim(%s)", "btrim(%s, 'a ')", "trim(leading 'a' from %s)")
		return expr{sql: fmt.Sprintf(f, arg().sql), t: text}
	case 4:
		g.use("replace, reverse and such")
		f := g.one("replace(%s, 'a', 'xy')", "replace(%s, 'b', '')", "reverse(%s)", "translate(%s, 'abc', 'xy')", "translate(%s, 'laba- ', 'axyzABCDE')", "translate(%s, 'e', '')", "replace(%s, chr(97), chr(233))", "repeat(%s, 2)", "initcap(%s)", "((%s || '') COLLATE \"default\")", "to_hex(bit_length(%s))")
		return expr{sql: fmt.Sprintf(f, arg().sql), t: text}
	case 5:
		g.use("concat")
		other := g.leaf(c, []family{famStr, famInt, famStr, famDate, famTS, famBool}[g.r.IntN(6)])
		return expr{sql: fmt.Sprintf(g.one("concat(%s, %s)", "concat_ws('-', %s, %s)", "format('%%s (%%s)', %s, %s)", "overlay(%s PLACING concat(%s) FROM 2 FOR 1)"), arg().sql, other.sql), t: text}
	case 6:
		g.use("pad, split")
		f := g.one("lpad(%s, 5, '*')", "rpad(%s, 4)", "lpad(%s, 2)", "split_part(%s, ' ', 1)", "split_part(%s, ',', 2)", "split_part(%s, ' ', -1)", "md5(%s)", "quote_literal(%s)")
		return expr{sql: fmt.Sprintf(f, arg().sql), t: text}
	case 7:
		g.use("cast to text")
		from := g.expr(c, []family{famInt, famInt, famNum, famDate, famBool, famTS, famTSTZ, famTime, famUUID}[g.r.IntN(9)], depth-1)
		return expr{sql: fmt.Sprintf(g.one("%s::text", "CAST(%s AS text)", "CAST(%s AS varchar)"), from.sql), t: text}
	case 8:
		if g.chance(0.3) {
			return g.builtDocument(c)
		}
		if e, ok := g.documentText(c); ok {
			return e
		}
		return arg()
	case 9:
		g.use("to_char of a number")
		n := g.expr(c, []family{famInt, famNum, famNum}[g.r.IntN(3)], depth-1)
		return expr{sql: fmt.Sprintf("to_char(%s, '%s')", n.sql, g.one("FM999,999,990.00", "999,999", "FM000", "0.00", "FM9.99", "9990.0%", `FM$9,999,999.90`, "99", "FM0,999", "9,999,999,999.999")), t: text}
	default:
		d := g.leaf(c, []family{famDate, famTS}[g.r.IntN(2)])
		if d.t.wild {
			return arg()
		}
		g.use("to_char")
		return expr{sql: fmt.Sprintf("to_char(%s, '%s')", d.sql, g.one("YYYY-MM", "YYYY-MM-DD", "Mon YYYY", "DD.MM.YY", `yyyymmdd"T"HH24:MI:SS.US`, `IYYY-"W"IW-ID`, "Q/yyyy; mon DDD", "HH24:MI:SS,MS", "Month", "FMDay, FMDD FMMonth", "Dy HH12:MI AM", "WW W D")), t: text}
	}
}

// count is a number of characters: n, or computed by the row.
func (g *gen) count(c ctx, n int) string {
	e := g.leaf(c, famInt)
	if g.chance(0.8) || e.t.kind == Int8 {
		return strconv.Itoa(n)
	}
	g.use("substring by a computed count")
	return fmt.Sprintf("(%s %% 6)", e.sql)
}

// like is a pattern match; patterns come from the column's own values.
func (g *gen) like(c ctx, depth int) string {
	switch {
	case g.chance(0.3):
		return g.regex(c, depth)
	case g.chance(0.08):
		g.use("starts with")
		e, start := g.expr(c, famStr, depth-1), g.leaf(c, famStr)
		return fmt.Sprintf(g.one("starts_with(%s, %s)", "%s ^@ %s"), e.sql, start.sql)
	}
	e := g.expr(c, famStr, depth-1)
	op := g.one("LIKE", "LIKE", "LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE")
	g.use("like")
	if strings.HasSuffix(op, "ILIKE") {
		g.use("ilike")
	}
	if g.chance(0.05) {
		g.use("like with a computed pattern")
		return fmt.Sprintf("%s %s (%s || '%%')", e.sql, op, g.leaf(c, famStr).sql)
	}
	pattern := g.pattern(e)
	if g.chance(0.15) {
		g.use("like any")
		patterns := make([]*string, 1+g.r.IntN(3))
		for i := range patterns {
			if p := g.pattern(e); !g.chance(0.05) {
				patterns[i] = &p
			}
		}
		return fmt.Sprintf("%s %s %s (%s)", e.sql, op, g.one("ANY", "ALL"), g.array(Text, patterns))
	}
	if g.chance(0.08) {
		g.use("like escape")
		return fmt.Sprintf("%s %s %s ESCAPE '!'", e.sql, op, QuoteLiteral(strings.ReplaceAll(pattern, `\`, "!!")))
	}
	if strings.HasSuffix(pattern, `\`) && !strings.HasSuffix(pattern, `\\`) {
		pattern += `\`
	}
	return fmt.Sprintf("%s %s %s", e.sql, op, g.parameter(Text, pattern, QuoteLiteral(pattern)))
}

// sample is a value that the expression may have.
func (g *gen) sample(e expr) string {
	if e.col != nil && len(e.col.pool) > 0 {
		return e.col.pool[g.r.IntN(len(e.col.pool))]
	}
	return nasty[g.r.IntN(len(nasty))]
}

func (g *gen) pattern(e expr) string {
	runes := []rune(g.sample(e))
	if len(runes) > 0 {
		switch g.r.IntN(3) {
		case 0:
			runes = runes[:(len(runes)+1)/2]
		case 1:
			runes[g.r.IntN(len(runes))] = '_'
		}
	}
	s := string(runes)
	switch g.r.IntN(7) {
	case 0:
		return s
	case 1:
		return s + "%"
	case 2:
		return "%" + s
	case 3:
		return "%" + s + "%"
	case 4:
		return g.one("%", "", "_", "__%", "%_", "a%", "%b%", "_b%")
	case 5:
		return g.one(`a\%b`, `%\_%`, `\\%`, `%\%`, `a\b%`) + g.one("", "%")
	default:
		return s[:len(s)/2*0] + "a%" + g.one("", "c", "b_")
	}
}
