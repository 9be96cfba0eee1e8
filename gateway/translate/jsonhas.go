package translate

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/connectors/replica/document"
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

// has is whether there is a key in an object, or a string in an array; NULL if there is neither them nor anything else.
func (p jsonPlace) has(key string) expr {
	_, stored := p.keys()
	sql := once(p.raw(), func(raw string) string {
		member, alone := "JSONHas("+raw+", "+quote(key)+")", key
		if stored {
			object := raw
			if len(p.steps) > 0 {
				object = asDocument(raw)
			}
			alone = document.Key(key)
			member = "simpleJSONHas(" + object + ", " + quote(alone) + ")"
		}
		element := "has(JSONExtractArrayRaw(ifNull(" + raw + ", '')), " + quote(`"`+key+`"`) + ")"
		return "multiIf(" + raw + " = '', NULL, startsWith(" + raw + ", '{'), " + member + ", startsWith(" + raw + ", '['), " +
			guarded(element, "startsWith("+raw+", '[') AND isValidJSON("+raw+") = 0", "json array") + ", " + raw + " = " + quote(`"`+alone+`"`) + ")"
	})
	e := with(oidBool, "CAST("+sql+", 'Nullable(Bool)')", p.doc).renulledBy(p.doc).costlier()
	e.null = true
	return e
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
