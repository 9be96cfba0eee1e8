package translate

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/connectors/arraytext"
	"github.com/freshet-io/freshet/gateway/syntax"
)

// The replica has an array as PostgreSQL writes it, such as {a,"b c",NULL} or [0:1]={1,2}. So has the engine's SQL:
// what asks for elements finds them in the text, each as it is written there, which is called a token.

// elementOf is the type of the elements of an array type; 0: it is none, or none that the replica has.
func elementOf(oid uint32) uint32 {
	element, _ := arraytext.Element(oid)
	return element
}

// isCollated: the types whose values have a collation.
func isCollated(oid uint32) bool { return isString(oid) || isString(elementOf(oid)) }

// asArray describes the text of an array.
func asArray(e expr, oid uint32) expr {
	e.oid, e.opaque, e.enum = oid, true, arraytext.Alike(oid)
	return e
}

// arrayOf makes the text of an array that a statement spells out.
func (q *query) arrayOf(a array) expr {
	oid := a.typeOf()
	if a.null {
		return asArray(nullOf(oid), oid)
	}
	if len(a.elements) == 0 {
		return asArray(textLiteral(oid, "{}"), oid)
	}
	tokens := make([]string, len(a.elements))
	for i, e := range a.elements {
		tokens[i] = q.presentToken(e)
	}
	e := asArray(with(oid, "concat('{', "+strings.Join(tokens, ", ',', ")+", '}')", a.elements...), oid)
	e.null = false
	e.made = &madeArray{e.sql, a.elements}
	return e
}

// shownArrays are the types of arrays that can be made to be shown and passed on: equal elements may have several texts, or nothing is known of
// how these are written.
var shownArrays = map[uint32]bool{pgtype.NumericArrayOID: true, pgtype.DateArrayOID: true, pgtype.TimestampArrayOID: true}

// typeOf is the type of an array that is made of elements.
func (a array) typeOf() uint32 {
	for array, element := range elementTypes {
		if element == a.oid && (arraytext.Alike(array) || shownArrays[array]) {
			return array
		}
	}
	fail("array of this type")
	return 0
}

// madeArray is an array that a statement spells out.
type madeArray struct {
	sql      string // of the array: an expression that was made something else has another
	elements []expr
}

// spelledOut returns the elements of an array that the statement spells out.
func (e expr) spelledOut() ([]expr, bool) {
	switch text, ok := e.constantText(); {
	case e.made != nil && e.made.sql == e.sql:
		return e.made.elements, true
	case ok && text == "{}":
		return nil, true
	}
	return nil, false
}

// arrayConstant reads an untyped constant as an array.
func (q *query) arrayConstant(c expr, oid uint32) expr {
	if !arraytext.Alike(oid) {
		fail("constant as an array of this type")
	}
	a := arrayText(c)
	a.oid = elementOf(oid)
	for i, e := range a.elements {
		a.elements[i] = q.coerce(e, a.oid)
	}
	return asArray(q.arrayOf(a), oid)
}

// arrayTypeCast is a cast to an array type.
func (q *query) arrayTypeCast(c *pg.TypeCast) expr {
	if c.Arg.GetColumnRef() == nil {
		return q.arrayOf(q.arrayCast(c))
	}
	x := q.value(c.Arg)
	to := typeOf(&pg.TypeName{Names: c.TypeName.Names, Typmods: c.TypeName.Typmods, Typemod: c.TypeName.Typemod})
	oid := array{oid: to.oid}.typeOf()
	if len(to.mods) > 0 || x.oid != oid && !(isText(elementOf(x.oid)) && isText(to.oid)) {
		fail("cast of an array")
	}
	return asArray(x.plain(), oid)
}

// token is how an element is written in an array's text.
func (q *query) token(x expr) string {
	if x.isNull() {
		return quote(arraytext.Nullary)
	}
	if text, ok := constantToken(x); ok {
		return quote(text)
	}
	switch {
	case x.oid == oidTimestamp: // which has a blank
		return "concat('\"', " + q.written(x).sql + ", '\"')"
	case !isString(x.oid):
		return q.written(x).sql
	}
	return once(x.sql, func(x string) string {
		return "if(match(" + x + ", " + quote(`[\s\v{}",\\]|^(?i:NULL)?$`) + "), concat('\"', replaceRegexpAll(" + x + ", " +
			quote(`(["\\])`) + ", " + quote(`\\\1`) + "), '\"'), " + x + ")"
	})
}

