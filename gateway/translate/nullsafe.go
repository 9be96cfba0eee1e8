package translate

import (
	pg "github.com/pganalyze/pg_query_go/v6"
)

// fillers are values of types, which stand for a NULL where it is told apart by itself.
var fillers = map[uint32]string{
	oidInt2: "0", oidInt4: "0", oidInt8: "0", oidText: "", oidVarchar: "", oidBool: "f", oidUUID: "00000000-0000-0000-0000-000000000000",
	oidDate: "2000-01-01", oidTimestamp: "2000-01-01", oidTimestampTZ: "2000-01-01 00:00:00+00",
}

// withoutNulls makes two equalities, of values that are not NULL, of each condition a IS NOT DISTINCT FROM b that
// ties a subquery to the query around: one of whether they are NULL, one with a filler in place of NULL.
func (q *query) withoutNulls(conds []*pg.Node) []*pg.Node {
	var out []*pg.Node
	for _, n := range conds {
		if filler, ok := q.tiesNulls(n.GetAExpr()); ok {
			l, r := n.GetAExpr().Lexpr, n.GetAExpr().Rexpr
			out = append(out, equalityOf(isNullNode(l), isNullNode(r)), equalityOf(filled(l, filler), filled(r, filler)))
			continue
		}
		out = append(out, n)
	}
	return out
}

// tiesNulls finds a value that stands for NULL in such a condition.
func (q *query) tiesNulls(a *pg.A_Expr) (filler string, ok bool) {
	if a == nil || a.Kind != pg.A_Expr_Kind_AEXPR_NOT_DISTINCT || a.Lexpr.GetRowExpr() != nil || a.Rexpr.GetRowExpr() != nil || contains(a.Lexpr, hasSubLink) || contains(a.Rexpr, hasSubLink) {
		return "", false
	}
	q.allowOuter, q.outer = true, 0
	l := q.value(a.Lexpr)
	outer := q.outer != 0
	q.outer = 0
	r := q.value(a.Rexpr)
	ties := outer != (q.outer != 0) && l.refs != 0 && r.refs != 0
	q.outer = 0
	filler, known := fillers[l.oid]
	same := l.oid == r.oid || isInteger(l.oid) && isInteger(r.oid) || isText(l.oid) && isText(r.oid)
	return filler, ties && known && same
}

func isNullNode(n *pg.Node) *pg.Node {
	return &pg.Node{Node: &pg.Node_NullTest{NullTest: &pg.NullTest{Arg: n, Nulltesttype: pg.NullTestType_IS_NULL}}}
}

func filled(n *pg.Node, filler string) *pg.Node {
	return &pg.Node{Node: &pg.Node_CoalesceExpr{CoalesceExpr: &pg.CoalesceExpr{Args: []*pg.Node{n, pg.MakeAConstStrNode(filler, 0)}}}}
}

func equalityOf(l, r *pg.Node) *pg.Node {
	return pg.MakeAExprNode(pg.A_Expr_Kind_AEXPR_OP, []*pg.Node{pg.MakeStrNode("=")}, l, r, 0)
}
