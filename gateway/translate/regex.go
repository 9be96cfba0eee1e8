package translate

import (
	"strings"

	"github.com/freshet-io/freshet/gateway/regex"
)

// matchRegex translates a match with a constant regular expression.
func (q *query) matchRegex(by matcher, x, p expr) expr {
	if x.isNull() || p.isNull() {
		return nullOf(oidBool)
	}
	if x.isUnknown() {
		x = resolveUnknown(x)
	}
	pattern, ok := p.constantText()
	switch {
	case !ok:
		fail("regular expression that is not a constant")
	case !isString(x.oid) || x.opaque:
		fail("regular expression over this type")
	}
	if by.similar {
		pattern = translatable(regex.Similar(pattern))
	}
	q.t.requireLetters(pattern, by.fold, x.collation)
	m := translatable(regex.Match(pattern, by.fold))
	sql := "match(" + withinClasses(m.Classes, withBlanks(x)) + ", " + quote(m.Text) + ")"
	if like, ok := regex.AsLike(pattern, by.fold); ok {
		sql = withBlanks(x) + " LIKE " + quote(like)
	}
	if by.negated {
		sql = "NOT (" + sql + ")"
	}
	e := with(oidBool, sql, x)
	e.costly, e.lenient = true, by.negated
	return e
}

// requireLetters refuses a pattern under a collation that is not known, or, where it ignores case, whose letters may have other cases than ASCII's. PostgreSQL
// looks for both cases of the pattern's letters, which for ASCII letters are ASCII letters, too, but for i and I under some collations; the database's own is none there.
func (t *translator) requireLetters(pattern string, fold bool, c collation) {
	if c.name == unknownCollation { // PostgreSQL refuses to choose
		fail("regular expression under a collation that is not known")
	}
	if !fold {
		return
	}
	if !isASCII(pattern) {
		fail("regular expression beyond ASCII that ignores case")
	}
	if strings.ContainsAny(pattern, "iI[") && !c.isDefault() && !t.asciiCase(c) {
		fail("regular expression that ignores case under this collation")
	}
}

// translatable is what package regex made of a pattern.
func translatable[T any](rewritten T, err error) T {
	if err != nil {
		fail("%s", err)
	}
	return rewritten
}

// withinClasses is the text in which a pattern's classes are looked for. ICU takes the separators 28 to 31 for blanks, too.
func withinClasses(c regex.Classes, sql string) string {
	switch {
	case c.Space:
		return once(sql, func(x string) string {
			return guarded(x, "match("+x+", "+quote(`[^\x00-\x1b\x20-\x7f]`)+")", "text beyond ASCII")
		})
	case c.Some:
		return once(sql, asciiOnly)
	}
	return sql
}
