package translate

import (
	"regexp"
	"slices"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/syntax"
)

// tree is a FROM clause: a leaf, an inner join of several parts, or an outer join.
type tree struct {
	// leaf
	id   int
	text func() string // of the relation, without its alias; nil for a join
	rows int64         // estimate; 0: unknown
	// source (from 1) and key are set for a table.
	source int
	key    []int
	// computed are values that the relation's subquery computes beside its columns.
	computed []string
	// unnested are the elements of values of a row that there is a row for each of.
	unnested []*unnested
	// probed are values that it computes, and nobody reads.
	probed []string
	// fails says of a subquery that it computes what PostgreSQL refuses for some rows, before conditions on what it yields are asked; nil: it does
	// not. whole keeps the engine from passing them down.
	fails func() bool
	whole bool
	// apart lists what a subquery yields that may fail, and is read, where PostgreSQL computes it for all rows of the subquery; nil: nothing.
	apart func() []string
	// probes says that these are to be computed also where what reads them does not need them.
	probes bool
	// stays says of a condition on what a subquery with windows yields whether PostgreSQL asks it after the rows are computed; nil: it has none that
	// matters.
	stays func(condition string) bool
	// narrow tells a subquery what reads its columns, before its text is asked for; nil: it makes no difference.
	narrow func(readers string)
	// merged is set for a subquery that PostgreSQL merges into the query around; columnNames are what that calls its columns.
	merged      *merged
	columnNames []string
	// with and item are set for a WITH query: what it is and what it shows.
	with *pg.CommonTableExpr
	item *item
	// inner join
	parts []*tree
	conds []expr
	// kept is the share of the first part's rows that an arm is expected to keep.
	kept float64
	// inside says that it is of a query inside another, whose conditions may come down to it.
	inside bool
	// repeats says of a subquery that it yields the same rows when it is computed again.
	repeats bool
	// single says of a subquery that it yields exactly one row, or of rows that are spelled out that there is one.
	single bool
	// fills says of a join that what it shows of its right side may be there where the side has no row; brittle that this may fail.
	fills, brittle bool
	// asked are values that PostgreSQL computes for each row of what is before it, and may refuse, read or not.
	asked []expr
	// wrapped writes an inner join as a subquery of columns with qualified names; nil: it is not one.
	wrapped func(*translator) string
	// outer join
	kind        string // LEFT, RIGHT, FULL; empty for the others
	left, right *tree
}

func (t *tree) isLeaf() bool { return t.text != nil }

// namespace is what a FROM item makes visible.
type namespace struct {
	items   []*item
	visible []*column
}

func (n namespace) and(o namespace) namespace {
	return namespace{append(n.items[:len(n.items):len(n.items)], o.items...), append(n.visible[:len(n.visible):len(n.visible)], o.visible...)}
}

// fromClause builds the FROM list. WHERE conditions join its parts later.
func (q *query) fromClause(nodes []*pg.Node) {
	q.from = &tree{inside: q.reader != readByClient}
	q.scope = &scope{owner: q} // empty for the arguments of functions in FROM
	var ns namespace
	outers := 0
	for _, n := range nodes {
		if f := unnestOf(n); f != nil {
			ns = ns.and(q.unnest(f, q.from.parts, ns, false))
			continue
		}
		part, names, ties := q.fromItemAfter(n, ns)
		q.from.askEach(part.asked)
		q.from.brittle = q.from.brittle || part.brittle
		if ties.always {
			left := &tree{parts: q.from.parts, conds: q.from.conds}
			*q.from = tree{inside: q.from.inside, brittle: q.from.brittle, parts: []*tree{joinAlways(left, part, ties, nil)}, conds: ties.having}
			outers, ns = 1, ns.and(names)
			continue
		}
		q.from.conds = append(q.from.conds, ties.conds...)
		if part.hasOuter() {
			if outers++; outers > 1 {
				part = q.wrap(part, names, nil)
			}
		}
		if part.parts != nil {
			q.from.parts = append(q.from.parts, part.parts...)
			q.from.conds = append(q.from.conds, part.conds...)
		} else {
			q.from.parts = append(q.from.parts, part)
		}
		ns = ns.and(names)
	}
	if len(q.from.parts) == 1 && len(q.from.conds) == 0 && q.from.parts[0].fills { // what WHERE asks of the left side joins its parts
		inside, brittle := q.from.inside, q.from.brittle
		*q.from = *q.from.parts[0]
		q.from.inside, q.from.brittle = inside, brittle
	}
	q.scope.items, q.scope.visible = ns.items, ns.visible
}

