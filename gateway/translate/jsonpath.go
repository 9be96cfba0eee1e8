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

// jsonText is ->> or #>> by constant keys, of a jsonb: the text of what is there, NULL if nothing or null is.
func (q *query) jsonText(a *pg.A_Expr) expr {
	doc, keys := q.jsonSteps(a.Lexpr)
	if operatorName(a.Name) == "#>>" {
		keys = append(keys, q.jsonPath(a.Rexpr)...)
	} else {
		keys = append(keys, q.jsonKey(a.Rexpr))
	}
	e := with(oidText, "CAST("+textAt(doc.sql, keys)+", 'Nullable(String)')", doc) // NULL where the document is
	e.null, e.costly = true, true
	return e
}

// jsonSteps are a document and the keys by which -> goes into it.
func (q *query) jsonSteps(n *pg.Node) (doc expr, keys []string) {
	for {
		step := n.GetAExpr()
		if step == nil || step.Kind != pg.A_Expr_Kind_AEXPR_OP || operatorName(step.Name) != "->" || step.Lexpr == nil {
			return q.jsonDocument(n), keys
		}
		keys = append([]string{q.jsonKey(step.Rexpr)}, keys...)
		n = step.Lexpr
	}
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
	// Of an array and of a string PostgreSQL asks whether the key is in it, and the engine does not read documents with numbers beyond 64 bits.
	sql := guarded("JSONHas("+doc.sql+", "+quote(key)+")", "NOT "+isObject(doc.sql)+" OR isValidJSON("+doc.sql+") = 0", "json document")
	if keys := []string{key}; isSearchable(keys) {
		sql = "if(" + storedForm(doc.sql, keys) + ", simpleJSONHas(" + doc.sql + ", " + quote(key) + "), " + sql + ")"
	}
	return with(oidBool, sql, doc)
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
	conditions := []string{isObject(doc.sql)}
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
