package translate

import (
	"iter"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// inheritOrder has a query without an ORDER BY, of which somebody sees the order, show rows in that of the subquery or WITH query that they come from, as
// PostgreSQL does: it merges no ordered subquery into the query around, and hands on its rows as they come where no more than conditions are applied to
// them. Many a tool writes SELECT * FROM (…) t LIMIT 1000 around what its user wrote. So are the rows numbered by row_number() OVER () and the like. The
// WITH queries that it returns are those that the query is to read.
func inheritOrder(s *pg.SelectStmt, ctes *cteList, seen bool) (*pg.SelectStmt, *cteList) {
	if len(s.FromClause) != 1 {
		return s, ctes
	}
	sub, around := onlySource(s, ctes)
	numbers := numbersRows(s)
	shows := seen && len(s.SortClause) == 0 && handsOn(s)
	switch {
	case !numbers && !shows || sub == nil || !around.isOrdered(sub):
		return s, ctes
	case numbers && !handsOn(s):
		fail("window without ORDER BY over rows that have an order")
	}
	s = proto.CloneOf(s)
	var keys []*pg.Node
	if ref := s.FromClause[0].GetRangeVar(); ref != nil {
		c, _ := ctes.find(ref.Relname)
		c.stmt = proto.CloneOf(c.stmt)
		name := ref.Relname
		if ref.Alias != nil {
			name = ref.Alias.Aliasname
		}
		renamed := len(c.stmt.Aliascolnames)+len(ref.GetAlias().GetColnames()) > 0
		keys = exposeOrder(c.stmt.Ctequery.GetSelectStmt(), name, renamed)
		ctes = &cteList{c, ctes}
	} else {
		keys = exposeItem(s.FromClause[0].GetRangeSubselect())
	}
	orderWindows(s, keys)
	if shows {
		s.SortClause = keys
	}
	return s, ctes
}

// orderWindows has the windows of a query whose functions show in which order it reads rows be in this order.
func orderWindows(s *pg.SelectStmt, order []*pg.Node) {
	for call, showsOrder := range windowCalls(s) {
		switch name := syntax.FunctionName(call); {
		case !showsOrder:
		case call.Over.Name != "" || call.Over.FrameOptions&frameNonDefault != 0 || !heedsNoFrame[name]:
			fail("%s without ORDER BY over rows that have an order", name)
		default:
			call.Over.OrderClause = order
		}
	}
}

// heedsNoFrame are functions of a row's place in its partition, whatever the frame is.
var heedsNoFrame = setOf("row_number ntile lag lead")

// onlySource is the query that is all of a FROM clause with one item, and the WITH queries that it may refer to; nil: the item is no query.
func onlySource(s *pg.SelectStmt, ctes *cteList) (*pg.SelectStmt, *cteList) {
	if item := s.FromClause[0].GetRangeSubselect(); item != nil && !item.Lateral {
		return item.Subquery.GetSelectStmt(), ctes
	}
	if ref := s.FromClause[0].GetRangeVar(); ref != nil && ref.Schemaname == "" {
		if c, ok := ctes.find(ref.Relname); ok {
			return c.stmt.Ctequery.GetSelectStmt(), c.outer
		}
	}
	return nil, nil
}

// isOrdered reports whether PostgreSQL yields the rows of a query, which may refer to the WITH queries, in an order that is asked for in it or below.
func (l *cteList) isOrdered(s *pg.SelectStmt) bool {
	if len(s.SortClause) > 0 || len(s.FromClause) != 1 || !handsOn(s) {
		return len(s.SortClause) > 0
	}
	sub, around := onlySource(s, withClause(s, l))
	return sub != nil && around.isOrdered(sub)
}

// handsOn reports whether a query shows rows in the order in which it reads them.
func handsOn(s *pg.SelectStmt) bool {
	if s.Op != pg.SetOperation_SETOP_NONE || len(s.DistinctClause) > 0 || isGrouped(s) {
		return false
	}
	for call := range windowCalls(s) {
		if w := windowIn(s, call); len(w.PartitionClause) > 0 || len(w.OrderClause) > 0 || w.Refname != "" {
			return false
		}
	}
	return true
}

// numbersRows reports whether a query shows by window functions in which order it reads rows. PostgreSQL does not sort those again that are in the order of
// a window's partitions already.
func numbersRows(s *pg.SelectStmt) bool {
	for call, showsOrder := range windowCalls(s) {
		if w := windowIn(s, call); showsOrder && len(w.OrderClause) == 0 && w.Refname == "" {
			return true
		}
	}
	return false
}

// windowCalls yields the calls with OVER in a query's output, and whether what they yield depends on the order of rows that the window's does not tell apart.
func windowCalls(s *pg.SelectStmt) iter.Seq2[*pg.FuncCall, bool] {
	return func(yield func(*pg.FuncCall, bool) bool) {
		more := true
		syntax.WalkAll(s.TargetList, func(n *pg.Node) bool {
			if f := n.GetFuncCall(); f.GetOver() != nil && more {
				more = yield(f, !peersAlike[syntax.FunctionName(f)] || !showsPeersAlike(windowIn(s, f)))
			}
			return more && n.GetSelectStmt() == nil
		})
	}
}

// windowIn is the window of a call in a query.
func windowIn(s *pg.SelectStmt, call *pg.FuncCall) *pg.WindowDef {
	for _, n := range s.WindowClause {
		if w := n.GetWindowDef(); call.Over.Name != "" && w.Name == call.Over.Name {
			return w
		}
	}
	return call.Over
}

// exposeItem is [exposeOrder] for a subquery in FROM.
func exposeItem(item *pg.RangeSubselect) []*pg.Node {
	if item.Alias == nil {
		item.Alias = &pg.Alias{Aliasname: orderName}
	}
	return exposeOrder(item.Subquery.GetSelectStmt(), item.Alias.Aliasname, len(item.Alias.Colnames) > 0)
}

// exposeOrder has a query yield the values that its rows are ordered by, and returns the ORDER BY of a query around by these columns, where it is called
// alias. Renamed says that the columns it has already are called something else there.
func exposeOrder(s *pg.SelectStmt, alias string, renamed bool) []*pg.Node {
	var keys []*pg.Node
	distinct := s.Op != pg.SetOperation_SETOP_NONE || isDistinct(s)
	switch {
	case distinct && renamed:
		fail("order of distinct rows, or of a set operation, whose columns are renamed")
	case distinct || len(s.SortClause) > 0:
		keys = s.SortClause
		if !distinct {
			keys = sortNodes(s)
		}
	default:
		item := s.FromClause[0].GetRangeSubselect()
		if item == nil {
			fail("order of a WITH query that a subquery hands on")
		}
		keys = exposeItem(item)
	}
	out := make([]*pg.Node, len(keys))
	for i, n := range keys {
		by := n.GetSortBy()
		name := orderName + strconv.Itoa(i+1)
		if distinct {
			name = outputColumn(s, by.Node)
		} else {
			s.TargetList = append(s.TargetList, pg.MakeResTargetNodeWithNameAndVal(name, by.Node, -1))
		}
		out[i] = pg.MakeSortByNode(columnOf(alias, name), by.SortbyDir, by.SortbyNulls, -1)
		out[i].GetSortBy().UseOp = by.UseOp
	}
	return out
}

// outputColumn is the name of the output column that distinct rows, or those of a set operation, are ordered by.
func outputColumn(s *pg.SelectStmt, by *pg.Node) string {
	for s.Op != pg.SetOperation_SETOP_NONE {
		s = s.Larg
	}
	if fields := by.GetColumnRef().GetFields(); len(fields) == 1 {
		return fields[0].GetString_().GetSval()
	}
	for i, n := range s.TargetList {
		target := n.GetResTarget()
		if isAnyStar(target.Val) {
			break
		}
		if c := by.GetAConst(); c != nil && int(c.GetIval().GetIval()) == i+1 {
			return targetName(target)
		}
	}
	fail("order of distinct rows, or of a set operation, by what has no name")
	return ""
}
