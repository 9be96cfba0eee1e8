package syntax

import (
	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Walk calls visit for n and everything below it, parents first, without descending where visit
// returns false.
func Walk(n *pg.Node, visit func(*pg.Node) bool) {
	if n == nil || n.Node == nil || !visit(n) {
		return
	}
	switch v := n.Node.(type) {
	case *pg.Node_SelectStmt:
		walkSelect(v.SelectStmt, visit)
	case *pg.Node_CommonTableExpr:
		Walk(v.CommonTableExpr.Ctequery, visit)
	case *pg.Node_ResTarget:
		Walk(v.ResTarget.Val, visit)
	case *pg.Node_JoinExpr:
		Walk(v.JoinExpr.Larg, visit)
		Walk(v.JoinExpr.Rarg, visit)
		Walk(v.JoinExpr.Quals, visit)
	case *pg.Node_RangeSubselect:
		Walk(v.RangeSubselect.Subquery, visit)
	case *pg.Node_RangeFunction:
		WalkAll(v.RangeFunction.Functions, visit)
	case *pg.Node_List:
		WalkAll(v.List.Items, visit)
	case *pg.Node_SortBy:
		Walk(v.SortBy.Node, visit)
	case *pg.Node_GroupingSet:
		WalkAll(v.GroupingSet.Content, visit)
	case *pg.Node_WindowDef:
		walkWindow(v.WindowDef, visit)
	default:
		walkExpr(n, visit)
	}
}

func walkExpr(n *pg.Node, visit func(*pg.Node) bool) {
	switch v := n.Node.(type) {
	case *pg.Node_AExpr:
		Walk(v.AExpr.Lexpr, visit)
		Walk(v.AExpr.Rexpr, visit)
	case *pg.Node_BoolExpr:
		WalkAll(v.BoolExpr.Args, visit)
	case *pg.Node_NullTest:
		Walk(v.NullTest.Arg, visit)
	case *pg.Node_BooleanTest:
		Walk(v.BooleanTest.Arg, visit)
	case *pg.Node_FuncCall:
		WalkAll(v.FuncCall.Args, visit)
		WalkAll(v.FuncCall.AggOrder, visit)
		Walk(v.FuncCall.AggFilter, visit)
		if v.FuncCall.Over != nil {
			walkWindow(v.FuncCall.Over, visit)
		}
	case *pg.Node_NamedArgExpr:
		Walk(v.NamedArgExpr.Arg, visit)
	case *pg.Node_CaseExpr:
		Walk(v.CaseExpr.Arg, visit)
		WalkAll(v.CaseExpr.Args, visit)
		Walk(v.CaseExpr.Defresult, visit)
	case *pg.Node_CaseWhen:
		Walk(v.CaseWhen.Expr, visit)
		Walk(v.CaseWhen.Result, visit)
	case *pg.Node_CoalesceExpr:
		WalkAll(v.CoalesceExpr.Args, visit)
	case *pg.Node_MinMaxExpr:
		WalkAll(v.MinMaxExpr.Args, visit)
	case *pg.Node_TypeCast:
		Walk(v.TypeCast.Arg, visit)
	case *pg.Node_CollateClause:
		Walk(v.CollateClause.Arg, visit)
	case *pg.Node_SubLink:
		Walk(v.SubLink.Testexpr, visit)
		Walk(v.SubLink.Subselect, visit)
	case *pg.Node_RowExpr:
		WalkAll(v.RowExpr.Args, visit)
	case *pg.Node_AArrayExpr:
		WalkAll(v.AArrayExpr.Elements, visit)
	case *pg.Node_AIndirection:
		Walk(v.AIndirection.Arg, visit)
		WalkAll(v.AIndirection.Indirection, visit)
	case *pg.Node_GroupingFunc:
		WalkAll(v.GroupingFunc.Args, visit)
	case *pg.Node_RangeVar, *pg.Node_ColumnRef, *pg.Node_AConst, *pg.Node_ParamRef, *pg.Node_SqlvalueFunction, *pg.Node_AStar, *pg.Node_String_:
	default:
		r := n.ProtoReflect()
		walkFields(r.Get(r.WhichOneof(r.Descriptor().Oneofs().Get(0))).Message(), visit)
	}
}

// walkFields walks all that a node of a kind which is seldom met holds.
func walkFields(m protoreflect.Message, visit func(*pg.Node) bool) {
	if n, ok := m.Interface().(*pg.Node); ok {
		Walk(n, visit)
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

// WalkAll walks each of the nodes.
func WalkAll(nodes []*pg.Node, visit func(*pg.Node) bool) {
	for _, n := range nodes {
		Walk(n, visit)
	}
}

func walkWindow(w *pg.WindowDef, visit func(*pg.Node) bool) {
	WalkAll(w.PartitionClause, visit)
	WalkAll(w.OrderClause, visit)
	Walk(w.StartOffset, visit)
	Walk(w.EndOffset, visit)
}

func walkSelect(s *pg.SelectStmt, visit func(*pg.Node) bool) {
	if s == nil {
		return
	}
	if s.WithClause != nil {
		WalkAll(s.WithClause.Ctes, visit)
	}
	walkBody(s, visit)
}

// walkBody is walkSelect without the WITH queries.
func walkBody(s *pg.SelectStmt, visit func(*pg.Node) bool) {
	WalkAll(s.DistinctClause, visit)
	WalkAll(s.TargetList, visit)
	WalkAll(s.FromClause, visit)
	Walk(s.WhereClause, visit)
	WalkAll(s.GroupClause, visit)
	Walk(s.HavingClause, visit)
	WalkAll(s.WindowClause, visit)
	WalkAll(s.ValuesLists, visit)
	WalkAll(s.SortClause, visit)
	Walk(s.LimitOffset, visit)
	Walk(s.LimitCount, visit)
	for _, arm := range []*pg.SelectStmt{s.Larg, s.Rarg} {
		if arm != nil {
			Walk(&pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: arm}}, visit)
		}
	}
}