// presentToken is how an element is written, also one that is NULL.
func (q *query) presentToken(x expr) string {
	if !x.null || x.isNull() {
		return q.token(x)
	}
	return "ifNull(" + q.token(x) + ", '" + arraytext.Nullary + "')"
}

// arrayOfTokens is the text of an array, of a list of its tokens.
func arrayOfTokens(list string) string {
	return "concat('{', arrayStringConcat(" + list + ", ','), '}')"
}

// constantToken is the token of an element that is known at translation.
func constantToken(x expr) (string, bool) {
	switch {
	case x.lit == nil || x.lit.null:
		return "", false
	case isText(x.oid) && x.lit.text != nil:
		return string(arraytext.AppendElement(nil, []byte(*x.lit.text))), true
	case isInteger(x.oid) && x.lit.integer != nil:
		return x.lit.integer.String(), true
	case x.lit.boolean != nil:
		return map[bool]string{true: "t", false: "f"}[*x.lit.boolean], true
	}
	return "", false
}

// present is the array's text, without NULL.
func present(a expr) string {
	if a.null {
		return "ifNull(" + a.sql + ", '{}')"
	}
	return a.sql
}

// tokens are the array's elements as they are written, of all dimensions, in their order. NULL has none.
func tokens(a expr) string {
	return once(present(a), func(text string) string {
		body := "if(startsWith(" + text + ", '['), substring(" + text + ", position(" + text + ", '=') + 1), " + text + ")"
		simple := "position(" + text + ", '\"') = 0 AND startsWith(" + text + ", '{') AND NOT startsWith(" + text + ", '{{')"
		return "multiIf(" + text + " = '{}', CAST([], 'Array(String)'), " + simple + ", splitByChar(',', " + inner(text) + "), " +
			"extractAll(" + body + ", " + quote(`"(?:[^"\\]|\\(?s:.))*"|[^,{}]+`) + "))"
	})
}

// inner is the text of an array without its braces.
func inner(text string) string { return "substring(" + text + ", 2, length(" + text + ") - 2)" }

// tokenAt is the token of an element by its number, in an array that is a list; empty: there is none.
func tokenAt(a expr, n int) string {
	text := present(a)
	nth := fmt.Sprintf("if(countSubstrings(%s, ',') < %d, '', substringIndex(substringIndex(%s, ',', %d), ',', -1))", text, n-1, inner(text), n)
	return "if(position(" + text + ", '\"') = 0, " + nth + ", (" + tokens(a) + ")[" + itoa(n) + "])"
}

// unquoted is the text of an element, from its token.
func unquoted(token string) string {
	return "if(startsWith(" + token + ", '\"'), replaceRegexpAll(substring(" + token + ", 2, length(" + token + ") - 2), " +
		quote(`\\((?s:.))`) + ", " + quote(`\1`) + "), " + token + ")"
}

// elementValue is the value of an element of a type, from its token; NULL also of an empty one, which no element has.
func elementValue(token string, oid uint32) string {
	switch {
	case isInteger(oid):
		return "to" + expr{oid: oid}.engineType() + "OrNull(" + token + ")"
	case oid == oidBool:
		return "multiIf(" + token + " = 't', true, " + token + " = 'f', false, NULL)"
	case oid == oidUUID:
		return "if(length(" + token + ") = 36, CAST(unhex(replaceAll(" + token + ", '-', '')), 'Nullable(FixedString(16))'), NULL)"
	case isText(oid):
		return "if(" + token + " IN ('', '" + arraytext.Nullary + "'), NULL, " + unquoted(token) + ")"
	}
	fail("element of an array of this type")
	return ""
}

// element describes a value as an element of the array.
func (e expr) element(sql string) expr {
	oid := elementOf(e.oid)
	out := with(oid, "CAST("+sql+", 'Nullable("+expr{oid: oid}.engineType()+")')", e)
	out.null, out.costly = true, true
	return out
}

// listed guards what holds for arrays alone that are lists: of one dimension, whose first element is number 1.
func listed(value string, a expr) string {
	return guarded(value, "startsWith("+a.sql+", '[') OR startsWith("+a.sql+", '{{')", "array of several dimensions, or that does not start at 1")
}

