package translate

import (
	"math/big"
	"slices"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// ties are how a LATERAL subquery is joined to the items before it: by equalities, or not at all.
type ties struct {
	conds []expr
	// always says that it has a row for each of theirs, also for one that none of the conditions ties to any; if only where its HAVING holds.
	always bool
	having []expr
}

// lateral translates LATERAL (SELECT … WHERE inner = outer …). left is what the subquery may refer to.
func (q *query) lateral(v *pg.RangeSubselect, left namespace) (*tree, namespace, ties) {
	stmt := v.Subquery.GetSelectStmt()
	if stmt == nil {
		fail("LATERAL of this form")
	}
	if r := spelledBy(stmt); r != nil && r.isConstant() {
		leaf, names := q.subselect(q.t.selectStmt(stmt, q.ctes, readByFrom), v.Alias, "")
		return leaf, names, ties{}
	} else if r != nil {
		leaf, names := q.spelledOut(r, v.Alias, left)
		return leaf, names, ties{}
	}
	if !isSimple(stmt) || len(stmt.DistinctClause) > 0 {
		fail("LATERAL of this form")
	}
	outer := &query{t: q.t, ctes: q.ctes, noJoins: true}
	outer.scope = &scope{owner: outer, items: left.items, visible: left.visible}
	stmt = outer.liftTies(stmt)
	c := outer.correlate(stmt)
	switch {
	case len(c.residual) > 0 && (len(c.inner) == 0 || !isGrouped(stmt) || len(stmt.GroupClause) > 0):
		fail("LATERAL tied by more than equalities")
	case len(c.inner) == 0:
		leaf, names := q.subselect(q.t.selectStmt(stmt, q.ctes, readByFrom), v.Alias, "")
		return leaf, names, ties{}
	case isGrouped(stmt) && len(stmt.GroupClause) == 0:
		return q.aggregates(c, v.Alias)
	}
	leaf, names, conds := q.untied(c, v.Alias)
	return leaf, names, ties{conds: conds}
}

// aggregates are those of a LATERAL subquery without GROUP BY. Where there is nothing to aggregate they have a row as well.
func (q *query) aggregates(c *correlated, alias *pg.Alias) (*tree, namespace, ties) {
	if len(c.stmt.SortClause) > 0 || c.stmt.LimitCount != nil {
		fail("LATERAL with ORDER BY or LIMIT over aggregates of all its rows")
	}
	targets := c.sub.expand(c.stmt.TargetList)
	comparisons := c.among()
	leaf := c.group()
	c.sub.group.among = comparisons
	it := &item{}
	for _, target := range targets {
		e := resolveUnknown(c.sub.value(target.node))
		if e.fails && !isAggregateCall(target.node) { // which the engine computes for all groups
			fail("LATERAL of a value that may fail")
		}
		e.table, e.source = 0, 0
		it.columns = append(it.columns, &column{name: target.name, e: e})
	}
	having := c.having()
	if len(c.sub.joins) > 0 {
		fail("correlated subquery over the aggregates of a LATERAL one")
	}
	rename(it, alias)
	conds := make([]expr, len(c.inner))
	for i, o := range c.outer {
		key := describe(c.inner[i], "k"+strconv.Itoa(i+1)).of(leafName(leaf.id), bit(leaf.id))
		conds[i] = q.compare("=", o, key)
	}
	return leaf, namespace{[]*item{it}, it.columns}, ties{conds, true, having}
}

// having are the conditions on the aggregates of a subquery that is grouped by what ties it.
func (c *correlated) having() []expr {
	var conds []expr
	for _, n := range syntax.Conjuncts(c.stmt.HavingClause) {
		e := c.sub.cond(n)
		if e.fails { // which the engine asks of all groups
			fail("correlated HAVING that may fail")
		}
		conds = append(conds, e)
	}
	return conds
}

// onlyIf is the value where all conditions hold, and NULL elsewhere.
func (e expr) onlyIf(conds []expr) expr {
	if len(conds) == 0 {
		return e
	}
	all := "ifNull(" + boolText(combine(pg.BoolExprType_AND_EXPR, conds)) + ", false)"
	e = e.plain()
	if e.displaysByRow() {
		e.dec.displaySQL = "if(" + all + ", " + e.dec.displaySQL + ", NULL)"
	}
	e.sql, e.null, e.lit, e.ratio, e.blanks = "if("+all+", "+e.typed()+", NULL)", true, nil, nil, nil
	for _, c := range conds {
		e.refs |= c.refs
	}
	return e
}

// joinAlways joins a LATERAL subquery that has a row for each of the left side. What else is asked of the row filters an inner join.
func joinAlways(left, right *tree, t ties, filters []expr) *tree {
	if len(left.parts) == 1 && len(left.conds) == 0 {
		left = left.parts[0]
	}
	joined := &tree{kind: "LEFT", left: left, right: right, conds: t.conds, fills: true}
	if len(filters) > 0 {
		joined = &tree{parts: []*tree{joined}, conds: filters, fills: true}
	}
	return joined
}

// hasFilled reports whether a join tree has values that are there where it has no row for them.
func (n *tree) hasFilled() bool {
	found := false
	n.walk(func(part *tree) { found = found || part.fills })
	return found
}

// untied is a subquery without what ties it, and the conditions of a join by that. A LIMIT is one of each tied group of rows, which a window numbers.
func (q *query) untied(c *correlated, alias *pg.Alias) (*tree, namespace, []expr) {
	stmt := c.stmt
	var local []*pg.Node
	for _, e := range c.local {
		local = append(local, e.node)
	}
	untied := &pg.SelectStmt{Op: stmt.Op, WithClause: stmt.WithClause, FromClause: stmt.FromClause, WhereClause: conjunction(local), HavingClause: stmt.HavingClause}
	untied.TargetList = append(untied.TargetList, stmt.TargetList...)
	if isGrouped(stmt) {
		if len(stmt.GroupClause) == 0 || stmt.GroupDistinct || slices.ContainsFunc(stmt.GroupClause, func(n *pg.Node) bool { return n.GetGroupingSet() != nil }) {
			fail("HAVING without GROUP BY, or grouping sets, of a subquery that is tied") // the empty set has a row where there are none
		}
		untied.GroupClause = slices.Concat(stmt.GroupClause, c.innerNodes)
	}
	hidden := func(n *pg.Node) {
		name := "_lateral" + strconv.Itoa(len(untied.TargetList))
		untied.TargetList = append(untied.TargetList, &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Name: name, Val: n}}})
	}
	for _, n := range c.innerNodes {
		hidden(n)
	}
	count, limited := q.rowCount(stmt.LimitCount)
	if limited {
		hidden(rowNumber(c.innerNodes, sortNodes(stmt)))
	}
	leaf, names := q.subselect(q.t.selectStmt(untied, q.ctes, readByFrom), alias, "")
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

// firstValue is the only column of a subquery's first row, for a value.
func (q *query) firstValue(c *correlated) expr {
	leaf, names, conds := q.untied(c, nil)
	value := names.visible[0].use()
	if value.fails {
		fail("correlated subquery with LIMIT for a value that may fail")
	}
	q.joins = append(q.joins, extraJoin{kind: "LEFT", id: leaf.id, text: leaf.text, conds: conds})
	value.null, value.table, value.source = true, 0, 0
	return value
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
		if isAnyStar(r.Val) {
			if n.GetAConst() != nil {
				fail("number of a column of * in ORDER BY")
			}
			continue
		}
		name := targetName(r)
		if len(fields) == 1 && fields[0].GetString_().GetSval() == name || n.GetAConst() != nil && int(n.GetAConst().GetIval().GetIval()) == i+1 {
			return r.Val
		}
	}
	if n.GetAConst() != nil {
		fail("constant in ORDER BY")
	}
	return n
}
