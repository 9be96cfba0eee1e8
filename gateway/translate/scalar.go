package translate

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// conjunct translates one condition of WHERE or HAVING. It may become a join and leave nothing.
func (q *query) conjunct(n *pg.Node) []expr {
	q.noteBound(n)
	if q.joinedExists(n) {
		return nil
	}
	e := q.cond(n)
	if e.lit != nil && e.lit.boolean != nil && *e.lit.boolean {
		return nil
	}
	e.node = n
	q.noteAskedFirst(n, e)
	return []expr{e}
}

// noteBound records a column that is equated with a constant, for Plan.PointRead.
func (q *query) noteBound(n *pg.Node) {
	a := n.GetAExpr()
	if a == nil || a.Kind != pg.A_Expr_Kind_AEXPR_OP || syntax.OperatorName(a.Name) != "=" || q.grouped {
		return
	}
	column, value := a.Lexpr, a.Rexpr
	if column.GetColumnRef() == nil {
		column, value = value, column
	}
	if column.GetColumnRef() == nil || !syntax.IsBound(value) {
		return
	}
	if o := q.value(column).origin; o.source > 0 {
		q.t.sources[o.source-1].bound[o.index] = true
	}
}

// cond translates a condition of which only the truth matters: NULL may come out as false.
func (q *query) cond(n *pg.Node) expr {
	switch v := n.Node.(type) {
	case *pg.Node_BoolExpr:
		if v.BoolExpr.Boolop == pg.BoolExprType_NOT_EXPR {
			if sub := v.BoolExpr.Args[0].GetSubLink(); sub != nil && !q.isKey(n) {
				return q.subLink(sub, true, true)
			}
			break
		}
		parts := make([]expr, len(v.BoolExpr.Args))
		for i, a := range v.BoolExpr.Args {
			parts[i] = q.cond(a)
		}
		return combine(v.BoolExpr.Boolop, parts)
	case *pg.Node_SubLink:
		if !q.isKey(n) {
			return q.subLink(v.SubLink, false, true)
		}
	case *pg.Node_AExpr:
		if v.AExpr.Kind == pg.A_Expr_Kind_AEXPR_OP_ANY && !isList(v.AExpr.Rexpr) && !q.isKey(n) {
			return q.memberTest(v.AExpr, syntax.OperatorName(v.AExpr.Name), true)
		}
	}
	return q.boolean(n)
}

// isKey reports whether an expression over groups is a grouping key.
func (q *query) isKey(n *pg.Node) bool {
	if !q.grouped {
		return false
	}
	_, ok := q.matchKey(n)
	return ok
}

func combine(op pg.BoolExprType, parts []expr) expr {
	word := " AND "
	if op == pg.BoolExprType_OR_EXPR {
		word = " OR "
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = "(" + boolText(p) + ")"
	}
	e := with(oidBool, strings.Join(texts, word), parts...)
	e.share = combinedShare(op, parts)
	for _, p := range parts {
		if op == pg.BoolExprType_AND_EXPR {
			e.orders = append(e.orders, p.orders...)
		}
	}
	return e
}

func boolText(e expr) string {
	if e.isNull() {
		return engineNull("UInt8")
	}
	return e.sql
}

// boolean translates an expression that must be of type bool.
func (q *query) boolean(n *pg.Node) expr {
	e := q.value(n)
	if e.isUnknown() {
		e = q.coerce(e, oidBool)
	}
	if e.oid != oidBool {
		fail("condition that is not boolean")
	}
	return e
}

// value translates an expression exactly, NULLs included. It counts those that may fail.
func (q *query) value(n *pg.Node) expr { return q.computedSpread(q.shown(n)) }

// shown is value, where package finish may compute the last step.
func (q *query) shown(n *pg.Node) expr {
	q.t.levels++
	defer func() { q.t.levels-- }()
	if q.t.levels > maxLevels {
		fail("expression of so many levels")
	}
	e := q.translated(n)
	if e.fails {
		q.noteFolded(n, e)
		q.t.failing++
	}
	e.simplified = e.simplified && n.GetFuncCall() == nil
	// The engine does not take the value of a subquery for a constant.
	if e.refs == 0 && e.null && !strings.Contains(e.sql, subselect) {
		e.constantNull = true
	}
	return e
}

