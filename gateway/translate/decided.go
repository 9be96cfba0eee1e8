package translate

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// isDecided reports whether PostgreSQL may make a constant of a value as it plans although the value names columns: it makes the choices whose conditions
// read none, and leaves out what they do not choose.
func (q *query) isDecided(n *pg.Node) bool {
	decided, rows := false, false
	syntax.Walk(n, func(part *pg.Node) bool {
		choice, column := isChoice(part), part.GetColumnRef() != nil
		known := choice && q.decides(part) || column && q.isConstant(part)
		decided = decided || known
		rows = rows || isUnfolded(part) || (choice || column) && !known
		return !choice && !rows
	})
	return decided && !rows
}

// isPlanned reports whether PostgreSQL may know a value as it plans.
func (q *query) isPlanned(n *pg.Node) bool {
	return q.isDecided(n) || readsNoRow(n)
}

// isConstant reports whether a column is a constant that a subquery yields.
func (q *query) isConstant(n *pg.Node) bool {
	var parts []string
	for _, f := range n.GetColumnRef().Fields {
		parts = append(parts, f.GetString_().GetSval())
	}
	if len(parts) == 1 && q.scope.namesRow(parts[0]) {
		return false
	}
	c := q.scope.resolve(parts)
	return c != nil && len(q.t.constants[c.e.sql]) > 0
}

func isChoice(n *pg.Node) bool {
	return n.GetCaseExpr() != nil || n.GetCoalesceExpr() != nil || n.GetBoolExpr() != nil
}

// decides reports whether PostgreSQL may choose a constant as it plans, of a choice.
func (q *query) decides(n *pg.Node) bool {
	switch v := n.Node.(type) {
	case *pg.Node_CaseExpr:
		return q.decidesCase(v.CaseExpr)
	case *pg.Node_CoalesceExpr:
		rest := slices.IndexFunc(v.CoalesceExpr.Args, func(a *pg.Node) bool { return !isStrictlyNull(a) })
		return rest >= 0 && q.isPlanned(v.CoalesceExpr.Args[rest])
	case *pg.Node_BoolExpr:
		return slices.ContainsFunc(v.BoolExpr.Args, q.isPlanned)
	}
	return false
}

func (q *query) decidesCase(c *pg.CaseExpr) bool {
	for _, n := range c.Args {
		when := n.GetCaseWhen()
		switch {
		case isStrictlyNull(when.Expr) || isStrictlyNull(c.Arg):
		case !q.isPlanned(when.Expr) || c.Arg != nil && !q.isPlanned(c.Arg):
			return false
		case q.isPlanned(when.Result):
			return true
		}
	}
	return c.Defresult == nil || q.isPlanned(c.Defresult)
}

// isStrictlyNull reports whether a value is NULL because it is computed of one.
func isStrictlyNull(n *pg.Node) bool {
	switch v := n.GetNode().(type) {
	case *pg.Node_AConst:
		return v.AConst.Isnull
	case *pg.Node_TypeCast:
		return isStrictlyNull(v.TypeCast.Arg)
	case *pg.Node_FuncCall:
		return slices.ContainsFunc(v.FuncCall.Args, isStrictlyNull)
	case *pg.Node_AExpr:
		return isStrictlyNull(v.AExpr.Lexpr) || v.AExpr.Kind == pg.A_Expr_Kind_AEXPR_OP && isStrictlyNull(v.AExpr.Rexpr)
	}
	return false
}
