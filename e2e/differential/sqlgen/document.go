package sqlgen

import "fmt"

// documentText is a text of what is in a document; false: no document is at hand.
func (g *gen) documentText(c ctx) (expr, bool) {
	document := g.leaf(c, famOther)
	if document.t.kind != JSONB {
		return expr{}, false
	}
	g.use("->> and #>>")
	form := g.one("(%s ->> 'a')", "(%s -> 'b' ->> 'c')", "(%s #>> '{b,c}')", "(%s -> 'b' ->> 'a')", "jsonb_extract_path_text(%s, 'b', 'a')", "(%s)::text", "(%s -> 'b')::text")
	if g.chance(0.3) {
		g.use("elements and types in a document")
		form = g.one("(%s -> 'b' -> 'c' ->> 0)", "(%s -> 'b' -> 'c' -> 1 ->> 'a')", "(%s ->> -1)", "(%s #>> '{b,c,0}')", "(%s #>> ARRAY['b', 'c', '-1'])", "(%s #>> ARRAY['b', 'a']::text[])", "jsonb_typeof(%s)", "jsonb_typeof(%s -> 'a')", "jsonb_typeof(%s -> 'b' -> 'c')")
	}
	return expr{sql: fmt.Sprintf(form, document.sql), t: typ{kind: Text}}, true
}

// builtDocument is the text of a document that is made of a row's values.
func (g *gen) builtDocument(c ctx) expr {
	g.use("document of values")
	a, b := g.expr(c, g.builtFamily(), 1), g.expr(c, g.builtFamily(), 1)
	form := g.one("json_build_object('a', %s, 'b', %s)", "json_build_array(%s, %s)", "jsonb_build_object('bb', %s, 'a', %s)", "jsonb_build_array(%s, jsonb_build_object('a', %s))")
	return expr{sql: fmt.Sprintf("("+form+")::text", a.sql, b.sql), t: typ{kind: Text}}
}

// builtFamily is one of those whose values a document may be made of.
func (g *gen) builtFamily() family {
	return []family{famStr, famStr, famInt, famNum, famDate, famBool, famTS, famTSTZ, famTime, famUUID}[g.r.IntN(10)]
}

// documentTest asks a document for what is in it; false: no document is at hand.
func (g *gen) documentTest(c ctx) (string, bool) {
	document := g.leaf(c, famOther)
	if document.t.kind != JSONB || document.col == nil {
		return "", false
	}
	g.use("test of a document")
	form := g.one("%s -> 'a' IS NULL", "%s -> 'b' -> 'c' IS NOT NULL", "%s ? 'a'", "%s -> 'b' ? 'c'", "%s ?| ARRAY['a', 'z']", "%s ?& '{a,b}'", `%s @> '{"b": {"c": [1]}}'`, `%s @> '{"a": 1}'`, `%s @> '[2]'`, `%s -> 'b' @> '{"c": "d"}'`,
		`%s -> 'b' -> 'c' @> '[{"a": 2}]'`)
	return fmt.Sprintf(form, document.sql), true
}