// translated is shown without the counting.
func (q *query) translated(n *pg.Node) expr {
	if q.grouped {
		if key, ok := q.matchKey(n); ok {
			return key
		}
		if isAggregateCall(n) {
			return q.aggregate(n.GetFuncCall())
		}
	}
	switch v := n.Node.(type) {
	case *pg.Node_ColumnRef:
		return q.columnRef(v.ColumnRef)
	case *pg.Node_AConst:
		return constant(v.AConst)
	case *pg.Node_ParamRef:
		if elementOf(q.t.paramType(v.ParamRef.Number)) != 0 {
			return q.arrayOf(q.t.arrayParam(v.ParamRef.Number))
		}
		return q.t.param(v.ParamRef.Number)
	case *pg.Node_AArrayExpr:
		return q.arrayOf(q.array(n))
	case *pg.Node_AIndirection:
		return q.subscript(v.AIndirection)
	case *pg.Node_AExpr:
		return q.operator(v.AExpr)
	case *pg.Node_BoolExpr:
		return q.boolExpr(v.BoolExpr)
	case *pg.Node_NullTest:
		return q.nullTest(v.NullTest)
	case *pg.Node_BooleanTest:
		return q.booleanTest(v.BooleanTest)
	case *pg.Node_GroupingFunc:
		return q.grouping(v.GroupingFunc)
	case *pg.Node_CaseExpr:
		return q.caseExpr(v.CaseExpr)
	case *pg.Node_CoalesceExpr:
		return q.coalesce(v.CoalesceExpr.Args)
	case *pg.Node_MinMaxExpr:
		return q.minMax(v.MinMaxExpr)
	case *pg.Node_TypeCast:
		return q.typeCast(v.TypeCast)
	case *pg.Node_FuncCall:
		return q.call(v.FuncCall)
	case *pg.Node_SqlvalueFunction:
		return q.sqlValue(v.SqlvalueFunction)
	case *pg.Node_SubLink:
		return q.subLink(v.SubLink, false, false)
	case *pg.Node_CollateClause:
		return q.collate(v.CollateClause)
	}
	fail("%s", constructName(n))
	return expr{}
}

func (q *query) valuesOf(nodes []*pg.Node) []expr {
	out := make([]expr, len(nodes))
	for i, n := range nodes {
		out[i] = q.value(n)
	}
	return out
}

func (q *query) boolExpr(b *pg.BoolExpr) expr {
	if b.Boolop == pg.BoolExprType_NOT_EXPR {
		if sub := b.Args[0].GetSubLink(); sub != nil {
			return q.subLink(sub, true, false)
		}
		return not(q.boolean(b.Args[0]))
	}
	parts := make([]expr, len(b.Args))
	for i, a := range b.Args {
		parts[i] = q.boolean(a)
	}
	return combine(b.Boolop, parts)
}

// not is the negation; nothing that is known of the condition holds for it.
func not(e expr) expr { return with(oidBool, "NOT ("+boolText(e)+")", e) }

func (q *query) nullTest(n *pg.NullTest) expr {
	if n.Arg.GetRowExpr() != nil {
		fail("IS NULL of a row")
	}
	if isJSONStep(n.Arg) {
		return q.jsonNull(n)
	}
	a := q.value(n.Arg)
	isNull := n.Nulltesttype == pg.NullTestType_IS_NULL
	if a.isNull() {
		return boolLiteral(isNull)
	}
	f := "isNotNull"
	if isNull {
		f = "isNull"
	}
	e := with(oidBool, f+"("+a.computed()+")", a)
	e.null = false
	return e
}

func (q *query) booleanTest(n *pg.BooleanTest) expr {
	a := q.boolean(n.Arg)
	a.sql = boolText(a)
	text := a.sql
	var sql string
	switch n.Booltesttype {
	case pg.BoolTestType_IS_TRUE:
		sql = "ifNull(" + text + ", false)"
	case pg.BoolTestType_IS_NOT_TRUE:
		sql = "NOT ifNull(" + text + ", false)"
	case pg.BoolTestType_IS_FALSE:
		sql = "NOT ifNull(" + text + ", true)"
	case pg.BoolTestType_IS_NOT_FALSE:
		sql = "ifNull(" + text + ", true)"
	case pg.BoolTestType_IS_UNKNOWN:
		sql = "isNull(" + a.computed() + ")"
	case pg.BoolTestType_IS_NOT_UNKNOWN:
		sql = "isNotNull(" + a.computed() + ")"
	default:
		fail("boolean test")
	}
	e := with(oidBool, sql, a)
	e.null = false
	return e
}
