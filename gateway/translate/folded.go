package translate

import (
	"math"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// temporal are types whose values without columns are mostly made of what is stable: PostgreSQL computes those by the row.
var temporal = []uint32{oidDate, oidTime, oidTimestamp, oidTimestampTZ, oidInterval}

// refuseFolded refuses a value that PostgreSQL may refuse and that reads no column: PostgreSQL computes it as it plans, also where no row needs it.
func (t *translator) refuseFolded(n *pg.Node, e expr) {
	switch {
	case !t.isFolded(n, e), slices.Contains(temporal, e.oid) && !isSecondsToTimestamp(n):
	case isFloat(e.oid) && modest(n) <= maxModest:
	default:
		fail("value without columns that PostgreSQL may refuse")
	}
}

// isFolded reports whether PostgreSQL computes a value as it plans, which it does if the value reads nothing but constants. PostgreSQL puts those
// that a subquery yields in the place of its columns.
func (t *translator) isFolded(n *pg.Node, e expr) bool {
	reads := e.refs != 0 || len(references(e.sql)) > 0
	return !(reads && !t.isFoldedColumn(e)) && !strings.Contains(e.sql, subselect) && !contains(n, isUnfolded)
}

// isFoldedColumn reports whether of the columns in an expression all are constants that subqueries yield.
func (t *translator) isFoldedColumn(e expr) bool {
	read := references(e.sql)
	return len(read) > 0 && !slices.ContainsFunc(read, func(r reference) bool { return !t.constants[r.sql()] })
}

// fold notes whether a subquery's column is a constant.
func (t *translator) fold(column expr, constant bool) {
	if constant {
		t.constants[column.sql] = true
	}
}

// isSecondsToTimestamp reports whether a node is to_timestamp() of a number, whose value depends on no setting.
func isSecondsToTimestamp(n *pg.Node) bool {
	f := n.GetFuncCall()
	return f != nil && syntax.FunctionName(f) == "to_timestamp" && len(f.Args) == 1
}

// isUnfolded reports whether PostgreSQL does not compute what has the node as it plans.
func isUnfolded(n *pg.Node) bool {
	switch v := n.Node.(type) {
	case *pg.Node_SubLink, *pg.Node_SqlvalueFunction, *pg.Node_GroupingFunc:
		return true
	case *pg.Node_FuncCall:
		return v.FuncCall.Over != nil || isAggregateCall(n) || syntax.IsNow(syntax.FunctionName(v.FuncCall))
	}
	return false
}

// maxModest is how many modest numbers make a float, by arithmetic, that neither overflows nor underflows.
const maxModest = 4

// modest is of how many numbers an expression is made by arithmetic alone, each of them zero or from 10^-9 to 10^9; more than maxModest if of
// anything else.
func modest(n *pg.Node) int {
	switch v := n.Node.(type) {
	case *pg.Node_AConst:
		if x, ok := numberOf(v.AConst); ok && (x == 0 || x >= 1e-9 && x <= 1e9) {
			return 1
		}
	case *pg.Node_TypeCast:
		return modest(v.TypeCast.Arg)
	case *pg.Node_AExpr:
		return modestOperation(v.AExpr)
	case *pg.Node_FuncCall:
		if isPi(n) || syntax.FunctionName(v.FuncCall) == "sqrt" && isRootable(v.FuncCall.Args) || isPower(v.FuncCall) {
			return 1
		}
	}
	return maxModest + 1
}

func isPi(n *pg.Node) bool {
	f := n.GetFuncCall()
	return f != nil && syntax.FunctionName(f) == "pi"
}

// isPower reports whether a call is a power of constant numbers that is modest.
func isPower(f *pg.FuncCall) bool {
	if name := syntax.FunctionName(f); name != "power" && name != "pow" || len(f.Args) != 2 {
		return false
	}
	base, ok := numberOf(uncast(f.Args[0]).GetAConst())
	exponent, also := numberOf(uncast(f.Args[1]).GetAConst())
	result := math.Pow(base, exponent)
	return ok && also && base >= 0 && (base > 0 || exponent >= 0) && result <= 1e9 && (result >= 1e-9 || base == 0)
}

// isRootable reports whether the arguments are a modest number that is not negative.
func isRootable(args []*pg.Node) bool {
	return len(args) == 1 && uncast(args[0]).GetAConst() != nil && modest(args[0]) == 1
}

func uncast(n *pg.Node) *pg.Node {
	for n.GetTypeCast() != nil {
		n = n.GetTypeCast().Arg
	}
	return n
}

func modestOperation(a *pg.A_Expr) int {
	if a.Kind != pg.A_Expr_Kind_AEXPR_OP || len(a.Name) != 1 {
		return maxModest + 1
	}
	switch op := a.Name[0].GetString_().GetSval(); {
	case a.Lexpr == nil && (op == "-" || op == "+"):
		return modest(a.Rexpr)
	case a.Lexpr != nil && (op == "+" || op == "-" || op == "*" || op == "/" && isNonzero(a.Rexpr)):
		return modest(a.Lexpr) + modest(a.Rexpr)
	}
	return maxModest + 1
}

// isNonzero reports whether an expression is a number that is not zero as an integer either.
func isNonzero(n *pg.Node) bool {
	x, ok := numberOf(uncast(n).GetAConst())
	return ok && x >= 1 || isPi(n)
}

// numberOf is the number that a constant is written as.
func numberOf(c *pg.A_Const) (float64, bool) {
	switch {
	case c == nil || c.Isnull:
		return 0, false
	case c.GetFval() != nil:
		x, err := strconv.ParseFloat(c.GetFval().Fval, 64)
		return x, err == nil && !math.IsNaN(x)
	case c.GetIval() != nil:
		return float64(c.GetIval().Ival), true
	}
	return 0, false
}
