package translate

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// rowMadeBy returns the columns of (SELECT r FROM (SELECT a AS x, b AS y) AS r), as which Hasura gives a row names; nil: it is another expression.
func (q *query) rowMadeBy(n *pg.Node) []*pg.Node {
	link := n.GetSubLink()
	outer := link.GetSubselect().GetSelectStmt()
	if outer == nil || link.SubLinkType != pg.SubLinkType_EXPR_SUBLINK || len(outer.FromClause) != 1 || len(outer.TargetList) != 1 || !isPlain(outer) ||
		outer.WhereClause != nil || outer.WithClause != nil || len(outer.SortClause) > 0 || outer.LimitCount != nil || len(outer.DistinctClause) > 0 {
		return nil
	}
	from := outer.FromClause[0].GetRangeSubselect()
	fields := outer.TargetList[0].GetResTarget().GetVal().GetColumnRef().GetFields()
	if from.GetAlias() == nil || len(from.Alias.Colnames) > 0 || len(fields) != 1 || fields[0].GetString_().GetSval() != from.Alias.Aliasname {
		return nil
	}
	made := from.Subquery.GetSelectStmt()
	if spelled := spelledBy(made); spelled == nil || len(made.ValuesLists) > 0 || made.Op != pg.SetOperation_SETOP_NONE || len(made.FromClause) > 0 {
		return nil
	}
	name := from.Alias.Aliasname
	if q.showsColumn(name) || slices.ContainsFunc(made.TargetList, func(n *pg.Node) bool { return targetName(n.GetResTarget()) == name }) {
		return nil // which the name means then
	}
	return made.TargetList
}

// madeRow is the text of a row of some columns.
func (w jsonWriter) madeRow(targets []*pg.Node) expr {
	var members []jsonMember
	var columns []expr
	for _, n := range targets {
		value := n.GetResTarget().Val
		if contains(value, isAggregateCall) {
			fail("aggregate in a subquery that makes a row")
		}
		e := resolveUnknown(w.q.value(value))
		members, columns = append(members, jsonMember{targetName(n.GetResTarget()), w.inside(e)}), append(columns, e)
	}
	e := w.of(w.members(members, `":`, ","), columns)
	e.oid = oidRecord
	return e
}
