package translate

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// jsonPlace is a place in a document: where -> leads from it, by constant keys of objects and numbers of arrays' elements.
type jsonPlace struct {
	doc   expr
	steps []jsonStep
}

// jsonStep is a key, or the engine's number of an element: from 1, or with a negative number from the end.
type jsonStep struct {
	key     string
	element int
	// either says that the number may be a member's key, too, as in the path of #>>.
	either bool
}

func (s jsonStep) isKey() bool { return s.element == 0 }

// isJSONStep reports whether an expression is one by ->.
func isJSONStep(n *pg.Node) bool {
	a := n.GetAExpr()
	return a != nil && a.Kind == pg.A_Expr_Kind_AEXPR_OP && syntax.OperatorName(a.Name) == "->" && a.Lexpr != nil
}

// jsonPlace reads an expression that must be a jsonb, or lead to one.
func (q *query) jsonPlace(n *pg.Node) jsonPlace {
	if !isJSONStep(n) {
		return jsonPlace{doc: q.jsonDocument(n)}
	}
	p := q.jsonPlace(n.GetAExpr().Lexpr)
	return p.inside(q.jsonStep(n.GetAExpr().Rexpr))
}

func (q *query) jsonStep(n *pg.Node) jsonStep {
	e := q.value(n)
	i, ok := e.constantFrom(-mostElements)
	switch {
	case !ok || e.oid != oidInt4:
		return jsonStep{key: q.jsonKey(n)}
	case i >= mostElements:
		fail("element of a json array of so high a number")
	case i >= 0:
		i++
	}
	return jsonStep{element: int(i)}
}

// mostElements is how far elements are counted.
const mostElements = 1 << 20

func (p jsonPlace) inside(steps ...jsonStep) jsonPlace {
	return jsonPlace{p.doc, append(p.steps[:len(p.steps):len(p.steps)], steps...)}
}

// keys are the steps if all of them are keys.
func (p jsonPlace) keys() ([]string, bool) {
	keys := p.firstKeys()
	return keys, len(keys) == len(p.steps)
}

// firstKeys are the steps before that to the first element of an array.
func (p jsonPlace) firstKeys() []string {
	var keys []string
	for _, s := range p.steps {
		if !s.isKey() {
			break
		}
		keys = append(keys, s.key)
	}
	return keys
}

// found is the same place in what a search finds by its first keys, which is empty where nothing is.
func (p jsonPlace) found() jsonPlace {
	if keys := p.firstKeys(); len(keys) > 0 {
		p.doc.sql, p.steps = searched(p.doc.sql, keys), p.steps[len(keys):]
	}
	return p
}

// args are the arguments of the engine's functions that parse.
func (p jsonPlace) args() string {
	text := p.doc.sql
	for _, s := range p.steps {
		if s.isKey() {
			text += ", " + quote(s.key)
		} else {
			text += ", " + itoa(s.element)
		}
	}
	return text
}

// reached adds to a condition, or to what is to be shown, that only arrays have elements: the engine takes numbers for those of an object's members, too.
func (p jsonPlace) reached(value, otherwise string) string {
	var arrays []string
	for i, s := range p.steps {
		if !s.isKey() {
			arrays = append(arrays, "JSONType("+jsonPlace{p.doc, p.steps[:i]}.args()+") = 'Array'")
		}
	}
	if len(arrays) == 0 {
		return value
	}
	return "if(" + strings.Join(arrays, " AND ") + ", " + value + ", " + otherwise + ")"
}

// raw is what is at the place; empty if nothing is. Of a document that the engine does not read nothing is known.
func (p jsonPlace) raw() string {
	p = p.found()
	if len(p.steps) == 0 {
		return p.doc.sql
	}
	raw := p.reached("JSONExtractRaw("+p.args()+")", "''")
	return guarded(raw, raw+" = '' AND ("+isInvalid(p.doc.sql, raw)+p.elementsOfScalars()+")", "json document")
}

