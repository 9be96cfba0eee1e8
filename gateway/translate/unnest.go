package translate

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// unnested are the elements that a FROM item makes of each row of a relation, which the relation's subquery makes rows of.
type unnested struct {
	// list is the engine's array of them, and refs what it reads.
	list string
	refs uint64
	// shown are the columns that an element is shown as, given its name.
	shown func(element string) []*column
	// scalar says that the item's name by itself means its only column; name is what it is called without an alias.
	scalar bool
	name   string
	// fails says that PostgreSQL refuses to make rows of some values.
	fails bool
	// outer says that a row without elements stays, with NULL for one. numbered says that the elements' numbers are asked for.
	outer, numbered bool
}

// makesRows are the functions that make rows of the elements of a value.
var makesRows = setOf("unnest generate_series jsonb_array_elements jsonb_array_elements_text jsonb_object_keys jsonb_each jsonb_each_text")

// unnestOf is a FROM item that is unnest(…), or the like, of what a row has; nil: it is another one.
func unnestOf(n *pg.Node) *pg.RangeFunction {
	f := n.GetRangeFunction()
	if f == nil || f.IsRowsfrom || len(f.Functions) != 1 || spelledElements(f) != nil {
		return nil
	}
	if call := f.Functions[0].GetList().GetItems()[0].GetFuncCall(); call == nil || !makesRows[syntax.FunctionName(call)] || !readsColumns(call) {
		return nil
	}
	return f
}

// unnest makes rows of a value's elements where the value's relation is read: before any join, which multiplies the
// relation's rows alike. left is what the FROM item follows, with its names.
func (q *query) unnest(f *pg.RangeFunction, left []*tree, names namespace, outer bool) namespace {
	call := f.Functions[0].GetList().GetItems()[0].GetFuncCall()
	name := syntax.FunctionName(call)
	if len(f.Coldeflist) > 0 || len(call.Args) != 1 && name != "generate_series" || call.FuncVariadic {
		fail("unnest in this form")
	}
	inner := &query{t: q.t, ctes: q.ctes, noJoins: true}
	inner.scope = &scope{owner: inner, items: names.items, visible: names.visible}
	var u *unnested
	switch name {
	case "unnest":
		u = inner.arrayElements(call.Args[0])
	case "generate_series":
		u = inner.seriesElements(call)
	default:
		u = inner.jsonElements(name, call.Args[0], outer)
	}
	u.outer, u.numbered = outer, f.Ordinality
	leaf := (&tree{parts: left}).keeping(u.refs)
	if leaf == nil || !leaf.multipliable() {
		fail("unnest of what is no column of one relation that every row has")
	}
	if u.fails {
		q.t.failing++
		leaf.fails = func() bool { return true }
	}
	element := elementName(leaf.id, len(leaf.unnested))
	// Its rows are not those of the table any more, which a key tells apart.
	leaf.source, leaf.key, leaf.unnested = 0, nil, append(leaf.unnested, u)
	it := &item{name: u.name, columns: u.shown(leafName(leaf.id) + "." + element), scalar: u.scalar && !f.Ordinality}
	if f.Alias != nil && it.columns[0].name == u.name {
		it.columns[0].name = f.Alias.Aliasname
	}
	if f.Ordinality {
		number := expr{oid: oidInt8, sql: leafName(leaf.id) + "." + elementNumber(element), refs: u.refs, null: outer, pad: -1}
		it.columns = append(it.columns, &column{name: "ordinality", e: number})
	}
	rename(it, f.Alias)
	return namespace{[]*item{it}, it.columns}
}

// arrayElements are those of an array.
func (q *query) arrayElements(n *pg.Node) *unnested {
	a := q.value(n)
	requireArray(a, false)
	shown := func(element string) []*column {
		e := with(elementOf(a.oid), element, a)
		e.null = true
		return []*column{{name: "unnest", e: e}}
	}
	list := "arrayMap(t -> " + elementValue("t", elementOf(a.oid)) + ", " + tokens(a) + ")"
	return &unnested{list: list, refs: a.refs, shown: shown, name: "unnest", scalar: true}
}

// multipliable reports whether a relation's subquery may have rows for the elements of a value of it: it is a
// table, or a subquery of which nothing depends on how it is read.
func (n *tree) multipliable() bool {
	return n.source != 0 || len(n.unnested) > 0 || n.with == nil && n.fails == nil && n.apart == nil && n.stays == nil && n.narrow == nil && !n.whole
}

// elementName is what the elements of a relation are called that were made rows of as the i-th.
func elementName(leaf, i int) string { return computedColumn(leaf, i) + "_element" }

func elementNumber(element string) string { return element + "_number" }

