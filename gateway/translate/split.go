package translate

import (
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// stringToArray is string_to_array by a constant separator. Of an empty text it makes no element.
func stringToArray(q *query, _ string, args []expr) expr {
	x := q.asText(args[0])
	by, ok := q.asText(args[1]).constantText()
	if !ok || by == "" {
		fail("string_to_array by what is not a constant")
	}
	if text, ok := x.constantText(); ok {
		return q.arrayOf(arrayOfTexts(splitText(text, by), oidText))
	}
	sql := once(x.orEmpty(), func(text string) string {
		tokens := "arrayMap(t -> " + q.token(expr{sql: "t", oid: oidText}) + ", splitByString(" + quote(by) + ", " + text + "))"
		return "if(" + text + " = '', '{}', " + arrayOfTokens(tokens) + ")"
	})
	e := asArray(with(pgtype.TextArrayOID, sql, x), pgtype.TextArrayOID).renulledBy(x)
	e.costly = true
	return e
}

// splitText is string_to_array of constants. Nothing is made of an empty text.
func splitText(text, by string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, by)
}

// splitConstant finds the texts that a call of string_to_array makes of constants and parameters.
func (q *query) splitConstant(f *pg.FuncCall) ([]string, bool) {
	if f == nil || syntax.FunctionName(f) != "string_to_array" || len(f.Args) != 2 || !isPlainCall(f) {
		return nil, false
	}
	text, known := q.asText(q.value(f.Args[0])).constantText()
	by, ok := q.asText(q.value(f.Args[1])).constantText()
	if !known || !ok || by == "" {
		return nil, false
	}
	return splitText(text, by), true
}

// arrayOfTexts is an array of strings, or of constants whose type is not known yet.
func arrayOfTexts(texts []string, oid uint32) array {
	a := array{oid: oid}
	for _, text := range texts {
		a.elements = append(a.elements, textLiteral(oid, text))
	}
	return a
}
