package translate

import (
	pg "github.com/pganalyze/pg_query_go/v6"
)

// aggregatesElements reports whether a query is the row of aggregates of the elements of a value.
func aggregatesElements(s *pg.SelectStmt) bool {
	return listedBy(s) != nil && isGrouped(s)
}

// perColumn makes SELECT (SELECT count(*) FROM …) AS n, (SELECT sum(x) FROM …) AS s of SELECT count(*) AS n, sum(x)
// AS s FROM …, which has one row as well.
func perColumn(s *pg.SelectStmt) *pg.SelectStmt {
	out := &pg.SelectStmt{Op: pg.SetOperation_SETOP_NONE}
	for _, n := range s.TargetList {
		target := n.GetResTarget()
		name := targetName(target)
		one := &pg.SelectStmt{Op: s.Op, LimitOption: s.LimitOption, FromClause: s.FromClause, WhereClause: s.WhereClause, TargetList: []*pg.Node{n}}
		value := &pg.Node{Node: &pg.Node_SubLink{SubLink: &pg.SubLink{
			SubLinkType: pg.SubLinkType_EXPR_SUBLINK, Subselect: &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: one}},
		}}}
		out.TargetList = append(out.TargetList, pg.MakeResTargetNodeWithNameAndVal(name, value, 0))
	}
	return out
}
