package translate

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"
	pg "github.com/pganalyze/pg_query_go/v6"
)

// array is the right side of ANY or ALL: a constant, a parameter or a constructor.
type array struct {
	null bool
	// oid is the elements' type; oidUnknown: what they are compared with decides.
	oid      uint32
	elements []expr
}

// elementTypes are the types of the elements of the array types that can be bound.
var elementTypes = map[uint32]uint32{
	pgtype.BoolArrayOID: oidBool, pgtype.Int2ArrayOID: oidInt2, pgtype.Int4ArrayOID: oidInt4, pgtype.Int8ArrayOID: oidInt8,
	pgtype.TextArrayOID: oidText, pgtype.VarcharArrayOID: oidVarchar, pgtype.BPCharArrayOID: oidBpchar, pgtype.NameArrayOID: oidName,
	pgtype.NumericArrayOID: oidNumeric, pgtype.DateArrayOID: oidDate, pgtype.TimeArrayOID: oidTime, pgtype.TimestampArrayOID: oidTimestamp,
	pgtype.TimestamptzArrayOID: oidTimestampTZ, pgtype.UUIDArrayOID: oidUUID,
}

func (q *query) array(n *pg.Node) array {
	switch v := n.GetNode().(type) {
	case *pg.Node_AArrayExpr:
		elements := q.unify(q.valuesOf(v.AArrayExpr.Elements))
		if len(elements) > 0 {
			return array{oid: elements[0].oid, elements: elements}
		}
	case *pg.Node_TypeCast:
		return q.arrayCast(v.TypeCast)
	case *pg.Node_ParamRef:
		return q.t.arrayParam(v.ParamRef.Number)
	case *pg.Node_FuncCall:
		if parts, ok := q.splitConstant(v.FuncCall); ok {
			return arrayOfTexts(parts, oidText)
		}
	case *pg.Node_AConst:
		if e := constant(v.AConst); e.isUnknown() {
			return arrayText(e)
		}
	}
	fail("ANY or ALL over an array")
	return array{}
}

// arrayCast casts every element, as PostgreSQL does.
func (q *query) arrayCast(c *pg.TypeCast) array {
	if len(c.TypeName.ArrayBounds) != 1 {
		fail("ANY or ALL over an array")
	}
	element := &pg.TypeName{Names: c.TypeName.Names, Typmods: c.TypeName.Typmods, Typemod: c.TypeName.Typemod}
	var a array
	if list := c.Arg.GetAArrayExpr(); list != nil {
		a.elements = q.valuesOf(list.Elements)
	} else if p := c.Arg.GetParamRef(); p != nil && isText(q.t.paramType(p.Number)) {
		a = arrayText(q.t.param(p.Number))
	} else if parts, ok := q.splitConstant(c.Arg.GetFuncCall()); ok {
		a = arrayOfTexts(parts, oidUnknown) // which the type's input function reads, as in a cast
	} else {
		a = q.array(c.Arg)
	}
	out := array{null: a.null, elements: make([]expr, len(a.elements))}
	if enum := q.t.enumNamed(element); enum != nil {
		out.oid = enum.OID
		for i, e := range a.elements {
			out.elements[i] = enum.cast(e)
		}
		return out
	}
	of := typeOf(element)
	out.oid = of.oid
	for i, e := range a.elements {
		out.elements[i] = q.cast(e, of)
	}
	return out
}

// arrayText reads a string as an array whose elements have no type yet.
func arrayText(e expr) array {
	a := array{oid: oidUnknown, null: e.isNull()}
	if a.null {
		return a
	}
	for _, v := range arrayElements(plainArray(*e.lit.text), pgtype.TextFormatCode) {
		if v == nil {
			a.elements = append(a.elements, nullOf(oidUnknown))
		} else {
			a.elements = append(a.elements, textLiteral(oidUnknown, string(v)))
		}
	}
	return a
}

func (t *translator) arrayParam(number int32) array {
	p := t.bound(number)
	oid, ok := elementTypes[t.paramType(number)]
	if !ok {
		if a, ok := t.enumArray(p, t.paramType(number)); ok {
			return a
		}
		fail("array parameter of this type")
	}
	a := array{null: p.Null, oid: oid}
	if p.Null {
		return a
	}
	value := p.Value
	if p.Format == pgtype.TextFormatCode {
		value = plainArray(string(value))
	} else {
		requireElements(value, oid)
	}
	for _, v := range arrayElements(value, p.Format) {
		switch {
		case v == nil:
			a.elements = append(a.elements, nullOf(oid))
		case isString(oid) && (!utf8.Valid(v) || bytes.IndexByte(v, 0) >= 0):
			fail("array of what is no text")
		default:
			a.elements = append(a.elements, t.boundValue(p.Format, v, oid))
		}
	}
	return a
}