// fromItemAfter translates an item that may be tied to those before it, and returns the conditions that do.
func (q *query) fromItemAfter(n *pg.Node, before namespace) (*tree, namespace, ties) {
	if v := n.GetRangeSubselect(); v.GetLateral() {
		return q.lateral(v, before)
	}
	if f := n.GetRangeFunction(); f != nil {
		if r := spelledElements(f); r != nil && !r.isConstant() {
			part, names := q.spelledOut(r, f.Alias, before)
			return part, names, ties{}
		}
	}
	part, names := q.fromItem(n)
	return part, names, ties{}
}

func (q *query) fromItem(n *pg.Node) (*tree, namespace) {
	switch v := n.Node.(type) {
	case *pg.Node_RangeVar:
		return q.rangeVar(v.RangeVar)
	case *pg.Node_RangeSubselect:
		if v.RangeSubselect.Lateral {
			fail("LATERAL")
		}
		stmt := v.RangeSubselect.Subquery.GetSelectStmt()
		if stmt == nil {
			fail("subquery in FROM that is not a query")
		}
		return q.subselect(q.t.selectStmt(stmt, q.ctes, readByFrom), v.RangeSubselect.Alias, "")
	case *pg.Node_JoinExpr:
		return q.join(v.JoinExpr)
	case *pg.Node_RangeFunction:
		return q.rangeFunction(v.RangeFunction)
	}
	if n.GetRangeTableSample() != nil {
		fail("TABLESAMPLE")
	}
	fail("FROM item that is not a table, subquery, join or series")
	return nil, namespace{}
}

func (q *query) rangeVar(v *pg.RangeVar) (*tree, namespace) {
	if v.Schemaname == "" {
		if c, ok := q.ctes.find(v.Relname); ok {
			return q.cteRef(c, v)
		}
	}
	if !v.Inh {
		fail("ONLY before a table name")
	}
	if v.Catalogname != "" && v.Catalogname != q.t.env.Database {
		fail("name of another database before a table name")
	}
	table, ok := q.t.env.Catalog.Table(q.t.searchPath(), v.Schemaname, v.Relname)
	if !ok {
		return q.viewRef(v)
	}
	requireOwnNames(table)
	q.t.read(table.ID, table.Version)
	id := q.t.newLeaf()
	number := len(q.t.sources)
	q.t.sources = append(q.t.sources, source{table: table, used: map[int]bool{}, bound: map[int]bool{}})
	it := &item{name: table.Name, schema: table.Schema}
	columns, replicated := q.t.columnsOf(table, id, number)
	it.columns = columns
	for _, k := range table.Key {
		it.key = append(it.key, replicated[k])
	}
	rename(it, v.Alias)
	it.whole = len(v.GetAlias().GetColnames()) == 0 // else PostgreSQL has the table's own names in it
	leaf := &tree{id: id, source: number + 1, key: table.Key}
	leaf.text = func() string { return leaf.withComputed(placeholder(number)) }
	if q.t.env.Rows != nil {
		leaf.rows = q.t.env.Rows(table.ID)
	}
	return leaf, namespace{[]*item{it}, it.columns}
}

// engineNames are those that relations, and what they compute, have in the engine's statement.
var engineNames = regexp.MustCompile(`^_(r|computed)\d`)

// requireOwnNames refuses tables with columns whose names mean a relation to the engine, a part of which it then takes for a column. Tables with
// columns called like a part of another the replica does not have.
func requireOwnNames(table *cdc.Table) {
	for _, c := range table.Columns {
		if engineNames.MatchString(c.Name) {
			fail("a column called %q", c.Name)
		}
	}
}

// rename applies an alias, which may also rename the first columns.
func rename(it *item, alias *pg.Alias) {
	if alias == nil {
		return
	}
	it.name, it.schema = alias.Aliasname, ""
	for i, name := range syntax.Strings(alias.Colnames) {
		if i >= len(it.columns) {
			fail("more column aliases than columns")
		}
		it.columns[i].name = name
	}
}

func (q *query) cteRef(c cte, v *pg.RangeVar) (*tree, namespace) {
	*c.uses++
	stmt := c.stmt.Ctequery.GetSelectStmt()
	if stmt == nil {
		fail("data-modifying WITH")
	}
	failing, picking := q.t.failing, q.t.picking
	result := q.t.selectStmt(stmt, c.outer, readByFrom)
	if *c.uses > 1 && q.t.picking > picking {
		fail("WITH query that picks rows, used several times")
	}
	if c.materialized {
		result.merged = nil
		if q.t.failing > failing {
			result = result.computed()
		}
	}
	for i, name := range syntax.Strings(c.stmt.Aliascolnames) {
		if i >= len(result.columns) {
			fail("more column aliases than columns")
		}
		result.columns[i].name = name
	}
	leaf, names := q.subselect(result, v.Alias, v.Relname)
	if len(v.GetAlias().GetColnames()) == 0 { // else its columns have other names than elsewhere
		leaf.with, leaf.item = c.stmt, names.items[0]
	}
	return leaf, names
}

