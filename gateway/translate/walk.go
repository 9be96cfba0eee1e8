package translate

import (
	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// walk calls visit for n and everything below it, parents first, without descending where visit
// returns false.
func walk(n *pg.Node, visit func(*pg.Node) bool) {
	if n == nil || n.Node == nil || !visit(n) {
		return
	}
	switch v := n.Node.(type) {
	case *pg.Node_SelectStmt:
		walkSelect(v.SelectStmt, visit)
	case *pg.Node_CommonTableExpr:
		walk(v.CommonTableExpr.Ctequery, visit)
	case *pg.Node_ResTarget:
		walk(v.ResTarget.Val, visit)
	case *pg.Node_JoinExpr:
		walk(v.JoinExpr.Larg, visit)
		walk(v.JoinExpr.Rarg, visit)
		walk(v.JoinExpr.Quals, visit)
	case *pg.Node_RangeSubselect:
		walk(v.RangeSubselect.Subquery, visit)
	case *pg.Node_RangeFunction:
		walkAll(v.RangeFunction.Functions, visit)
	case *pg.Node_List:
		walkAll(v.List.Items, visit)
	case *pg.Node_SortBy:
		walk(v.SortBy.Node, visit)
	case *pg.Node_GroupingSet:
		walkAll(v.GroupingSet.Content, visit)
	case *pg.Node_WindowDef:
		walkWindow(v.WindowDef, visit)
	default:
		walkExpr(n, visit)
	}
}

func walkExpr(n *pg.Node, visit func(*pg.Node) bool) {
	switch v := n.Node.(type) {
	case *pg.Node_AExpr:
		walk(v.AExpr.Lexpr, visit)
		walk(v.AExpr.Rexpr, visit)
	case *pg.Node_BoolExpr:
		walkAll(v.BoolExpr.Args, visit)
	case *pg.Node_NullTest:
		walk(v.NullTest.Arg, visit)
	case *pg.Node_BooleanTest:
		walk(v.BooleanTest.Arg, visit)
	case *pg.Node_FuncCall:
		walkAll(v.FuncCall.Args, visit)
		walkAll(v.FuncCall.AggOrder, visit)
		walk(v.FuncCall.AggFilter, visit)
		if v.FuncCall.Over != nil {
			walkWindow(v.FuncCall.Over, visit)
		}
	case *pg.Node_NamedArgExpr:
		walk(v.NamedArgExpr.Arg, visit)
	case *pg.Node_CaseExpr:
		walk(v.CaseExpr.Arg, visit)
		walkAll(v.CaseExpr.Args, visit)
		walk(v.CaseExpr.Defresult, visit)
	case *pg.Node_CaseWhen:
		walk(v.CaseWhen.Expr, visit)
		walk(v.CaseWhen.Result, visit)
	case *pg.Node_CoalesceExpr:
		walkAll(v.CoalesceExpr.Args, visit)
	case *pg.Node_MinMaxExpr:
		walkAll(v.MinMaxExpr.Args, visit)
	case *pg.Node_TypeCast:
		walk(v.TypeCast.Arg, visit)
	case *pg.Node_CollateClause:
		walk(v.CollateClause.Arg, visit)
	case *pg.Node_SubLink:
		walk(v.SubLink.Testexpr, visit)
		walk(v.SubLink.Subselect, visit)
	case *pg.Node_RowExpr:
		walkAll(v.RowExpr.Args, visit)
	case *pg.Node_AArrayExpr:
		walkAll(v.AArrayExpr.Elements, visit)
	case *pg.Node_AIndirection:
		walk(v.AIndirection.Arg, visit)
		walkAll(v.AIndirection.Indirection, visit)
	case *pg.Node_GroupingFunc:
		walkAll(v.GroupingFunc.Args, visit)
	case *pg.Node_RangeVar, *pg.Node_ColumnRef, *pg.Node_AConst, *pg.Node_ParamRef, *pg.Node_SqlvalueFunction, *pg.Node_AStar, *pg.Node_String_:
	default:
		r := n.ProtoReflect()
		walkFields(r.Get(r.WhichOneof(r.Descriptor().Oneofs().Get(0))).Message(), visit)
	}
}

// walkFields walks all that a node of a kind which is seldom met holds.
func walkFields(m protoreflect.Message, visit func(*pg.Node) bool) {
	if n, ok := m.Interface().(*pg.Node); ok {
		walk(n, visit)
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		switch f := fields.Get(i); {
		case f.Message() == nil || !m.Has(f):
		case f.IsList():
			list := m.Get(f).List()
			for k := range list.Len() {
				walkFields(list.Get(k).Message(), visit)
			}
		default:
			walkFields(m.Get(f).Message(), visit)
		}
	}
}

func walkAll(nodes []*pg.Node, visit func(*pg.Node) bool) {
	for _, n := range nodes {
		walk(n, visit)
	}
}

func walkWindow(w *pg.WindowDef, visit func(*pg.Node) bool) {
	walkAll(w.PartitionClause, visit)
	walkAll(w.OrderClause, visit)
	walk(w.StartOffset, visit)
	walk(w.EndOffset, visit)
}

func walkSelect(s *pg.SelectStmt, visit func(*pg.Node) bool) {
	if s == nil {
		return
	}
	if s.WithClause != nil {
		walkAll(s.WithClause.Ctes, visit)
	}
	walkAll(s.DistinctClause, visit)
	walkAll(s.TargetList, visit)
	walkAll(s.FromClause, visit)
	walk(s.WhereClause, visit)
	walkAll(s.GroupClause, visit)
	walk(s.HavingClause, visit)
	walkAll(s.WindowClause, visit)
	walkAll(s.ValuesLists, visit)
	walkAll(s.SortClause, visit)
	walk(s.LimitOffset, visit)
	walk(s.LimitCount, visit)
	for _, arm := range []*pg.SelectStmt{s.Larg, s.Rarg} {
		if arm != nil {
			walk(&pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: arm}}, visit)
		}
	}
}
