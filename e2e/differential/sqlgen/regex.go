package sqlgen

import (
	"fmt"
	"regexp"
)

// regex is a match with a regular expression; patterns come from the column's own values.
func (g *gen) regex(c ctx, depth int) string {
	e := g.expr(c, famStr, depth-1)
	op := g.one("~", "~", "~", "!~", "~*", "!~*", "SIMILAR TO", "NOT SIMILAR TO")
	g.use("regular expression")
	pattern := g.regexBranch(e)
	if g.chance(0.3) {
		pattern += "|" + g.regexBranch(e)
	}
	if len(op) <= 3 && g.chance(0.1) {
		g.use("regular expression any")
		other := g.regexBranch(e)
		return fmt.Sprintf("%s %s %s (%s)", e.sql, op, g.one("ANY", "ALL"), g.array(Text, []*string{&pattern, &other}))
	}
	return fmt.Sprintf("%s %s %s", e.sql, op, g.parameter(Text, pattern, QuoteLiteral(pattern)))
}

func (g *gen) regexBranch(e expr) string {
	pattern := g.one("", "", "^") + g.regexPiece(e)
	for range g.r.IntN(3) {
		pattern += g.regexPiece(e)
	}
	return pattern + g.one("", "", "$")
}

func (g *gen) regexPiece(e expr) string {
	switch g.weighted(6, 2, 2, 2, 1) {
	case 0:
		runes := []rune(g.sample(e))
		from := g.r.IntN(len(runes) + 1)
		return regexp.QuoteMeta(string(runes[from:min(len(runes), from+1+g.r.IntN(4))]))
	case 1:
		return g.one(".", ".*", ".+", ".?")
	case 2:
		return g.one("[a-z]", "[^a-z]", "[A-Za-z0-9_-]", "[ ,.]", `[\\\]]`, "[0-9]") + g.one("", "*", "+", "?", "{1,2}")
	case 3:
		return "(" + g.regexPiece(e) + g.one("", "|a|K", "|é") + ")" + g.one("", "", "*", "?")
	default:
		return g.one("a", "l", "e", "K", "s", "é", "ä") + g.one("*", "+", "?", "{2}")
	}
}