// picks reports whether evaluating a query twice may give different rows. Those of the WITH queries and views that it names are not looked at.
func picks(s *pg.SelectStmt) bool {
	found := false
	syntax.Walk(&pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: s}}, func(n *pg.Node) bool {
		if v := n.GetSelectStmt(); v != nil {
			found = found || v.LimitCount != nil || v.LimitOffset != nil
			for _, d := range v.DistinctClause {
				found = found || d.GetNode() != nil
			}
		}
		if w := n.GetWindowDef(); w != nil {
			found = found || !showsPeersAlike(w)
		}
		if f := n.GetFuncCall(); f != nil {
			name := syntax.FunctionName(f)
			found = found || name == "any_value" ||
				f.Over != nil && !(peersAlike[name] && showsPeersAlike(f.Over))
		}
		return true
	})
	return found
}

// peersAlike are the functions that yield the same for all rows that a window's ORDER BY does not tell apart, and so do not depend on the
// order in which these come, if the frame does not either.
var peersAlike = setOf("rank dense_rank percent_rank cume_dist count sum avg min max bool_and bool_or every")

// showsPeersAlike reports whether a frame begins and ends between peers, never among them.
func showsPeersAlike(w *pg.WindowDef) bool { return w.FrameOptions&frameRows == 0 }

// subselect makes a FROM item of a translated query.
func (q *query) subselect(r *rows, alias *pg.Alias, name string) (*tree, namespace) {
	if r.keysFail {
		r = r.computed()
	}
	averages := r.averages
	if r.yieldsApart() { // which are written as they are
		averages = nil
	}
	id := q.t.newLeaf()
	it := &item{name: name}
	var read []string
	for i, c := range r.columns {
		e := c.e.of(leafName(id), bit(id))
		if r.windowed { // where a condition on them would not look like one on the column
			e.blanks = nil
		}
		if a := averages[i]; a != nil {
			e.ratio = a.of(e.sql, bit(id))
		}
		q.t.fold(e, c.folded)
		q.t.once[e.sql] = c.once
		col := &column{name: c.name, e: e}
		if e.fails {
			col.onUse = func() { read = append(read, "c"+strconv.Itoa(i+1)) }
		}
		it.columns = append(it.columns, col)
	}
	rename(it, alias)
	it.whole = true
	columns := it.columns // of which the item may come to show some only
	var narrowed func(name string) bool
	leaf := &tree{id: id, whole: r.cut, repeats: r.repeats, single: r.single}
	if r.isMerged() {
		leaf.merged = r.merged
		for _, c := range columns {
			leaf.columnNames = append(leaf.columnNames, c.name)
		}
	}
	if r.yieldsApart() {
		leaf.apart = func() []string { return slices.Compact(slices.Sorted(slices.Values(read))) }
	}
	if r.fails {
		leaf.fails = func() bool { return true }
	}
	if r.windowed {
		leaf.stays = func(condition string) bool {
			return r.partition == nil || slices.ContainsFunc(columns, func(c *column) bool {
				return mentions(condition, c.e.sql) && !r.partition(slices.Index(columns, c))
			})
		}
	}
	leaf.text = func() string {
		if list := leaf.failsApart(); len(list) > 0 {
			return leaf.withComputed(leaf.computing(r, list))
		}
		if narrowed != nil {
			return leaf.withComputed(leaf.relation(r.narrow(narrowed)))
		}
		return leaf.withComputed(leaf.relation(r.sql))
	}
	if len(averages) > 0 {
		leaf.narrow = func(readers string) {
			narrowed = func(name string) bool { return mentions(readers, leafName(id)+"."+name) }
		}
	}
	return leaf, namespace{[]*item{it}, it.columns}
}

// of qualifies the description of a subquery's output column with the subquery's alias.
func (e expr) of(alias string, ref uint64) expr {
	blank := e.blanksText()
	e = e.as(alias+"."+e.sql, ref)
	if e.blanks = nil; blank != "" {
		e.blanks = &blanks{e.sql, alias + "." + blank}
	}
	if e.dec.display == displayDynamic && e.oid == oidNumeric {
		e.dec.displaySQL = alias + "." + e.dec.displaySQL
	}
	return e
}
