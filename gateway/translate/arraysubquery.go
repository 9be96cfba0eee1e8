package translate

import (
	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// arraySubquery translates ARRAY(SELECT x … ORDER BY …) as what it is: array_agg(x ORDER BY …), and an empty array where there is no row.
func (q *query) arraySubquery(stmt *pg.SelectStmt) expr {
	distinct := isDistinct(stmt)
	if !isPlain(stmt) || len(stmt.TargetList) != 1 || len(stmt.SortClause) == 0 && !distinct || len(stmt.DistinctClause) > 0 && !distinct || stmt.LimitCount != nil {
		fail("ARRAY(SELECT …) without ORDER BY, or of this form")
	}
	value := stmt.TargetList[0].GetResTarget().Val
	if !isValue(value) {
		fail("ARRAY(SELECT …) of what makes rows")
	}
	call := &pg.FuncCall{
		Funcname: []*pg.Node{pg.MakeStrNode("array_agg")},
		Args:     []*pg.Node{value}, AggOrder: sortNodes(stmt), AggDistinct: distinct,
	}
	grouped := proto.CloneOf(stmt)
	grouped.SortClause, grouped.DistinctClause = nil, nil
	grouped.TargetList = []*pg.Node{{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: &pg.Node{Node: &pg.Node_FuncCall{FuncCall: call}}}}}}
	e := q.scalarSubquery(grouped)
	e.sql, e.null, e.made = "ifNull("+e.sql+", '{}')", false, nil
	return e
}
