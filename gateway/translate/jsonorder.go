package translate

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// orderName is the column in which a subquery numbers its rows. No column of PostgreSQL's is called so.
const orderName = marker + "order"

// orderAggregates has json_agg and jsonb_agg without an order take that of the only subquery in FROM, which is the
// order in which PostgreSQL hands them its rows: it neither merges an ordered subquery into the query around, nor
// aggregates these two in parts. A query that groups may sort the rows by its keys before, and one with an ordered
// aggregate by that's.
func orderAggregates(s *pg.SelectStmt) *pg.SelectStmt {
	item := s.FromClause
	if len(item) != 1 || len(s.GroupClause) > 0 || s.HavingClause != nil || len(s.DistinctClause) > 0 || len(s.SortClause) > 0 {
		return s
	}
	sub := item[0].GetRangeSubselect().GetSubquery().GetSelectStmt()
	if sub == nil || len(sub.SortClause) == 0 || sub.Op != pg.SetOperation_SETOP_NONE || len(sub.DistinctClause) > 0 || len(sub.ValuesLists) > 0 ||
		hasWindow(sub) || len(callsOf(s.TargetList, ordered)) == 0 {
		return s
	}
	for _, n := range callsOf(s.TargetList, aggregates) {
		if f := n.GetFuncCall(); len(f.AggOrder) > 0 || f.AggDistinct || f.AggWithinGroup {
			return s
		}
	}
	s = proto.CloneOf(s)
	from := s.FromClause[0].GetRangeSubselect()
	sub = from.Subquery.GetSelectStmt()
	if from.Alias == nil || slices.ContainsFunc(sub.TargetList, func(n *pg.Node) bool { return len(callsOf([]*pg.Node{n}, makesRows)) > 0 }) {
		return s
	}
	sub.TargetList = append(sub.TargetList, &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Name: orderName, Val: rowNumber(nil, sortNodes(sub))}}})
	number := &pg.Node{Node: &pg.Node_ColumnRef{ColumnRef: &pg.ColumnRef{Fields: []*pg.Node{pg.MakeStrNode(from.Alias.Aliasname), pg.MakeStrNode(orderName)}}}}
	for _, n := range callsOf(s.TargetList, ordered) {
		n.GetFuncCall().AggOrder = []*pg.Node{{Node: &pg.Node_SortBy{SortBy: &pg.SortBy{Node: number}}}}
	}
	return s
}

// ordered are the aggregates that show in which order rows come, and that PostgreSQL does not compute in parts.
var ordered = setOf("json_agg jsonb_agg")
