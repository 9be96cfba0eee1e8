package translate

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/connectors/arraytext"
)

// isList reports whether the right side of ANY or ALL is an array that the statement spells out.
func isList(n *pg.Node) bool {
	return n.GetAArrayExpr() != nil || n.GetAConst() != nil || n.GetParamRef() != nil || n.GetTypeCast() != nil && isList(n.GetTypeCast().Arg)
}

// memberTest translates x = ANY and x <> ALL over an array column. If only its truth matters, NULL comes out as false.
func (q *query) memberTest(e *pg.A_Expr, name string, truth bool) expr {
	all := e.Kind == pg.A_Expr_Kind_AEXPR_OP_ALL
	if !(name == "=" && !all) && !((name == "<>" || name == "!=") && all) {
		fail("ANY or ALL over an array by this operator")
	}
	a, x := q.value(e.Rexpr), q.value(e.Lexpr)
	if elementOf(a.oid) == 0 {
		fail("ANY or ALL over an array")
	}
	requireArray(a, true)
	x = q.asElement(x, a)
	found := q.holds(a, x)
	out := with(oidBool, found, a, x)
	out.costly = true
	if truth && !all {
		out.null = false
		return out
	}
	unknown := holdsConstants(a, []string{arraytext.Nullary}, false)
	if x.null {
		unknown = "isNull(" + x.sql + ") AND " + present(a) + " != '{}' OR " + unknown
	}
	out.sql, out.null = "multiIf("+found+", true, "+unknown+", NULL, false)", true
	return negate(out.renulledBy(append(thatFail(x), a)...), all)
}

// asElement brings a value to what the elements of an array are compared as.
func (q *query) asElement(x, a expr) expr {
	element := elementOf(a.oid)
	switch {
	case x.isNull():
		fail("comparison of NULL with the elements of an array")
	case x.isUnknown():
		return q.coerce(x, element)
	case x.opaque:
		fail("comparison of an opaque type")
	case isInteger(x.oid) && isInteger(element), x.oid == element && !isString(element):
		return x
	case isText(x.oid) && isText(element) && x.oid != oidName:
		collationOf(x, a) // of which there must be one
		return x
	}
	fail("comparison of the elements of an array with another type")
	return x
}

// holds asks whether a value is among the elements of an array: false where either is NULL.
func (q *query) holds(a, x expr) string {
	if token, ok := constantToken(x); ok {
		return holdsConstants(a, []string{token}, false)
	}
	token := q.token(x)
	if x.null { // nothing is written as an empty token
		token = "ifNull(" + token + ", '')"
	}
	return "has(" + tokens(a) + ", " + token + ")"
}

// mostSearched is how many texts the engine searches for at once.
const mostSearched = 255

// holdsConstants asks whether all of some constants are among the tokens of an array, or any: first without finding
// out where tokens begin and end, which is sure where there are no quotes. The engine would find that out for all
// rows if several conditions did.
func holdsConstants(a expr, some []string, either bool) string {
	var places [][]string // where each of them stands
	list := make([]string, len(some))
	for i, token := range some {
		list[i] = quote(token)
		places = append(places, []string{quote("{" + token + "}"), quote("{" + token + ","), quote("," + token + ","), quote("," + token + "}")})
	}
	has := "hasAll"
	if either {
		has, places = "hasAny", [][]string{slices.Concat(places...)}
	}
	sure := has + "(" + tokens(a) + ", [" + strings.Join(list, ", ") + "])"
	if len(places[0]) > mostSearched {
		return sure
	}
	found := make([]string, len(places))
	for i, p := range places {
		found[i] = "multiSearchAny(" + present(a) + ", [" + strings.Join(p, ", ") + "])"
	}
	return "if(" + strings.Join(found, " AND ") + ", position(" + present(a) + ", '\"') = 0 OR " + sure + ", false)"
}

// arrayOperator is @>, <@ or && over arrays.
func (q *query) arrayOperator(name string, l, r expr) expr {
	l, r = q.sameArrays(l, r)
	if name == "<@" {
		l, r = r, l
	}
	if l.isNull() || r.isNull() {
		return nullOf(oidBool)
	}
	overlaps := name == "&&"
	if _, ok := r.spelledOut(); !ok && overlaps {
		l, r = r, l
	}
	var sql string
	if elements, ok := r.spelledOut(); ok {
		sql = q.holdsAmong(l, elements, overlaps)
	} else {
		sql = holdsTokens(l, r, overlaps)
	}
	e := with(oidBool, sql, l, r)
	if len(thatFail(l, r)) > 0 { // of several elements the engine may look for one alone
		e.sql = eagerly(sql, l, r)
	} else {
		e = e.renulledBy(l, r)
	}
	e.costly = true
	return e
}

// holdsAmong asks whether an array has all of some elements, or any. NULL is equal to none.
func (q *query) holdsAmong(a expr, elements []expr, overlaps bool) string {
	word := " AND "
	if overlaps {
		word = " OR "
	}
	var parts, constants []string
	for _, x := range elements {
		requireComputed(x, elements)
		token, constant := constantToken(x)
		switch {
		case x.isNull() && overlaps:
		case x.isNull():
			return "false"
		case constant:
			constants = append(constants, token)
		default:
			parts = append(parts, "("+q.holds(a, x)+")")
		}
	}
	if len(constants) > 0 {
		parts = append(parts, "("+holdsConstants(a, constants, overlaps)+")")
	}
	if len(parts) == 0 {
		return strconv.FormatBool(!overlaps)
	}
	return "(" + strings.Join(parts, word) + ")"
}

// holdsTokens asks the same of the elements of another array.
func holdsTokens(l, r expr, overlaps bool) string {
	has := "hasAll"
	if overlaps {
		has = "hasAny"
	}
	return has + "(arrayFilter(t -> t != " + quote(arraytext.Nullary) + ", " + tokens(l) + "), " + tokens(r) + ")"
}