// keeping finds the relation that refs names, if no outer join lacks rows of it.
func (n *tree) keeping(refs uint64) *tree {
	var sides []*tree
	switch {
	case n == nil:
	case n.isLeaf():
		if refs == bit(n.id) {
			return n
		}
	case n.kind == "":
		sides = n.parts
	case n.kind == "LEFT":
		sides = []*tree{n.left}
	case n.kind == "RIGHT":
		sides = []*tree{n.right}
	}
	for _, side := range sides {
		if leaf := side.keeping(refs); leaf != nil {
			return leaf
		}
	}
	return nil
}

// arrayJoin follows the relation in its subquery.
func (u *unnested) arrayJoin(element string) string {
	join := " ARRAY JOIN "
	if u.outer {
		join = " LEFT ARRAY JOIN "
	}
	join += u.list + " AS " + element
	if u.numbered {
		join += ", arrayMap(n -> toNullable(toInt64(n)), arrayEnumerate(" + u.list + ")) AS " + elementNumber(element)
	}
	return join
}

// joinUnnest translates a join with unnest(…), which stays a part of the left side.
func (q *query) joinUnnest(j *pg.JoinExpr, f *pg.RangeFunction, left *tree, names namespace) (*tree, namespace) {
	outer := j.Jointype == pg.JoinType_JOIN_LEFT
	if !outer && j.Jointype != pg.JoinType_JOIN_INNER || j.IsNatural || len(j.UsingClause) > 0 || j.Alias != nil {
		fail("join of this type with unnest")
	}
	elements := q.unnest(f, []*tree{left}, names, outer)
	conds, _ := q.joinConditions(j, names, elements, "")
	switch {
	case len(conds) == 0:
		return left, names.and(elements)
	case outer:
		fail("LEFT JOIN with unnest by a condition")
	}
	return innerJoin(left, &tree{parts: []*tree{}}, conds), names.and(elements)
}

// unnestFrom moves the unnest(…), or the like, of a SELECT's list into FROM, where it means the same: all that is made of it is
// made of each row and element.
func unnestFrom(s *pg.SelectStmt) *pg.SelectStmt {
	calls := callsOf(s.TargetList, makesRows)
	if len(calls) == 0 || len(s.FromClause) == 0 {
		return s
	}
	s = proto.CloneOf(s)
	everywhere := slices.Concat(s.TargetList, s.GroupClause, s.SortClause)
	calls = callsOf(everywhere, makesRows)
	if slices.ContainsFunc(calls, func(n *pg.Node) bool { return !proto.Equal(unlocated(n), unlocated(calls[0])) }) {
		fail("several unnest in a SELECT's list")
	}
	if hasWindow(s) || len(s.DistinctClause) > 0 && !isDistinct(s) || slices.ContainsFunc(s.TargetList, isStar) || isGrouped(s) && !groupsElements(s) {
		fail("unnest in the list of such a SELECT")
	}
	const hidden = "_unnest"
	function := pg.MakeListNode([]*pg.Node{{Node: calls[0].Node}})
	s.FromClause = append(s.FromClause, &pg.Node{Node: &pg.Node_RangeFunction{RangeFunction: &pg.RangeFunction{
		Lateral: true, Functions: []*pg.Node{function}, Alias: &pg.Alias{Aliasname: hidden, Colnames: []*pg.Node{pg.MakeStrNode(hidden)}},
	}}})
	for _, target := range s.TargetList {
		if r := target.GetResTarget(); r.Name == "" && len(callsOf([]*pg.Node{target}, makesRows)) > 0 {
			r.Name = outputName(r.Val)
		}
	}
	for _, n := range calls {
		n.Node = &pg.Node_ColumnRef{ColumnRef: &pg.ColumnRef{Fields: []*pg.Node{pg.MakeStrNode(hidden), pg.MakeStrNode(hidden)}}}
	}
	return s
}

// isStar reports whether a target is * without a table's name, which would show what FROM hides.
func isStar(n *pg.Node) bool {
	fields := n.GetResTarget().GetVal().GetColumnRef().GetFields()
	return len(fields) == 1 && fields[0].GetAStar() != nil
}

// groupsElements reports whether all targets that an unnest(…) is in are grouped by: PostgreSQL makes rows of the
// elements before it groups then.
func groupsElements(s *pg.SelectStmt) bool {
	grouped := func(i int, r *pg.ResTarget) bool {
		name := targetName(r)
		return slices.ContainsFunc(s.GroupClause, func(n *pg.Node) bool {
			fields := n.GetColumnRef().GetFields()
			return n.GetAConst().GetIval() != nil && int(n.GetAConst().GetIval().Ival) == i+1 ||
				len(fields) == 1 && fields[0].GetString_().GetSval() == name && r.Name != "" || proto.Equal(unlocated(n), unlocated(r.Val))
		})
	}
	for i, n := range s.TargetList {
		if len(callsOf([]*pg.Node{n}, makesRows)) > 0 && !grouped(i, n.GetResTarget()) {
			return false
		}
	}
	return true
}
