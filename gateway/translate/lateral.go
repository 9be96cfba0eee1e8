package translate

import (
	"math/big"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// lateral translates LATERAL (SELECT … WHERE inner = outer … ORDER BY … LIMIT n): the subquery without what ties it, joined by that. A LIMIT is one of
// each tied group of rows, which a window numbers. It returns the conditions of the join; left is what the subquery may refer to.
func (q *query) lateral(v *pg.RangeSubselect, left namespace) (*tree, namespace, []expr) {
	stmt := v.Subquery.GetSelectStmt()
	if stmt == nil || !isPlain(stmt) || len(stmt.DistinctClause) > 0 || stmt.LimitOption == pg.LimitOption_LIMIT_OPTION_WITH_TIES {
		fail("LATERAL of this form")
	}
	outer := &query{t: q.t, ctes: q.ctes, noJoins: true}
	outer.scope = &scope{owner: outer, items: left.items, visible: left.visible}
	c := outer.correlate(stmt)
	if len(c.residual) > 0 {
		fail("LATERAL tied by more than equalities")
	}
	if len(c.inner) == 0 {
		leaf, names := q.subselect(q.t.selectStmt(stmt, q.ctes, readByFrom), v.Alias, "")
		return leaf, names, nil
	}
	untied := &pg.SelectStmt{Op: stmt.Op, WithClause: stmt.WithClause, FromClause: stmt.FromClause, WhereClause: conjunction(c.localNodes)}
	untied.TargetList = append(untied.TargetList, stmt.TargetList...)
	hidden := func(n *pg.Node) {
		name := "_lateral" + strconv.Itoa(len(untied.TargetList))
		untied.TargetList = append(untied.TargetList, &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Name: name, Val: n}}})
	}
	for _, n := range c.innerNodes {
		hidden(n)
	}
	count, limited := outer.rowCount(stmt.LimitCount)
	if limited {
		hidden(rowNumber(c.innerNodes, sortNodes(stmt)))
	}
	leaf, names := q.subselect(q.t.selectStmt(untied, q.ctes, readByFrom), v.Alias, "")
	columns := names.items[0].columns
	conds := make([]expr, len(c.outer))
	if limited {
		last := len(columns) - 1
		conds = append(conds, q.compare("<=", columns[last].use(), integerLiteral(oidInt8, new(big.Int).SetUint64(count))))
		columns = columns[:last]
	}
	shown := len(columns) - len(c.outer)
	for i, o := range c.outer {
		conds[i] = q.compare("=", o, columns[shown+i].use())
	}
	names.items[0].columns, names.visible = columns[:shown], columns[:shown]
	return leaf, names, conds
}

func conjunction(nodes []*pg.Node) *pg.Node {
	switch len(nodes) {
	case 0:
		return nil
	case 1:
		return nodes[0]
	}
	return &pg.Node{Node: &pg.Node_BoolExpr{BoolExpr: &pg.BoolExpr{Boolop: pg.BoolExprType_AND_EXPR, Args: nodes}}}
}

// rowNumber is row_number() OVER (PARTITION BY … ORDER BY …).
func rowNumber(partition, order []*pg.Node) *pg.Node {
	name := &pg.Node{Node: &pg.Node_String_{String_: &pg.String{Sval: "row_number"}}}
	window := &pg.WindowDef{PartitionClause: partition, OrderClause: order, FrameOptions: frameRange | frameStartUnbounded | frameEndCurrent}
	return &pg.Node{Node: &pg.Node_FuncCall{FuncCall: &pg.FuncCall{Funcname: []*pg.Node{name}, Over: window}}}
}

// sortNodes are the items of ORDER BY as expressions, which may stand in a window: not as numbers and names of output columns.
func sortNodes(s *pg.SelectStmt) []*pg.Node {
	out := make([]*pg.Node, len(s.SortClause))
	for i, n := range s.SortClause {
		by := n.GetSortBy()
		out[i] = &pg.Node{Node: &pg.Node_SortBy{SortBy: &pg.SortBy{
			Node: sortedBy(by.Node, s.TargetList), SortbyDir: by.SortbyDir, SortbyNulls: by.SortbyNulls, UseOp: by.UseOp,
		}}}
	}
	return out
}

func sortedBy(n *pg.Node, targets []*pg.Node) *pg.Node {
	fields := n.GetColumnRef().GetFields()
	for i, target := range targets {
		r := target.GetResTarget()
		star := r.Val.GetColumnRef().GetFields()
		if len(star) > 0 && star[len(star)-1].GetAStar() != nil {
			if n.GetAConst() != nil {
				fail("number of a column of * in ORDER BY")
			}
			continue
		}
		name := r.Name
		if name == "" {
			name = outputName(r.Val)
		}
		if len(fields) == 1 && fields[0].GetString_().GetSval() == name || n.GetAConst() != nil && int(n.GetAConst().GetIval().GetIval()) == i+1 {
			return r.Val
		}
	}
	if n.GetAConst() != nil {
		fail("constant in ORDER BY")
	}
	return n
}
