package translate

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// PostgreSQL asks the conditions on a relation in the order of what they cost, those of the same cost as they are written, and of these the
// equalities with a constant last. A row that one of them drops does not meet those behind it, which may fail.

// asking bounds what PostgreSQL takes a condition to cost: how many functions and operators it calls.
type asking struct {
	least, most int
	// fixes says that it equates something with a constant.
	fixes bool
}

// never is what a condition costs that may be behind any other one.
const never = 1000

func askingOf(n *pg.Node) asking {
	a := asking{least: leastCalls(n), most: mostCalls(n)}
	if e := n.GetAExpr(); e != nil && syntax.OperatorName(e.Name) == "=" && len(e.Rexpr.GetList().GetItems()) < 2 {
		a.fixes = !isByRow(e.Lexpr) || !isByRow(e.Rexpr)
	}
	return a
}

// precedes reports whether PostgreSQL is sure to ask a condition before another one that is written behind it, or before it.
func (a asking) precedes(o asking, behind bool) bool {
	return a.most < o.least || a.most == o.least && behind && !a.fixes
}

func isByRow(n *pg.Node) bool {
	return contains(n, func(m *pg.Node) bool { return m.GetColumnRef() != nil || m.GetSubLink() != nil })
}

// leastCalls counts the calls that PostgreSQL does not do without, whatever it simplifies.
func leastCalls(n *pg.Node) int {
	if !isByRow(n) {
		return 0
	}
	switch v := n.Node.(type) {
	case *pg.Node_AExpr:
		calls := leastCalls(v.AExpr.Lexpr)
		switch v.AExpr.Kind {
		case pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL:
			return calls
		case pg.A_Expr_Kind_AEXPR_OP:
			calls += leastCalls(v.AExpr.Rexpr)
		}
		return calls + 1
	case *pg.Node_FuncCall:
		return 1 + sumOf(v.FuncCall.Args, leastCalls)
	case *pg.Node_TypeCast:
		return leastCalls(v.TypeCast.Arg)
	}
	return sumOf(tested(n), leastCalls)
}

// mostCalls counts the calls that PostgreSQL may make, those of casts that nobody wrote among them.
func mostCalls(n *pg.Node) int {
	if !isByRow(n) {
		return 0
	}
	switch v := n.Node.(type) {
	case *pg.Node_ColumnRef:
		return 0
	case *pg.Node_AExpr:
		return mostOf(v.AExpr)
	case *pg.Node_FuncCall:
		return 3 + len(v.FuncCall.Args) + sumOf(v.FuncCall.Args, mostCalls) // of one in SQL there may be several
	case *pg.Node_TypeCast:
		return 2 + mostCalls(v.TypeCast.Arg)
	case *pg.Node_List:
		return sumOf(v.List.Items, mostCalls)
	}
	if parts := tested(n); parts != nil {
		return sumOf(parts, mostCalls)
	}
	return never
}

// tested are the parts of a condition that combines conditions or tests one value, which takes no call; nil for any other.
func tested(n *pg.Node) []*pg.Node {
	switch v := n.Node.(type) {
	case *pg.Node_BoolExpr:
		return v.BoolExpr.Args
	case *pg.Node_NullTest:
		return []*pg.Node{v.NullTest.Arg}
	case *pg.Node_BooleanTest:
		return []*pg.Node{v.BooleanTest.Arg}
	}
	return nil
}

func mostOf(e *pg.A_Expr) int {
	calls := 1 + mostCalls(e.Lexpr)
	switch right := e.Rexpr; e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL:
		return never
	case pg.A_Expr_Kind_AEXPR_IN:
		items := right.GetList().GetItems()
		if isByRow(right) || mayCast(right) {
			return calls + 2*len(items) + mostCalls(right)
		}
		calls += (len(items) - 1) / 2 // half a call for each constant
	default:
		calls += mostCalls(right)
		if left := isByRow(e.Lexpr); left == isByRow(right) || left && mayCast(right) || !left && mayCast(e.Lexpr) {
			calls++ // one side may be cast to the other's type
		}
	}
	return calls
}

// mayCast reports whether a constant may be of a type that what it is compared with is cast to.
func mayCast(n *pg.Node) bool {
	switch {
	case n.GetAConst() != nil:
		return n.GetAConst().GetFval() != nil
	case n.GetList() != nil:
		return slices.ContainsFunc(n.GetList().Items, mayCast)
	case n.GetTypeCast() != nil:
		names := syntax.Strings(n.GetTypeCast().TypeName.Names)
		return !comparedAsIs[names[len(names)-1]]
	}
	return n != nil && n.GetParamRef() == nil
}

// comparedAsIs are types that PostgreSQL has operators for beside others of their kind.
var comparedAsIs = setOf("date timestamp timestamptz int2 int4 int8 bool interval")

func sumOf(nodes []*pg.Node, count func(*pg.Node) int) int {
	sum := 0
	for _, n := range nodes {
		sum += count(n)
	}
	return sum
}

// askedWith is a condition for whose rows another one is computed as well. By identity it stays one, of which the engine does not ask the parts in an
// order of its own. The other one is first: what is behind it the engine computes only for the rows that it leaves.
func askedWith(cond, other string) string {
	return "identity(NOT ignore(" + other + ") AND (" + cond + "))"
}

// askTogether has the engine ask a condition on a relation only together with those that may fail and that PostgreSQL may ask before it.
func (n *tree) askTogether(conds, out []expr) {
	mask := bit(n.id)
	for j, c := range conds {
		if !c.fails || c.keys != nil || c.refs != mask {
			continue
		}
		asking := askingOf(c.node)
		for i, o := range conds {
			if i != j && o.keys == nil && o.refs == mask && (o.hasSubplan() || !askingOf(o.node).precedes(asking, i < j)) {
				out[i].sql = askedWith(out[i].sql, c.sql)
			}
		}
	}
}
