package translate

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/connectors/replica/document"
	"github.com/freshet-io/freshet/gateway/syntax"
)

// jsonInteger are integers as PostgreSQL writes them.
var jsonInteger = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// jsonEquals is = of what -> or #> leads to, by keys, and a constant scalar; false: it is something else.
func (q *query) jsonEquals(l, r *pg.Node) (expr, bool) {
	a := l.GetAExpr()
	path := a != nil && a.Kind == pg.A_Expr_Kind_AEXPR_OP && syntax.OperatorName(a.Name) == "#>" && a.Lexpr != nil
	if !path && !isJSONStep(l) {
		return expr{}, false
	}
	if cast := r.GetTypeCast(); cast != nil && len(cast.TypeName.ArrayBounds) == 0 && typeOf(cast.TypeName).oid == oidJSONB {
		r = cast.Arg
	}
	if r.GetAConst().GetSval() == nil && r.GetParamRef() == nil {
		return expr{}, false
	}
	var p jsonPlace
	if path {
		p = q.jsonPlace(a.Lexpr).inside(q.jsonPath(a.Rexpr)...)
	} else {
		p = q.jsonPlace(l)
	}
	keys, ok := p.keys()
	if !ok {
		fail("comparison of a json array's element")
	}
	found := "nullIf(" + searched(p.doc.sql, keys) + ", '')"
	e := with(oidBool, isScalar(found, q.constantDocument(r)), p.doc).costlier()
	e.null = true
	return e, true
}

// isScalar says that what was found in a document equals a scalar: of strings, booleans and nulls equal ones have one text, of numbers those that differ in
// the zeros behind the point only.
func isScalar(found, scalar string) string {
	content, ok := documentContent(scalar)
	if !ok {
		fail("comparison with such a json document")
	}
	is := func(text string) string { return found + " = " + quote(text) }
	switch v := content.(type) {
	case nil:
		return is("null")
	case bool:
		return is(strconv.FormatBool(v))
	case string:
		if !strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
			return is(`"` + document.Key(v) + `"`)
		}
	case json.Number:
		if jsonInteger.MatchString(v.String()) {
			return "(" + is(v.String()) + " OR match(" + found + ", " + quote("^"+v.String()+`\.0+$`) + "))"
		}
	}
	fail("comparison with such a json document")
	return ""
}
