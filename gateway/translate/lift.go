package translate

import (
	"slices"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// tieName starts the names of the columns by which a subquery is tied from outside.
const tieName = marker + "tie"

// liftTies moves what ties an aggregating subquery out of the only subquery in its FROM, and makes of that one's LIMIT a condition on numbers:
//
//	SELECT json_agg(q.x) FROM (SELECT * FROM u WHERE u.a = t.a ORDER BY u.id LIMIT 2) q
//	SELECT json_agg(q.x ORDER BY q.number) FROM (SELECT *, u.a AS tie, row_number() OVER (PARTITION BY u.a ORDER BY u.id) AS number FROM u) q
//	WHERE q.tie = t.a AND q.number <= 2
//
// The receiver is what the subquery is tied to. Any other subquery it returns as it is.
func (q *query) liftTies(stmt *pg.SelectStmt) *pg.SelectStmt {
	if !isGrouped(stmt) || len(stmt.GroupClause) > 0 {
		return stmt
	}
	return q.lift(stmt)
}

// lift does so at any depth. What it adds to the output of subqueries no name and no row shows.
func (q *query) lift(stmt *pg.SelectStmt) *pg.SelectStmt {
	if len(stmt.FromClause) != 1 || stmt.WithClause != nil {
		return stmt
	}
	from := stmt.FromClause[0].GetRangeSubselect()
	sub := from.GetSubquery().GetSelectStmt()
	if sub == nil || from.Lateral || from.GetAlias() == nil || len(from.Alias.Colnames) > 0 || !isPlain(sub) || len(callsOf(sub.TargetList, makesRows)) > 0 ||
		sub.WithClause != nil || len(sub.DistinctClause) > 0 {
		return stmt
	}
	sub = q.lift(sub)
	if sub.WhereClause == nil {
		return stmt
	}
	c := q.correlate(sub)
	if len(c.inner) == 0 || len(c.residual) > 0 {
		return stmt
	}
	orders := isGrouped(stmt) && takesOrder(stmt)
	count, limited := q.rowCount(sub.LimitCount)
	ties, local := c.untie(factor(sub.WhereClause))
	stmt = proto.CloneOf(stmt)
	from = stmt.FromClause[0].GetRangeSubselect()
	lifted, alias := proto.CloneOf(sub), from.Alias.Aliasname
	from.Subquery = &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: lifted}}
	var conds []*pg.Node
	if stmt.WhereClause != nil {
		conds = append(conds, stmt.WhereClause)
	}
	add := func(name string, value *pg.Node) *pg.Node {
		lifted.TargetList = append(lifted.TargetList, pg.MakeResTargetNodeWithNameAndVal(name, value, 0))
		return columnOf(alias, name)
	}
	compared := func(op string, l, r *pg.Node) *pg.Node {
		return pg.MakeAExprNode(pg.A_Expr_Kind_AEXPR_OP, []*pg.Node{pg.MakeStrNode(op)}, l, r, 0)
	}
	for i, outer := range ties {
		q.t.ties++
		conds = append(conds, compared("=", add(tieName+strconv.Itoa(q.t.ties), c.innerNodes[i]), outer))
	}
	if orders || limited {
		number := add(orderName, rowNumber(c.innerNodes, sortNodes(sub)))
		if limited {
			conds = append(conds, compared("<=", number, bigint(int(count))))
		}
	}
	if orders {
		orderBy(stmt)
	}
	lifted.WhereClause, lifted.SortClause, lifted.LimitCount = conjunction(local), nil, nil
	lifted.LimitOption = pg.LimitOption_LIMIT_OPTION_DEFAULT
	stmt.WhereClause = conjunction(conds)
	return stmt
}

// untie splits conditions into what a subquery is tied to, for each of its own sides, and those that it is not tied by.
func (c *correlated) untie(conds []*pg.Node) (outer, local []*pg.Node) {
	outer = make([]*pg.Node, len(c.innerNodes))
	for _, n := range conds {
		a := n.GetAExpr()
		side := func(m *pg.Node) int {
			return slices.IndexFunc(c.innerNodes, func(inner *pg.Node) bool { return a != nil && inner == m })
		}
		switch l, r := side(a.GetLexpr()), side(a.GetRexpr()); {
		case l >= 0:
			outer[l] = a.Rexpr
		case r >= 0:
			outer[r] = a.Lexpr
		default:
			local = append(local, n)
		}
	}
	return outer, local
}
