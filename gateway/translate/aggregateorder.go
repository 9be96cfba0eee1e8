package translate

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// orderName is the column in which a subquery numbers its rows. No column of PostgreSQL's is called so.
const orderName = marker + "order"

// isAdded reports whether a column is one that the translation has added to a subquery: no * stands for it.
func isAdded(name string) bool { return strings.HasPrefix(name, marker) }

// orderAggregates has aggregates that collect values take the order of the only subquery in FROM where they have none, which is the
// order in which PostgreSQL hands them its rows: it neither merges an ordered subquery into the query around, nor
// aggregates its rows in parts (create_ordered_paths in planner.c yields no partial paths). A query that groups may sort the rows by its keys before, and
// one with an ordered aggregate by that's.
func orderAggregates(s *pg.SelectStmt) *pg.SelectStmt {
	if len(s.FromClause) != 1 || !takesOrder(s) {
		return s
	}
	s = proto.CloneOf(s)
	sub := s.FromClause[0].GetRangeSubselect().GetSubquery().GetSelectStmt()
	sub.TargetList = append(sub.TargetList, pg.MakeResTargetNodeWithNameAndVal(orderName, rowNumber(nil, sortNodes(sub)), 0))
	orderBy(s)
	return s
}

// takesOrder reports whether aggregates without an order take that of the subquery which is the only item in FROM.
func takesOrder(s *pg.SelectStmt) bool {
	from := s.FromClause[0].GetRangeSubselect()
	sub := from.GetSubquery().GetSelectStmt()
	if len(s.GroupClause) > 0 || s.HavingClause != nil || len(s.DistinctClause) > 0 || len(s.SortClause) > 0 || from.GetAlias() == nil ||
		sub == nil || len(sub.SortClause) == 0 || sub.Op != pg.SetOperation_SETOP_NONE || len(sub.DistinctClause) > 0 || len(sub.ValuesLists) > 0 ||
		hasWindow(sub) || len(callsOf(s.TargetList, ordered)) == 0 || len(callsOf(sub.TargetList, makesRows)) > 0 {
		return false
	}
	return !slices.ContainsFunc(callsOf(s.TargetList, aggregates), func(n *pg.Node) bool {
		f := n.GetFuncCall()
		return len(f.AggOrder) > 0 || f.AggDistinct || f.AggWithinGroup
	})
}

// orderBy orders the aggregates by the numbers of the rows.
func orderBy(s *pg.SelectStmt) {
	alias := s.FromClause[0].GetRangeSubselect().Alias.Aliasname
	for _, n := range callsOf(s.TargetList, ordered) {
		n.GetFuncCall().AggOrder = []*pg.Node{pg.MakeSortByNode(columnOf(alias, orderName), pg.SortByDir_SORTBY_DEFAULT, pg.SortByNulls_SORTBY_NULLS_DEFAULT, 0)}
	}
}

func columnOf(alias, name string) *pg.Node {
	return pg.MakeColumnRefNode([]*pg.Node{pg.MakeStrNode(alias), pg.MakeStrNode(name)}, 0)
}

// ordered are the aggregates that show in which order rows come.
var ordered = setOf("json_agg jsonb_agg array_agg string_agg")
