package translate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// spelledRows are the rows that a FROM item spells out, of values that may read what is before it.
type spelledRows struct {
	values [][]*pg.Node
	names  []string
	// arms says that they are those of a UNION ALL, whose types PostgreSQL finds arm by arm, computed that it may leave values out that nobody reads.
	arms, computed bool
	// asked says that it computes them all.
	asked bool
}

// spelledBy returns the rows of a subquery that is VALUES, a SELECT of values without FROM, or a UNION ALL of such; nil: it is another.
func spelledBy(s *pg.SelectStmt) *spelledRows {
	if len(s.SortClause) > 0 || s.LimitCount != nil || s.LimitOffset != nil || s.WithClause != nil || len(s.LockingClause) > 0 || s.IntoClause != nil {
		return nil
	}
	switch {
	case s.Op == pg.SetOperation_SETOP_UNION && s.All:
		left, right := spelledBy(s.Larg), spelledBy(s.Rarg)
		if left == nil || right == nil {
			return nil
		}
		return &spelledRows{values: append(left.values, right.values...), names: left.names, arms: true}
	case s.Op != pg.SetOperation_SETOP_NONE:
		return nil
	case len(s.ValuesLists) > 0:
		r := &spelledRows{}
		for _, n := range s.ValuesLists {
			r.values = append(r.values, n.GetList().Items)
		}
		for i := range r.values[0] {
			r.names = append(r.names, "column"+strconv.Itoa(i+1))
		}
		return r
	case aggregatesElements(s):
		r := spelledBy(perColumn(s))
		r.asked = true
		return r
	case len(s.FromClause) > 0 || s.WhereClause != nil || isGrouped(s) || len(s.DistinctClause) > 0 || hasWindow(s):
		return nil
	}
	r := &spelledRows{values: make([][]*pg.Node, 1), computed: true}
	for _, n := range s.TargetList {
		target := n.GetResTarget()
		if !isValue(target.Val) {
			return nil
		}
		r.values[0], r.names = append(r.values[0], target.Val), append(r.names, targetName(target))
	}
	return r
}

// isValue reports whether an expression is not one that makes rows, or columns.
func isValue(n *pg.Node) bool {
	return !contains(n, func(m *pg.Node) bool {
		f := m.GetFuncCall()
		return f != nil && makesRows[syntax.FunctionName(f)] || m.GetAStar() != nil
	})
}

// isConstant reports whether no value reads a column.
func (r *spelledRows) isConstant() bool {
	return !slices.ContainsFunc(slices.Concat(r.values...), func(n *pg.Node) bool {
		return contains(n, func(m *pg.Node) bool { return m.GetColumnRef() != nil || m.GetSubLink() != nil })
	})
}

// spelledElements returns the rows of unnest(ARRAY[…], …); nil: it is of other arrays.
func spelledElements(f *pg.RangeFunction) *spelledRows {
	if f == nil || f.IsRowsfrom || len(f.Functions) != 1 || len(f.Coldeflist) > 0 {
		return nil
	}
	call := f.Functions[0].GetList().GetItems()[0].GetFuncCall()
	if call == nil || syntax.FunctionName(call) != "unnest" || len(call.Args) == 0 {
		return nil
	}
	r := &spelledRows{}
	for c, arg := range call.Args {
		elements := elementsOf(arg)
		if elements == nil {
			return nil
		}
		for len(r.values) < len(elements) {
			r.values = append(r.values, absent(c))
		}
		for i := range r.values {
			if i < len(elements) {
				r.values[i] = append(r.values[i], elements[i])
			} else {
				r.values[i] = append(r.values[i], absent(1)...)
			}
		}
		r.names = append(r.names, "unnest")
	}
	if len(r.names) == 1 && f.Alias != nil {
		r.names[0] = f.Alias.Aliasname // of the only column, too
	}
	if f.Ordinality {
		for i := range r.values {
			r.values[i] = append(r.values[i], bigint(i+1))
		}
		r.names = append(r.names, "ordinality")
	}
	return r
}

// spelledTable is unnest(ARRAY[…], …) of constants.
func (q *query) spelledTable(f *pg.RangeFunction) (*tree, namespace) {
	r := spelledElements(f)
	if r == nil {
		fail("unnest of several arrays that are not spelled out")
	}
	s := &pg.SelectStmt{Op: pg.SetOperation_SETOP_NONE}
	for _, row := range r.values {
		s.ValuesLists = append(s.ValuesLists, pg.MakeListNode(row))
	}
	values := q.t.selectStmt(s, q.ctes, readByFrom)
	for i, name := range r.names {
		values.columns[i].name = name
	}
	leaf, names := q.subselect(values, f.Alias, "unnest")
	leaf.rows = int64(len(r.values))
	return leaf, names
}

