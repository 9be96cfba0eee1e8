package translate

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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
	fraction := "(match(" + raw + ", '^[-0-9]') AND JSONType(" + path + ") = 'Double')"
	written := "extract(" + doc.sql + ", " + quote(regexp.QuoteMeta(last)+"(-?[0-9.]+)") + ")"
	unescaped := "if(position(" + raw + ", '\\\\') = 0, substring(" + raw + ", 2, length(" + raw + ") - 2), JSONExtractString(" + raw + "))"
	// The engine may compute a guard for rows of which the value is another. It parses a document once for all that is written alike, and again
	// for a number's type only. It parsed all several times where the text had a name, or stood within another condition.
	sql := "multiIf(" + raw + " = 'null', NULL, startsWith(" + raw + ", '\"'), " + unescaped + ", " + fraction + ", " +
		guarded(written, fraction+" AND countSubstrings("+doc.sql+", "+quote(last)+") != 1", "number in a json document") + ", " +
		raw + " = '', " + guarded("NULL", raw+" = '' AND isValidJSON("+doc.sql+") = 0", "json document") + ", " +
		guarded(raw, "substring("+raw+", 1, 1) IN ('{', '[')", "json object or array") + ")"
	e := with(oidText, "CAST("+sql+", 'Nullable(String)')", doc) // NULL where the document is
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
	key, ok := q.value(n).constantText()
	if !ok {
		fail("key of a json document that is not a constant text")
	}
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

// jsonContains is jsonb @> an object of scalars and of such objects.
func (q *query) jsonContains(a *pg.A_Expr) expr {
	doc := q.jsonDocument(a.Lexpr)
	value := a.Rexpr
	if cast := value.GetTypeCast(); cast != nil {
		if names := stringsOf(cast.TypeName.Names); names[len(names)-1] != "jsonb" {
			fail("cast to this type")
		}
		value = cast.Arg
	}
	text := q.constantDocument(value)
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil || object == nil || decoder.More() {
		fail("json document that is not an object")
	}
	conditions := []string{"startsWith(" + doc.sql + ", '{')"}
	unsure := []string{"isValidJSON(" + doc.sql + ") = 0"}
	memberConditions(object, doc.sql, &conditions, &unsure)
	return with(oidBool, guarded("("+strings.Join(conditions, " AND ")+")", strings.Join(unsure, " OR "), "json document"), doc)
}

// constantDocument is the text of a constant document. PostgreSQL has read one in the statement, of a parameter nothing yet: it refuses some escaped
// characters, of which Go makes others.
func (q *query) constantDocument(n *pg.Node) string {
	if n.GetAConst() != nil {
		if text, ok := q.value(n).constantText(); ok {
			return text
		}
		fail("json document that is not constant")
	}
	var text string
	if p := n.GetParamRef(); p != nil && q.t.paramType(p.Number) == oidJSONB {
		bound := q.t.bound(p.Number)
		text = string(bound.Value)
		if bound.Format != 0 { // its version
			text = strings.TrimPrefix(text, "\x01")
		}
	} else if constant, ok := q.value(n).constantText(); ok {
		text = constant
	}
	if !json.Valid([]byte(text)) || !utf8.ValidString(text) || strings.Contains(text, `\u`) {
		fail("json document that is not constant, or of this form")
	}
	return text
}

// memberConditions appends what must hold for an object at a path to have the members, and what the engine would compare otherwise than PostgreSQL.
func memberConditions(object map[string]any, path string, conditions, unsure *[]string) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		at := path + ", " + quote(key)
		is := func(kind, value string) {
			*conditions = append(*conditions, "JSONType("+at+") = '"+kind+"'")
			if value != "" {
				*conditions = append(*conditions, value)
			}
		}
		switch v := object[key].(type) {
		case string:
			is("String", "JSONExtractString("+at+") = "+quote(v))
		case bool:
			is("Bool", "JSONExtractBool("+at+") = "+strconv.FormatBool(v))
		case nil:
			is("Null", "JSONHas("+at+")")
		case json.Number:
			n, err := strconv.ParseInt(v.String(), 10, 64)
			if err != nil {
				fail("number of this form in a json document")
			}
			*conditions = append(*conditions, "JSONExtractRaw("+at+") = '"+strconv.FormatInt(n, 10)+"'")
			*unsure = append(*unsure, "JSONType("+at+") = 'Double'") // 1.0 is contained as well
		case map[string]any:
			is("Object", "")
			memberConditions(v, at, conditions, unsure)
		default:
			fail("array in a json document")
		}
	}
}
