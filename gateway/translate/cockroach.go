package translate

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// cockroachSelect refuses a statement that is not in the subset that CockroachDB means as PostgreSQL does. What is not
// listed is refused.
func cockroachSelect(s *pg.SelectStmt) {
	if s.Op != pg.SetOperation_SETOP_NONE || s.WithClause != nil || s.IntoClause != nil || s.LimitOption == pg.LimitOption_LIMIT_OPTION_WITH_TIES ||
		len(s.LockingClause)+len(s.ValuesLists)+len(s.WindowClause) > 0 || s.GroupDistinct ||
		len(s.DistinctClause) > 0 && s.DistinctClause[0].GetNode() != nil {
		cockroachRefuses("a clause of this statement")
	}
	aliases := map[string]bool{}
	for _, n := range s.TargetList {
		r := n.GetResTarget()
		if r == nil || len(r.Indirection) > 0 || !isCockroachColumn(r.Val) && !isCockroachAggregate(r.Val) {
			cockroachRefuses("an output expression")
		}
		if r.Name != "" {
			cockroachName(r.Name)
			aliases[r.Name] = true
		}
	}
	for _, n := range s.FromClause {
		cockroachFrom(n)
	}
	for _, n := range s.GroupClause {
		// Which of a column and an output of the same name is meant is not taken for granted.
		if fields := n.GetColumnRef().GetFields(); len(fields) == 1 && aliases[fields[0].GetString_().GetSval()] {
			cockroachRefuses("GROUP BY of an output's name")
		}
		if !isCockroachColumn(n) && n.GetAConst().GetIval() == nil {
			cockroachRefuses("GROUP BY of an expression")
		}
	}
	for _, n := range s.SortClause {
		if k := n.GetSortBy().GetNode(); !isCockroachColumn(k) && !isCockroachAggregate(k) && k.GetAConst().GetIval() == nil {
			cockroachRefuses("ORDER BY of an expression")
		}
	}
	for _, n := range []*pg.Node{s.WhereClause, s.HavingClause} {
		if n != nil {
			cockroachCondition(n)
		}
	}
	for _, n := range []*pg.Node{s.LimitCount, s.LimitOffset} {
		if n != nil && n.GetAConst().GetIval() == nil {
			cockroachRefuses("LIMIT or OFFSET of an expression")
		}
	}
}

func cockroachRefuses(what string) { fail("%s that may mean something else in CockroachDB", what) }

// cockroachName refuses names that the databases may fold in different ways.
func cockroachName(name string) {
	for i := range len(name) {
		if name[i] >= 0x80 {
			cockroachRefuses("a name beyond ASCII")
		}
	}
}

func cockroachFrom(n *pg.Node) {
	switch v := n.GetNode().(type) {
	case *pg.Node_RangeVar:
		r := v.RangeVar
		if r.Catalogname != "" || !r.Inh || len(r.Alias.GetColnames()) > 0 {
			cockroachRefuses("a table reference")
		}
		cockroachName(r.Schemaname + r.Relname + r.Alias.GetAliasname())
	case *pg.Node_JoinExpr:
		j := v.JoinExpr
		if j.Jointype != pg.JoinType_JOIN_INNER && j.Jointype != pg.JoinType_JOIN_LEFT ||
			j.IsNatural || len(j.UsingClause) > 0 || j.Alias != nil || j.JoinUsingAlias != nil {
			cockroachRefuses("a join")
		}
		cockroachFrom(j.Larg)
		cockroachFrom(j.Rarg)
		if j.Quals != nil { // none for CROSS JOIN
			cockroachCondition(j.Quals)
		}
	default:
		cockroachRefuses("an item of FROM")
	}
}

func cockroachCondition(n *pg.Node) {
	switch v := n.GetNode().(type) {
	case *pg.Node_BoolExpr:
		for _, arg := range v.BoolExpr.Args {
			cockroachCondition(arg)
		}
	case *pg.Node_NullTest:
		if !isCockroachColumn(v.NullTest.Arg) {
			cockroachRefuses("IS NULL of an expression")
		}
	case *pg.Node_AExpr:
		cockroachComparison(v.AExpr)
	default:
		if !isCockroachColumn(n) { // a boolean one
			cockroachRefuses("a condition")
		}
	}
}

func cockroachComparison(a *pg.A_Expr) {
	operands := []*pg.Node{a.Lexpr}
	switch a.Kind {
	case pg.A_Expr_Kind_AEXPR_OP:
		if _, ok := comparisons[syntax.OperatorName(a.Name)]; !ok {
			cockroachRefuses("an operator")
		}
		operands = append(operands, a.Rexpr)
	case pg.A_Expr_Kind_AEXPR_IN, pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		operands = append(operands, a.Rexpr.GetList().GetItems()...)
	default:
		cockroachRefuses("an operator")
	}
	for _, n := range operands {
		switch v := n.GetNode().(type) {
		case *pg.Node_AConst:
			if v.AConst.Isnull || v.AConst.GetBsval() != nil {
				cockroachRefuses("a constant")
			}
		case *pg.Node_ParamRef:
		case *pg.Node_TypeCast: // DATE '2026-01-31'
			if name := syntax.Strings(v.TypeCast.TypeName.GetNames()); v.TypeCast.Arg.GetAConst().GetSval() == nil || len(name) == 0 ||
				name[len(name)-1] != "date" || len(v.TypeCast.TypeName.ArrayBounds) > 0 {
				cockroachRefuses("a cast")
			}
		default:
			if !isCockroachColumn(n) && !isCockroachAggregate(n) {
				cockroachRefuses("an operand")
			}
		}
	}
}

// isCockroachColumn reports whether n is a column or *, by an ASCII name.
func isCockroachColumn(n *pg.Node) bool {
	fields := n.GetColumnRef().GetFields()
	for _, f := range fields {
		if f.GetAStar() == nil {
			cockroachName(f.GetString_().GetSval())
		}
	}
	return len(fields) > 0 && len(fields) <= 3
}

// isCockroachAggregate reports whether n is count(*), or count, sum, min or max of a column.
func isCockroachAggregate(n *pg.Node) bool {
	f := n.GetFuncCall()
	if f == nil || len(f.Funcname) != 1 || len(f.AggOrder) > 0 || f.AggFilter != nil || f.Over != nil || f.AggWithinGroup || f.FuncVariadic {
		return false
	}
	name := f.Funcname[0].GetString_().GetSval()
	if f.AggStar {
		return name == "count"
	}
	if len(f.Args) != 1 || !isCockroachColumn(f.Args[0]) {
		return false
	}
	switch name {
	case "count":
		return true
	case "sum", "min", "max":
		return !f.AggDistinct
	}
	return false
}
