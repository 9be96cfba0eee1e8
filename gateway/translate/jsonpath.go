package translate

import (
	"regexp"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// jsonText is ->> or #>> by constant keys, of a jsonb: the text of what is there, NULL if nothing or null is. The replica has jsonb as PostgreSQL
// writes it. What is an object or an array is left to PostgreSQL, which writes it otherwise than the engine.
func (q *query) jsonText(a *pg.A_Expr) expr {
	var keys []string
	if operatorName(a.Name) == "#>>" {
		keys = q.jsonPath(a.Rexpr)
	} else {
		keys = []string{q.jsonKey(a.Rexpr)}
	}
	document := a.Lexpr
	for {
		inner := document.GetAExpr()
		if inner == nil || inner.Kind != pg.A_Expr_Kind_AEXPR_OP || operatorName(inner.Name) != "->" || inner.Lexpr == nil {
			break
		}
		keys = append([]string{q.jsonKey(inner.Rexpr)}, keys...)
		document = inner.Lexpr
	}
	doc := q.jsonDocument(document)
	path := doc.sql
	for _, k := range keys {
		path += ", " + quote(k)
	}
	raw := "JSONExtractRaw(" + path + ")"
	// As it is written in the document: the engine's numbers have 64 bits. The key followed by a colon is in no string, where its quotes would be
	// escaped; once in the document it is the one that was found.
	last := `"` + keys[len(keys)-1] + `": `
	fraction := "(match(raw, '^[-0-9]') AND JSONType(" + path + ") = 'Double')"
	written := "extract(" + doc.sql + ", " + quote(regexp.QuoteMeta(last)+"(-?[0-9.]+)") + ")"
	// The engine may compute a guard for rows of which the value is another.
	sql := "multiIf(raw = 'null', NULL, startsWith(raw, '\"'), JSONExtractString(raw), " + fraction + ", " +
		guarded(written, fraction+" AND countSubstrings("+doc.sql+", "+quote(last)+") != 1", "number in a json document") + ", " +
		"raw = '', " + guarded("NULL", "raw = '' AND isValidJSON("+doc.sql+") = 0", "json document") + ", " +
		guarded("raw", "substring(raw, 1, 1) IN ('{', '[')", "json object or array") + ")"
	e := with(oidText, renulled(bind("CAST("+sql+", 'Nullable(String)')", "raw", raw), doc), doc)
	e.null, e.costly = true, true
	return e
}

// jsonDocument is an expression that must be a jsonb.
func (q *query) jsonDocument(n *pg.Node) expr {
	e := q.value(n)
	if e.oid != oidJSONB || e.isNull() {
		fail("operator over these types")
	}
	return e
}

// jsonKey is a constant key of an object. One with characters that are escaped in a document is left to PostgreSQL.
func (q *query) jsonKey(n *pg.Node) string {
	e := q.value(n)
	if e.lit == nil || e.lit.text == nil || e.isNull() {
		fail("key of a json document that is not a constant text")
	}
	key := *e.lit.text
	if strings.ContainsAny(key, `"\`) || strings.IndexFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0 {
		fail("key of a json document with such characters")
	}
	return key
}

// jsonPath is a constant array of keys, none of which could be the number of an array's element.
func (q *query) jsonPath(n *pg.Node) []string {
	text := q.jsonKey(n)
	inner, opened := strings.CutPrefix(text, "{")
	inner, closed := strings.CutSuffix(inner, "}")
	if !opened || !closed {
		fail("path into a json document of this form")
	}
	keys := strings.Split(inner, ",")
	for _, k := range keys {
		if !pathKey.MatchString(k) || strings.EqualFold(k, "null") {
			fail("path into a json document of this form")
		}
	}
	return keys
}

// pathKey are the elements of an array's text that need no quotes.
var pathKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// jsonHas is jsonb ? key.
func (q *query) jsonHas(a *pg.A_Expr) expr {
	doc, key := q.jsonDocument(a.Lexpr), q.jsonKey(a.Rexpr)
	found := "JSONHas(" + doc.sql + ", " + quote(key) + ")"
	// Of an array and of a string PostgreSQL asks whether the key is in it, and the engine does not read documents with numbers beyond 64 bits.
	return with(oidBool, guarded(found, "NOT startsWith("+doc.sql+", '{') OR isValidJSON("+doc.sql+") = 0", "json document"), doc)
}
