package translate

import (
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// stringToArray is string_to_array by a constant separator. Of an empty text it makes no element.
func stringToArray(q *query, _ string, args []expr) expr {
	x := q.asText(args[0])
	by, ok := q.asText(args[1]).constantText()
	if !ok || by == "" {
		fail("string_to_array by what is not a constant")
	}
	if text, ok := x.constantText(); ok {
		a := array{oid: oidText}
		for _, part := range strings.Split(text, by) {
			if text != "" {
				a.elements = append(a.elements, textLiteral(oidText, part))
			}
		}
		return q.arrayOf(a)
	}
	sql := once(x.orEmpty(), func(text string) string {
		tokens := "arrayMap(t -> " + q.token(expr{sql: "t", oid: oidText}) + ", splitByString(" + quote(by) + ", " + text + "))"
		return "if(" + text + " = '', '{}', " + arrayOfTokens(tokens) + ")"
	})
	e := asArray(with(pgtype.TextArrayOID, sql, x), pgtype.TextArrayOID).renulledBy(x)
	e.costly = true
	return e
}
