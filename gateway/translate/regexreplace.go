package translate

import (
	"strings"

	"github.com/freshet-io/freshet/gateway/regex"
)

// regexpReplace replaces the first match of a regular expression, or all of them. All but the text must be constants.
func regexpReplace(q *query, _ string, args []expr) expr {
	constant := func(i int) string {
		text, ok := args[i].constantText()
		if !ok {
			fail("regexp_replace by what is not a constant text")
		}
		return text
	}
	for _, a := range args {
		if a.isNull() {
			return nullOf(oidText)
		}
	}
	x, pattern, by, flags := q.asText(args[0]), constant(1), constant(2), ""
	if len(args) == 4 {
		flags = constant(3)
	}
	if strings.Trim(flags, "gi") != "" {
		fail("regexp_replace with these flags")
	}
	fold, function := strings.Contains(flags, "i"), "replaceRegexpOne"
	q.t.requireLetters(pattern, fold, x.collation)
	if strings.Contains(flags, "g") {
		function = "replaceRegexpAll"
	}
	p := translatable(regex.Capture(pattern, fold))
	e := with(oidText, function+"("+withinClasses(p.Classes, x.sql)+", "+quote(p.Text)+", "+quote(translatable(p.Replacement(by)))+")", x)
	e.costly = true
	return e
}