// elementsOf lists the elements of ARRAY[…], cast to the elements' type of a cast of it; nil: it is another array.
func elementsOf(n *pg.Node) []*pg.Node {
	if c := n.GetTypeCast(); c != nil && len(c.TypeName.ArrayBounds) == 1 {
		elements := elementsOf(c.Arg)
		to := &pg.TypeName{Names: c.TypeName.Names, Typmods: c.TypeName.Typmods, Typemod: c.TypeName.Typemod}
		for i, e := range elements {
			elements[i] = &pg.Node{Node: &pg.Node_TypeCast{TypeCast: &pg.TypeCast{Arg: e, TypeName: to}}}
		}
		return elements
	}
	var elements []*pg.Node
	for _, e := range n.GetAArrayExpr().GetElements() {
		if e.GetAArrayExpr() != nil { // of another dimension
			return nil
		}
		elements = append(elements, e)
	}
	return elements
}

// absent are n NULLs.
func absent(n int) []*pg.Node {
	nodes := make([]*pg.Node, n)
	for i := range nodes {
		nodes[i] = &pg.Node{Node: &pg.Node_AConst{AConst: &pg.A_Const{Isnull: true}}}
	}
	return nodes
}

func bigint(n int) *pg.Node {
	to := &pg.TypeName{Names: []*pg.Node{pg.MakeStrNode("int8")}, Typemod: -1}
	return &pg.Node{Node: &pg.Node_TypeCast{TypeCast: &pg.TypeCast{Arg: pg.MakeAConstIntNode(int64(n), 0), TypeName: to}}}
}

// spelledOut joins rows that are spelled out to each row of what is before: as many numbers to each, by which the values are chosen.
func (q *query) spelledOut(r *spelledRows, alias *pg.Alias, left namespace) (*tree, namespace) {
	inner := &query{t: q.t, ctes: q.ctes, noJoins: true, noWindows: true}
	inner.scope = &scope{owner: inner, items: left.items, visible: left.visible}
	joined := &tree{parts: []*tree{}, single: true}
	var number expr
	if len(r.values) > 1 {
		sql := fmt.Sprintf("SELECT toInt32(number) AS c1 FROM numbers(%d)", len(r.values))
		leaf, names := q.subselect(&rows{sql: sql, columns: []outColumn{{e: expr{sql: "c1", oid: oidInt4, pad: -1}}}, repeats: true}, nil, "")
		leaf.rows, leaf.single = int64(len(r.values)), true
		joined, number = leaf, names.visible[0].use()
	}
	joined.fills = true
	it := &item{}
	for c, name := range r.names {
		values := make([]expr, len(r.values))
		for i, row := range r.values {
			if len(row) != len(r.names) {
				fail("rows of different lengths")
			}
			values[i] = inner.value(row[c])
		}
		e := inner.numbered(values, number, r.arms).plain()
		joined.brittle = joined.brittle || e.fails
		if e.fails && r.asked {
			joined.asked = append(joined.asked, e)
		}
		if (len(values) == 1 || r.arms) && slices.ContainsFunc(r.values, func(row []*pg.Node) bool { return inner.isDecided(row[c]) }) {
			q.t.fold(e, []string{""})
		}
		it.columns = append(it.columns, &column{name: name, e: e})
	}
	if joined.brittle && !r.computed {
		fail("LATERAL rows of a value that may fail") // which PostgreSQL computes, read or not
	}
	rename(it, alias)
	return joined, namespace{[]*item{it}, it.columns}
}

// isExact: the numbers that are the same, whichever of the types they were made in between.
func isExact(oid uint32) bool { return isInteger(oid) || oid == oidNumeric }

// numbered is the value of the row that a number says.
func (q *query) numbered(values []expr, number expr, arms bool) expr {
	for i := range values {
		first, e := resolveUnknown(values[0]).oid, resolveUnknown(values[i])
		if arms && !e.isNull() && e.oid != first && !(isText(e.oid) && isText(first)) && !(isExact(e.oid) && isExact(first)) {
			fail("LATERAL UNION ALL of different types") // of which each is made the next one's before it is the last one's
		}
	}
	if len(values) == 1 {
		return resolveUnknown(values[0])
	}
	values = q.unify(values)
	build := func(part func(expr) string) string {
		var b strings.Builder
		last := len(values) - 1
		for i, v := range values[:last] {
			fmt.Fprintf(&b, "%s = %d, %s, ", number.sql, i, part(v))
		}
		return "multiIf(" + b.String() + part(values[last]) + ")"
	}
	e := chosenBlanks(q.choice(build, values), build, values)
	e.refs |= number.refs
	return e
}