// elementsOfScalars is whether an element is asked for of what is neither an array nor an object, which PostgreSQL takes for an array of itself.
func (p jsonPlace) elementsOfScalars() string {
	text := ""
	for i, s := range p.steps {
		if s.isKey() {
			continue
		}
		of := jsonPlace{p.doc, p.steps[:i]}.args()
		if s.either { // a scalar has no elements there
			text += " OR JSONType(" + of + ") = 'Object'"
			continue
		}
		text += " OR JSONType(" + of + ") NOT IN ('Array', 'Object')"
		if i > 0 {
			text += " AND JSONHas(" + of + ")"
		} else {
			text += " AND " + of + " != ''"
		}
	}
	return text
}

// present is whether something is at the place, be it a null; NULL where the document is.
func (p jsonPlace) present() expr {
	return with(oidBool, p.raw()+" != ''", p.doc).costlier()
}

func (e expr) costlier() expr {
	e.costly = true
	return e
}

// jsonNull is IS NULL, or IS NOT NULL, of what -> leads to.
func (q *query) jsonNull(n *pg.NullTest) expr {
	e := q.jsonPlace(n.Arg).present()
	e.sql = "ifNull(" + e.sql + ", false)"
	e.null = false
	if n.Nulltesttype == pg.NullTestType_IS_NULL {
		return not(e)
	}
	return e
}

// jsonType is jsonb_typeof.
func (q *query) jsonType(n *pg.Node) expr {
	p := q.jsonPlace(n)
	sql := once("substring("+p.raw()+", 1, 1)", func(c string) string {
		return "multiIf(" + c + " = '', NULL, " + c + " = '{', 'object', " + c + " = '[', 'array', " + c + " = '\"', 'string', " +
			c + " IN ('t', 'f'), 'boolean', " + c + " = 'n', 'null', 'number')"
	})
	e := with(oidText, "CAST("+sql+", 'Nullable(String)')", p.doc).renulledBy(p.doc).costlier()
	e.null = true
	return e
}

// jsonArrayLength is jsonb_array_length. PostgreSQL refuses what is no array.
func (q *query) jsonArrayLength(n *pg.Node) expr {
	p := q.jsonPlace(n).found()
	kind, args := "JSONType("+p.args()+")", p.args()
	raw := p.raw()
	sql := guarded("if("+raw+" = '', NULL, "+p.reached("toInt32(JSONLength("+args+"))", "0")+")",
		raw+" != '' AND ("+kind+" != 'Array' OR isValidJSON("+p.doc.sql+") = 0)", "json that is no array")
	e := with(oidInt4, "CAST("+sql+", 'Nullable(Int32)')", p.doc).renulledBy(p.doc).costlier()
	e.null, e.fails = true, true
	return e
}

// jsonElementText is ->> where an element of an array is on the way. What is an object or an array is left to PostgreSQL, which writes it otherwise
// than the engine, and so is a fraction.
func (q *query) jsonElementText(p jsonPlace) expr {
	p = p.found()
	raw := p.raw()
	sql := once(raw, func(raw string) string {
		other := guarded(raw, "match("+raw+`, '^[{\\[]') OR match(`+raw+", '^[-0-9]') AND JSONType("+p.args()+") = 'Double'", "json value that is written otherwise")
		return "multiIf(" + raw + " IN ('', 'null'), NULL, startsWith(" + raw + ", '\"'), " + jsonUnescaped(raw) + ", " + other + ")"
	})
	e := with(oidText, "CAST("+sql+", 'Nullable(String)')", p.doc).renulledBy(p.doc).costlier()
	e.null = true
	return e
}

// jsonExtract is jsonb_extract_path_text by constant keys.
func (q *query) jsonExtract(args []*pg.Node) expr {
	p := jsonPlace{doc: q.jsonDocument(args[0])}
	var keys []string
	for _, n := range args[1:] {
		key := q.jsonKey(n)
		if !pathKey.MatchString(key) {
			fail("path into a json document of this form")
		}
		keys = append(keys, key)
	}
	return q.jsonTextAt(p.doc, keys)
}
