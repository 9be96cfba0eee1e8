package translate

import (
	"maps"
	"math/bits"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// factor splits a condition at its ANDs and takes out of its ORs what all their arms share: (a AND b) OR (a AND c)
// is a AND (b OR c), in three-valued logic as well. Joins hidden in an OR are found that way.
func factor(n *pg.Node) []*pg.Node {
	var out []*pg.Node
	for _, c := range syntax.Conjuncts(n) {
		b := c.GetBoolExpr()
		if b == nil || b.Boolop != pg.BoolExprType_OR_EXPR {
			out = append(out, c)
			continue
		}
		out = append(out, factorOr(c)...)
	}
	return out
}

func factorOr(n *pg.Node) []*pg.Node {
	args := n.GetBoolExpr().Args
	arms := make([][]*pg.Node, len(args))
	for i, a := range args {
		arms[i] = syntax.Conjuncts(a)
	}
	var shared []*pg.Node
	for _, c := range arms[0] {
		everywhere := !slices.ContainsFunc(arms[1:], func(arm []*pg.Node) bool {
			return !slices.ContainsFunc(arm, func(o *pg.Node) bool { return sameExpr(c, o) })
		})
		if everywhere {
			shared = append(shared, c)
		}
	}
	if len(shared) == 0 {
		return []*pg.Node{n}
	}
	var rest []*pg.Node
	for _, arm := range arms {
		left := slices.DeleteFunc(slices.Clone(arm), func(c *pg.Node) bool {
			return slices.ContainsFunc(shared, func(s *pg.Node) bool { return sameExpr(c, s) })
		})
		if len(left) == 0 {
			return shared // an arm that asks for nothing more
		}
		rest = append(rest, boolNode(pg.BoolExprType_AND_EXPR, left))
	}
	return append(shared, boolNode(pg.BoolExprType_OR_EXPR, rest))
}

func boolNode(op pg.BoolExprType, args []*pg.Node) *pg.Node {
	if len(args) == 1 {
		return args[0]
	}
	return &pg.Node{Node: &pg.Node_BoolExpr{BoolExpr: &pg.BoolExpr{Boolop: op, Args: args}}}
}

// sameExpr compares expressions of columns, constants and operators; false for others.
func sameExpr(a, b *pg.Node) bool {
	switch x := a.GetNode().(type) {
	case *pg.Node_ColumnRef:
		y := b.GetColumnRef()
		return y != nil && slices.Equal(syntax.Strings(x.ColumnRef.Fields), syntax.Strings(y.Fields))
	case *pg.Node_AConst:
		y := b.GetAConst()
		if y == nil {
			return false
		}
		return proto.Equal(&pg.A_Const{Val: x.AConst.Val, Isnull: x.AConst.Isnull}, &pg.A_Const{Val: y.Val, Isnull: y.Isnull})
	case *pg.Node_AExpr:
		y := b.GetAExpr()
		return y != nil && x.AExpr.Kind == y.Kind && syntax.OperatorName(x.AExpr.Name) == syntax.OperatorName(y.Name) &&
			sameExpr(x.AExpr.Lexpr, y.Lexpr) && sameExpr(x.AExpr.Rexpr, y.Rexpr)
	case *pg.Node_List:
		y := b.GetList()
		return y != nil && slices.EqualFunc(x.List.Items, y.Items, sameExpr)
	}
	return false
}

// implied derives from an OR, for each relation that all arms restrict, the OR of those restrictions. It
// says nothing new, but filters before the join.
func (q *query) implied(n *pg.Node) []expr {
	b := n.GetBoolExpr()
	if b == nil || b.Boolop != pg.BoolExprType_OR_EXPR {
		return nil
	}
	arms := make([]map[uint64][]expr, len(b.Args))
	for i, a := range b.Args {
		arms[i] = map[uint64][]expr{}
		for _, c := range syntax.Conjuncts(a) {
			if contains(c, func(m *pg.Node) bool { return m.GetSubLink() != nil || m.GetFuncCall() != nil }) {
				continue
			}
			if e := q.cond(c); bits.OnesCount64(e.refs) == 1 {
				arms[i][e.refs] = append(arms[i][e.refs], e)
			}
		}
	}
	var out []expr
	for _, ref := range slices.Sorted(maps.Keys(arms[0])) {
		var parts []expr
		for _, arm := range arms {
			if len(arm[ref]) > 0 {
				parts = append(parts, combine(pg.BoolExprType_AND_EXPR, arm[ref]))
			}
		}
		if len(parts) == len(arms) {
			out = append(out, combine(pg.BoolExprType_OR_EXPR, parts))
		}
	}
	return out
}

// isTrue reports whether a condition is always true, as it is written: true, or 1 = 1.
func isTrue(n *pg.Node) bool {
	if a := n.GetAExpr(); a != nil && a.Kind == pg.A_Expr_Kind_AEXPR_OP && syntax.OperatorName(a.Name) == "=" {
		return a.Lexpr.GetAConst().GetIval() != nil && sameExpr(a.Lexpr, a.Rexpr)
	}
	return n.GetAConst().GetBoolval().GetBoolval()
}