// requireArray refuses what is not an array, and with alike an array of which equal elements may have several texts.
func requireArray(e expr, alike bool) {
	if e.isNull() || elementOf(e.oid) == 0 || alike && !arraytext.Alike(e.oid) {
		fail("array function over this type")
	}
}

// subscript is an element of an array by its number.
func (q *query) subscript(n *pg.A_Indirection) expr {
	if len(n.Indirection) != 1 || n.Indirection[0].GetAIndices() == nil || n.Indirection[0].GetAIndices().IsSlice {
		fail("slice or field of a value")
	}
	i, ok := q.value(n.Indirection[0].GetAIndices().Uidx).constantFrom(1)
	if !ok || i > 1<<30 {
		fail("element of an array by what is no positive constant")
	}
	if call := n.Arg.GetFuncCall(); call != nil && syntax.FunctionName(call) == "regexp_match" {
		return q.matchElement(call, int(i))
	} else if call != nil && q.grouped && isAggregateCall(n.Arg) && len(call.Args) == 1 && call.Args[0].GetAArrayExpr() != nil {
		return q.elementOfFractions(call, int(i))
	} else if call != nil && q.grouped && isAggregateCall(n.Arg) && syntax.FunctionName(call) == "array_agg" && !call.AggDistinct {
		return q.elementOfList(call, int(i))
	}
	a := q.value(n.Arg)
	requireArray(a, false)
	value := once(tokenAt(a, int(i)), func(token string) string { return elementValue(token, elementOf(a.oid)) })
	return a.element(listed(value, a))
}

// cardinality counts the elements of all dimensions.
func cardinality(_ *query, _ string, args []expr) expr {
	a := args[0]
	requireArray(a, false)
	return arrayCount(countOf(a), a)
}

func arrayCount(sql string, a expr) expr {
	e := with(oidInt4, "toInt32("+sql+")", a).renulledBy(a)
	e.costly = true
	return e
}

// countOf is the number of elements. Without quotes each comma is between two of them.
func countOf(a expr) string {
	text := present(a)
	return "multiIf(" + text + " = '{}', 0, position(" + text + ", '\"') = 0, countSubstrings(" + text + ", ',') + 1, length(" + tokens(a) + "))"
}

// arrayLength is array_length and array_upper of the only dimension.
func arrayLength(_ *query, _ string, args []expr) expr {
	a := args[0]
	requireArray(a, false)
	if n, ok := args[1].constantFrom(1); !ok || n != 1 {
		fail("length of an array in another dimension than the first")
	}
	e := arrayCount("nullIf("+listed(countOf(a), a)+", 0)", a)
	e.null = true
	return e
}

// arrayToString joins the elements' texts, those that are not NULL unless there is a text for these.
func arrayToString(q *query, _ string, args []expr) expr {
	a := args[0]
	requireArray(a, false)
	between, ok := args[1].constantText()
	if !ok {
		fail("array_to_string by what is not a constant")
	}
	list, item := tokens(a), unquoted("t")
	if len(args) == 3 {
		instead, ok := args[2].constantText()
		if !ok {
			fail("array_to_string by what is not a constant")
		}
		item = "if(t = '" + arraytext.Nullary + "', " + quote(instead) + ", " + item + ")"
	} else {
		list = "arrayFilter(t -> t != '" + arraytext.Nullary + "', " + list + ")"
	}
	e := with(oidText, "arrayStringConcat(arrayMap(t -> "+item+", "+list+"), "+quote(between)+")", a).renulledBy(a)
	e.costly = true
	return e
}

// sameArrays brings two operands to one array type.
func (q *query) sameArrays(l, r expr) (expr, expr) {
	switch {
	case l.isUnknown() && elementOf(r.oid) != 0:
		l = q.arrayConstant(l, r.oid)
	case r.isUnknown() && elementOf(l.oid) != 0:
		r = q.arrayConstant(r, l.oid)
	}
	if elementOf(l.oid) == 0 || l.oid != r.oid || !arraytext.Alike(l.oid) {
		fail("operator over these types")
	}
	collationOf(l, r) // of which there must be one
	return l, r
}
