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

// noteFolded notes a value that PostgreSQL may refuse and that reads nothing but constants: PostgreSQL computes it as it plans, also where no row needs it. Where
// it depends on a setting PostgreSQL leaves that to the rows: the replica may have the statement answered for nothing then.
func (q *query) noteFolded(n *pg.Node, e expr) {
	t := q.t
	switch {
	case isFloat(e.oid) && modest(n) <= maxModest:
		return
	case !t.isFolded(n, e):
		if !isChoice(n) && q.isDecided(n) {
			fail("value that PostgreSQL may refuse of a choice that it makes as it plans")
		}
		return
	}
	for _, text := range t.constantTexts(e.sql) {
		switch {
		case text != "":
			t.computeFirst(text)
		case !slices.Contains(temporal, e.oid):
			fail("value that PostgreSQL may refuse of constants that are not known here")
		}
	}
}

func (t *translator) computeFirst(sql string) {
	if !slices.Contains(t.folded, sql) {
		t.folded = append(t.folded, sql)
	}
}

// foldedFirst is a condition that holds, and has the engine compute all values that were noted, as it analyzes the statement.
func (t *translator) foldedFirst() expr {
	return expr{oid: oidBool, sql: selecting("ignore(" + strings.Join(t.folded, ", ") + ")) = 0")}
}

// isFolded reports whether PostgreSQL computes a value as it plans, which it does if the value reads nothing but constants. PostgreSQL puts those
// that a subquery yields in the place of its columns.
func (t *translator) isFolded(n *pg.Node, e expr) bool {
	return !(dependsOnRows(e) && !t.isFoldedColumn(e)) && !strings.Contains(e.sql, subselect) && !contains(n, isUnfolded)
}

func dependsOnRows(e expr) bool { return e.refs != 0 || len(references(e.sql)) > 0 || readsElement(e) }

// isFoldedColumn reports whether of the columns in an expression all are constants that subqueries yield.
func (t *translator) isFoldedColumn(e expr) bool {
	read := references(e.sql)
	return len(read) > 0 && !readsElement(e) && !slices.ContainsFunc(read, func(r reference) bool { return len(t.constants[r.sql()]) == 0 })
}

// maxConstants bounds what constants make of an expression.
const maxConstants = 16

// constantTexts is what becomes of an expression by the constants in the place of its columns, by each of those that one may be; empty: of one that is not
// known here, or of too many.
func (t *translator) constantTexts(sql string) []string {
	texts := []string{""}
	for _, r := range references(sql) {
		before, after, _ := strings.Cut(sql, r.sql())
		sql = after
		constants := t.constants[r.sql()]
		if slices.Contains(constants, "") || len(texts)*len(constants) > maxConstants {
			return []string{""}
		}
		var longer []string
		for _, text := range texts {
			for _, c := range constants {
				longer = append(longer, text+before+"("+c+")")
			}
		}
		texts = longer
	}
	for i := range texts {
		texts[i] += sql
	}
	return texts
}

// foldedColumn is constantTexts of what a subquery passes on; nil: it is not constant.
func (t *translator) foldedColumn(e expr) []string {
	if !t.isFoldedColumn(e) {
		return nil
	}
	return t.constantTexts(e.sql)
}

// noteAskedFirst notes a condition that may fail and reads no row: PostgreSQL asks it before it reads any, and so also where other conditions leave none.
func (q *query) noteAskedFirst(n *pg.Node, e expr) {
	switch t := q.t; {
	case !e.fails || t.isFolded(n, e) || !t.isKnownFirst(n, e):
	case e.refs != 0:
		fail("condition that may fail on what is known before any row is read")
	default:
		t.computeFirst(e.sql)
	}
}

// isKnownFirst reports whether PostgreSQL knows a value before it reads any row for the query that has it.
func (t *translator) isKnownFirst(n *pg.Node, e expr) bool {
	read := references(withoutScalars(e.sql))
	return !slices.ContainsFunc(read, func(r reference) bool { return !t.once[r.sql()] && len(t.constants[r.sql()]) == 0 }) &&
		(e.refs == 0 || len(read) > 0) && !readsElement(e) && !contains(n, readsGroup)
}

// readsGroup reports whether a node is a value of several rows.
func readsGroup(n *pg.Node) bool {
	return isAggregateCall(n) || n.GetFuncCall().GetOver() != nil || n.GetGroupingFunc() != nil
}

// fold notes the constants that a subquery's column is; nil: it is none.
func (t *translator) fold(column expr, constants []string) {
	if len(constants) > 0 {
		t.constants[column.sql] = constants
	}
}

// readsNoRow reports whether an expression names no column, and PostgreSQL computes all of it as it plans.
func readsNoRow(n *pg.Node) bool {
	return !contains(n, func(part *pg.Node) bool { return part.GetColumnRef() != nil || isUnfolded(part) })
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
