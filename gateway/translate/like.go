package translate

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// matcher is an operator that matches a text with a pattern: that of LIKE, unless regex or similar is set.
type matcher struct{ negated, fold, regex, similar bool }

// matchers are the operators behind LIKE and ILIKE, and those of regular expressions.
var matchers = map[string]matcher{
	"~~": {}, "!~~": {negated: true}, "~~*": {fold: true}, "!~~*": {negated: true, fold: true},
	"~": {regex: true}, "!~": {regex: true, negated: true}, "~*": {regex: true, fold: true}, "!~*": {regex: true, negated: true, fold: true},
}

// matchPattern matches with a pattern as it stands in the statement.
func (q *query) matchPattern(op matcher, x expr, n *pg.Node) expr {
	f := n.GetFuncCall()
	if f != nil && op.regex && syntax.FunctionName(f) == "similar_to_escape" && len(f.Args) == 1 {
		op.similar = true
		return q.matchRegex(op, x, q.value(f.Args[0]))
	}
	if f != nil && !op.regex && syntax.FunctionName(f) == "like_escape" && len(f.Args) == 2 {
		escape, ok := q.value(f.Args[1]).constantText()
		if !ok {
			fail("ESCAPE that is not a constant")
		}
		return q.like(op, x, q.value(f.Args[0]), escape)
	}
	return q.matchValue(op, x, q.value(n))
}

func (q *query) matchValue(op matcher, x, p expr) expr {
	if op.regex {
		return q.matchRegex(op, x, p)
	}
	return q.like(op, x, p, `\`)
}

// like translates LIKE and ILIKE with a constant pattern.
func (q *query) like(by matcher, x, p expr, escape string) expr {
	if x.isNull() || p.isNull() {
		return nullOf(oidBool)
	}
	text, ok := p.constantText()
	if !ok {
		return q.likeColumn(x, p, by.negated, by.fold || escape != `\`)
	}
	if x.isUnknown() {
		x = resolveUnknown(x)
	}
	if !isString(x.oid) || x.opaque {
		fail("LIKE over this type")
	}
	if by.fold {
		if !isASCII(text) {
			fail("ILIKE beyond ASCII")
		}
		q.t.requireASCIICase(x.collation)
	}
	pattern := likePattern(text, escape)
	x = q.besideASCII(x, p)
	subject := x.sql
	if x.oid == oidBpchar && (strings.ContainsAny(pattern, " _") || !strings.HasSuffix(unescaped.Replace(pattern), "%")) {
		// The pattern sees the padding.
		subject = withBlanks(x)
	}
	op := " LIKE "
	if by.fold {
		pattern, subject = strings.ToLower(pattern), q.t.casedText("lower", subject, x.collation)
	}
	if by.negated {
		op = " NOT" + op
	}
	e := with(oidBool, subject+op+quote(pattern), x)
	e.costly, e.lenient = true, by.negated
	return e
}

// unescaped replaces in a pattern of the engine's what stands for itself because it is escaped.
var unescaped = strings.NewReplacer(`\\`, "x", `\%`, "x", `\_`, "x")

// likeColumn matches a pattern that differs by row. Its escapes mean the same in both engines only if there are none.
func (q *query) likeColumn(x, p expr, negated, special bool) expr {
	if special || x.oid == oidBpchar || p.oid == oidBpchar {
		fail("LIKE with a pattern that is not a constant")
	}
	x, p = q.asText(x), q.asText(p)
	op := " LIKE "
	if negated {
		op = " NOT LIKE "
	}
	pattern := guarded(p.sql, "position("+p.sql+", '\\\\') > 0", "escape in a LIKE pattern")
	return with(oidBool, x.sql+op+pattern, x, p)
}

// likePattern rewrites a pattern with any escape character to the engine's, in which only %, _ and \ may be escaped.
func likePattern(p, escape string) string {
	if len(escape) > 1 {
		fail("ESCAPE of several characters")
	}
	var b strings.Builder
	literal := func(c byte) {
		if c == '%' || c == '_' || c == '\\' {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case escape != "" && c == escape[0]:
			if i++; i == len(p) {
				fail("LIKE pattern that ends with its escape character")
			}
			literal(p[i])
		case c == '%' || c == '_':
			b.WriteByte(c)
		default:
			literal(c)
		}
	}
	return b.String()
}
