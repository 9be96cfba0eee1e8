package translate

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// ungroup takes GROUP BY off a subquery for a value that is grouped by columns which tie it, as Django writes them. The rows tied to a row of the
// enclosing query are one group then, and none if there are none, which HAVING says as well.
func (c *correlated) ungroup() {
	for _, n := range c.stmt.GroupClause {
		if n.GetColumnRef() == nil || !c.isTied(c.sub.value(n)) {
			fail("correlated subquery for a value, grouped by what does not tie it")
		}
	}
	count := pg.MakeFuncCallNode([]*pg.Node{pg.MakeStrNode("count")}, nil, 0)
	count.GetFuncCall().AggStar = true
	some := pg.MakeAExprNode(pg.A_Expr_Kind_AEXPR_OP, []*pg.Node{pg.MakeStrNode(">")}, count, pg.MakeAConstIntNode(0, 0), 0)
	s := proto.CloneOf(c.stmt)
	s.GroupClause, s.GroupDistinct = nil, false
	s.HavingClause = conjunction(append([]*pg.Node{some}, syntax.Conjuncts(s.HavingClause)...))
	c.stmt = s
}

// isTied reports whether a column, compared as what it is, ties the subquery: then it groups the rows that are tied to one row together.
func (c *correlated) isTied(column expr) bool {
	return column.source > 0 && slices.ContainsFunc(c.inner, func(e expr) bool {
		return e.source == column.source && e.index == column.index && e.oid == column.oid
	})
}
