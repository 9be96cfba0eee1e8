package translate

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// jsonHas is ?, ?| or ?&: whether an object has a key, or any or all of some, or an array such strings.
func (q *query) jsonHas(a *pg.A_Expr, name string) expr {
	p := q.jsonPlace(a.Lexpr)
	if name == "?" {
		return p.has(q.jsonKey(a.Rexpr))
	}
	op, keys := pg.BoolExprType_OR_EXPR, q.array(a.Rexpr)
	if name == "?&" {
		op = pg.BoolExprType_AND_EXPR
	}
	if keys.null || keys.oid != oidText && keys.oid != oidUnknown {
		fail("keys of a json document that are not constant texts")
	}
	var parts []expr
	for _, e := range keys.elements {
		if e.isNull() { // which PostgreSQL leaves out
			continue
		}
		parts = append(parts, p.has(plainKey(e)))
	}
	if len(parts) == 0 {
		fail("no keys of a json document")
	}
	return combine(op, parts)
}

// has is whether there is a key in an object, or a string in an array.
func (p jsonPlace) has(key string) expr {
	inner := p.inside(jsonStep{key: key})
	if len(p.steps) > 0 {
		sql := once(p.raw(), func(raw string) string {
			found := "has(JSONExtractArrayRaw(ifNull(" + raw + ", '')), " + quote(`"`+key+`"`) + ")"
			return "multiIf(" + raw + " = '', NULL, startsWith(" + raw + ", '{'), JSONHas(" + raw + ", " + quote(key) + "), startsWith(" + raw + ", '['), " + found +
				", " + raw + " = " + quote(`"`+key+`"`) + ")"
		})
		e := with(oidBool, "CAST("+sql+", 'Nullable(Bool)')", p.doc).renulledBy(p.doc).costlier()
		e.null = true
		return e
	}
	doc, keys := p.doc, []string{key}
	// Of an array and of a string PostgreSQL asks whether the key is in it, and the engine does not read documents with numbers beyond 64 bits.
	sql := guarded("JSONHas("+inner.args()+")", "NOT "+isObject(doc.sql)+" OR isValidJSON("+doc.sql+") = 0", "json document")
	if isSearchable(keys) {
		sql = "if(" + storedForm(doc.sql, keys) + ", simpleJSONHas(" + doc.sql + ", " + quote(key) + "), " + sql + ")"
	}
	return with(oidBool, sql, doc)
}

// plainKey is a constant key of an object. One with characters that are escaped in a document is left to PostgreSQL.
func plainKey(e expr) string {
	key, ok := e.constantText()
	if !ok {
		fail("key of a json document that is not a constant text")
	}
	if strings.ContainsAny(key, `"\`) || strings.IndexFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0 {
		fail("key of a json document with such characters")
	}
	return key
}
