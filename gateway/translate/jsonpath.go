package translate

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// jsonText is ->> or #>> by constant keys, of a jsonb: the text of what is there, NULL if nothing or null is.
func (q *query) jsonText(a *pg.A_Expr) expr {
	p := q.jsonPlace(a.Lexpr)
	path := syntax.OperatorName(a.Name) == "#>>"
	if !path {
		p = p.inside(q.jsonStep(a.Rexpr))
	}
	if path {
		p = p.inside(q.jsonPath(a.Rexpr)...)
	}
	if keys, ok := p.keys(); ok {
		return q.jsonTextAt(p.doc, keys)
	}
	return q.jsonElementText(p)
}

func (q *query) jsonTextAt(doc expr, keys []string) expr {
	e := with(oidText, "CAST("+textOf(searched(doc.sql, keys))+", 'Nullable(String)')", doc) // NULL where the document is
	e.null, e.costly = true, true
	return e
}

// jsonPart is what is at a place as a document of its own. What is in an array the engine would write otherwise than PostgreSQL.
func (q *query) jsonPart(p jsonPlace) expr {
	keys, ok := p.keys()
	if !ok {
		fail("part of an array in a json document")
	}
	if q.t.jsonKeys += len(keys); q.t.jsonKeys > mostKeys {
		fail("so many parts of json documents")
	}
	e := with(oidJSONB, "CAST(nullIf("+asDocument(searched(p.doc.sql, keys))+", ''), 'Nullable(String)')", p.doc).costlier()
	e.null, e.opaque = true, true
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

func (q *query) jsonKey(n *pg.Node) string { return plainKey(q.value(n)) }

// jsonPath is a constant array of keys and numbers of elements.
func (q *query) jsonPath(n *pg.Node) []jsonStep {
	if cast := n.GetTypeCast(); cast != nil && isTextArray(cast.TypeName) {
		n = cast.Arg
	}
	keys := spelledPath(n)
	if keys == nil {
		text := q.jsonKey(n)
		inner, opened := strings.CutPrefix(text, "{")
		inner, closed := strings.CutSuffix(inner, "}")
		if !opened || !closed {
			fail("path into a json document of this form")
		}
		keys = strings.Split(inner, ",")
	}
	steps := make([]jsonStep, len(keys))
	for i, k := range keys {
		switch number, err := strconv.Atoi(k); {
		case pathKey.MatchString(k) && !strings.EqualFold(k, "null"):
			steps[i] = jsonStep{key: k}
		case !pathNumber.MatchString(k) || err != nil:
			fail("path into a json document of this form")
		case number >= 0:
			steps[i] = jsonStep{element: number + 1, either: true}
		default:
			steps[i] = jsonStep{element: number, either: true}
		}
	}
	return steps
}

func isTextArray(n *pg.TypeName) bool {
	names := syntax.Strings(n.Names)
	return len(n.ArrayBounds) == 1 && names[len(names)-1] == "text" && (len(names) == 1 || len(names) == 2 && names[0] == "pg_catalog")
}

// spelledPath are the strings of ARRAY['a', 'b']; nil: it is something else.
func spelledPath(n *pg.Node) []string {
	var keys []string
	for _, element := range n.GetAArrayExpr().GetElements() {
		constant := element.GetAConst()
		if cast := element.GetTypeCast(); cast != nil && len(cast.TypeName.ArrayBounds) == 0 && typeOf(cast.TypeName).oid == oidText { // as a view has it
			constant = cast.Arg.GetAConst()
		}
		if constant.GetSval() == nil {
			return nil
		}
		keys = append(keys, constant.GetSval().Sval)
	}
	return keys
}

// pathKey are the elements of an array's text that need no quotes, pathNumber those that are the number of an
// array's element, of one that is counted to.
var (
	pathKey    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	pathNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,5})$`)
)

// jsonContains is jsonb @> an object or an array, of scalars and of such objects and arrays.
func (q *query) jsonContains(a *pg.A_Expr) expr {
	p := q.jsonPlace(a.Lexpr)
	value := a.Rexpr
	if cast := value.GetTypeCast(); cast != nil {
		if names := syntax.Strings(cast.TypeName.Names); names[len(names)-1] != "jsonb" {
			fail("cast to this type")
		}
		value = cast.Arg
	}
	content, ok := documentContent(q.constantDocument(value))
	if !ok {
		fail("json document that is not an object or an array")
	}
	present := p // whose parts can be made an array of
	present.doc.sql = p.doc.orEmpty()
	var c containment
	switch v := content.(type) {
	case map[string]any:
		if len(p.steps) == 0 {
			c.require("startsWith(" + p.doc.sql + ", '{')")
		} else {
			c.require("JSONType(" + p.args() + ") = 'Object'")
		}
		c.members(v, present.args())
	case []any:
		c.array(v, present.args())
	default:
		fail("json document that is not an object or an array")
	}
	c.unsure = append(c.unsure, "isValidJSON("+p.doc.sql+") = 0")
	sql := guarded("("+c.holds()+")", c.mayDiffer(), "json document")
	if len(p.steps) == 0 {
		return with(oidBool, sql, p.doc).renulledBy(p.doc)
	}
	e := with(oidBool, "CAST(if("+p.raw()+" = '', NULL, "+p.reached(sql, "NULL")+"), 'Nullable(Bool)')", p.doc).renulledBy(p.doc).costlier()
	e.null = true
	return e
}

// documentContent is what a document holds, with its numbers as they are written; false: the text is not one document.
func documentContent(text string) (content any, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(&content)
	return content, err == nil && !decoder.More()
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
