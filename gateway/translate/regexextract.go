package translate

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/regex"
)

// extractMatch is the part of a text that a constant regular expression matches first, or that one of its groups does; NULL: none.
func (q *query) extractMatch(text, pattern expr, group func(groups int) int) expr {
	x := q.asText(text)
	constant, ok := q.asText(pattern).constantText()
	if !ok || x.isNull() {
		fail("regular expression that is not a constant, or a NULL to look for it in")
	}
	q.t.requireLetters(constant, false, x.collation)
	p := translatable(regex.Capture(constant, false))
	subject := withinClasses(p.Classes, x.sql)
	sql := once(subject, func(s string) string {
		return "if(match(" + s + ", " + quote(p.Text) + "), regexpExtract(" + s + ", " + quote(p.Text) + ", " + itoa(group(p.Groups)) + "), NULL)"
	})
	e := with(oidText, sql, x)
	e.null, e.costly = true, true
	return e
}

// firstGroup is what substring and regexp_match yield: the first group, or all of the match if there are none.
func firstGroup(groups int) int { return min(groups, 1) }

func regexpSubstr(q *query, _ string, args []expr) expr {
	return q.extractMatch(args[0], args[1], func(int) int { return 0 })
}

// regexpLike is a match with a regular expression, by the flag i or none.
func regexpLike(q *query, _ string, args []expr) expr {
	by := matcher{regex: true}
	if len(args) == 3 {
		flags, ok := q.asText(args[2]).constantText()
		if !ok || flags != "" && flags != "i" {
			fail("regexp_like with these flags")
		}
		by.fold = flags == "i"
	}
	return q.matchRegex(by, q.asText(args[0]), q.asText(args[1]))
}

// matchElement is one of what regexp_match yields: (regexp_match(x, 'pattern'))[1].
func (q *query) matchElement(call *pg.FuncCall, n int) expr {
	if len(call.Args) != 2 || call.FuncVariadic {
		fail("function regexp_match in this form")
	}
	return q.extractMatch(q.value(call.Args[0]), q.value(call.Args[1]), func(groups int) int {
		if n > max(groups, 1) {
			fail("group that the regular expression does not have")
		}
		return min(n, groups)
	})
}
