package translate

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// seriesOverAggregates makes SELECT generate_series(a, b, …) FROM (SELECT min(x) AS a, max(x) AS b FROM t) of SELECT
// generate_series(min(x), max(x), …) FROM t: the days or months that there are in a table. PostgreSQL makes the rows of
// the only one that is aggregated as well.
func seriesOverAggregates(s *pg.SelectStmt) *pg.SelectStmt {
	series := setOf("generate_series")
	if len(s.FromClause) == 0 || !isGrouped(s) || len(s.GroupClause) > 0 || s.HavingClause != nil || len(s.DistinctClause) > 0 || len(s.WindowClause) > 0 ||
		len(s.TargetList) != 1 || len(callsOf(s.TargetList, series)) != 1 {
		return s
	}
	s = proto.CloneOf(s)
	const hidden = "_aggregated"
	aggregated := &pg.SelectStmt{FromClause: s.FromClause, WhereClause: s.WhereClause, LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT, Op: pg.SetOperation_SETOP_NONE}
	call := callsOf(s.TargetList, series)[0].GetFuncCall()
	for i, arg := range call.Args {
		if !contains(arg, isAggregateCall) {
			continue
		}
		name := hidden + itoa(i)
		aggregated.TargetList = append(aggregated.TargetList, pg.MakeResTargetNodeWithNameAndVal(name, arg, 0))
		call.Args[i] = pg.MakeColumnRefNode([]*pg.Node{pg.MakeStrNode(hidden), pg.MakeStrNode(name)}, 0)
	}
	if isGrouped(s) || slices.ContainsFunc(s.SortClause, func(n *pg.Node) bool { return contains(n, isAggregateCall) }) {
		fail("aggregates beside a generate_series of them")
	}
	s.WhereClause = nil
	s.FromClause = []*pg.Node{{Node: &pg.Node_RangeSubselect{RangeSubselect: &pg.RangeSubselect{
		Subquery: &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: aggregated}}, Alias: &pg.Alias{Aliasname: hidden},
	}}}}
	return s
}