// requireElements refuses an array in binary format whose elements are of another type.
func requireElements(value []byte, oid uint32) {
	if len(value) < 12 || binary.BigEndian.Uint32(value[8:]) != oid {
		fail("binary array of elements of another type")
	}
}

// Elements of an array's text. Outside quotes PostgreSQL drops blanks around an element, and takes a backslash for an escape.
const (
	quotedElement = `"(?:[^"\\]|\\(?s:.))*"`
	plainElement  = `[^\s\v{}",\\]+`
	arrayBlanks   = `[\s\v]*`
	arrayElement  = arrayBlanks + "(?:" + quotedElement + "|" + plainElement + ")" + arrayBlanks
)

var (
	arrayForm  = regexp.MustCompile("^" + arrayBlanks + `\{(?:` + arrayElement + "(?:," + arrayElement + ")*|" + arrayBlanks + `)\}` + arrayBlanks + "$")
	arrayToken = regexp.MustCompile(quotedElement + "|" + plainElement + `|[\s\v]+`)
)

// plainArray returns an array's text in the form in which pgtype reads it as PostgreSQL does: of one dimension, without blanks
// between its elements. All others are refused.
func plainArray(s string) []byte {
	if !arrayForm.MatchString(s) {
		fail("array of this form")
	}
	return []byte(arrayToken.ReplaceAllStringFunc(s, func(token string) string {
		switch {
		case strings.EqualFold(token, "NULL"):
			return "NULL"
		case strings.Trim(token, " \t\n\r\v\f") == "":
			return ""
		}
		return token
	}))
}

// arrayElements splits an array into its elements' values; nil stands for NULL.
func arrayElements(value []byte, format int16) [][]byte {
	// The elements of text are their bytes, in both formats.
	var a pgtype.Array[[]byte]
	if err := pgtype.NewMap().Scan(pgtype.TextArrayOID, format, value, &a); err != nil {
		fail("array of this form")
	}
	if len(a.Dims) > 1 || len(a.Dims) == 1 && a.Dims[0].LowerBound != 1 { // text of such an array is of another form
		fail("array of several dimensions, or that does not start at 1")
	}
	return a.Elements
}

// quantified translates ANY and ALL over an array: the comparison with each element, tied by OR or AND.
func (q *query) quantified(a *pg.A_Expr, name string) expr {
	if !isList(a.Rexpr) {
		return q.memberTest(a, name, false)
	}
	list, x := q.array(a.Rexpr), q.value(a.Lexpr)
	all := a.Kind == pg.A_Expr_Kind_AEXPR_OP_ALL
	requireComputed(x, list.elements)
	switch {
	case !list.null && len(list.elements) > 0:
	case x.fails:
		fail("ANY or ALL of what may fail over no elements")
	case list.null:
		return nullOf(oidBool)
	default:
		q.t.noElements = q.t.noElements || !all
		return boolLiteral(all)
	}
	for _, e := range list.elements {
		if e.fails && len(list.elements) > 1 { // PostgreSQL computes all of them
			fail("ANY or ALL over values that may fail")
		}
	}
	if _, ok := comparisons[name]; ok {
		x, list.elements = q.comparableElements(x, list)
	}
	switch {
	case name == "=" && !all:
		return q.inValues(x, list.elements)
	case (name == "<>" || name == "!=") && all:
		return negate(q.inValues(x, list.elements), true)
	}
	op := pg.BoolExprType_OR_EXPR
	if all {
		op = pg.BoolExprType_AND_EXPR
	}
	parts := make([]expr, len(list.elements))
	for i, e := range list.elements {
		parts[i] = q.binary(name, x, e)
		parts[i].keys = nil
	}
	return combine(op, parts)
}

// requireComputed refuses a value that may fail where what it is compared with is NULL, also among elements, which leaves the engine nothing to
// compute it for. PostgreSQL does.
func requireComputed(x expr, elements []expr) {
	fails := func(e expr) bool { return e.fails }
	if x.fails && slices.ContainsFunc(elements, expr.isNull) || x.isNull() && slices.ContainsFunc(elements, fails) {
		fail("comparison of what may fail with NULL")
	}
}

// comparableElements brings x and all elements to the types that they are compared in: PostgreSQL chooses one operator for them all.
func (q *query) comparableElements(x expr, list array) (expr, []expr) {
	out := make([]expr, len(list.elements))
	if list.oid == oidUnknown {
		if x.isUnknown() {
			x = resolveUnknown(x)
		}
		for i, e := range list.elements {
			_, out[i] = q.comparable(x, e)
		}
		return x, out
	}
	x, of := q.comparable(x, nullOf(list.oid))
	for i, e := range list.elements {
		out[i] = q.coerce(e, of.oid)
	}
	return x, out
}
