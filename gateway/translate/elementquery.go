package translate

import (
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// elementQuery is a subquery over the rows that a function makes of a value of the query around it, as in (SELECT …
// FROM jsonb_array_elements(t.doc) e WHERE …). Each row around has a list of its own in the engine, and an expression
// over an element is the body of a lambda.
type elementQuery struct {
	sub  *query
	stmt *pg.SelectStmt
	// element is what the lambda calls an element, kept is the list of those that meet the conditions.
	element, kept string
	refs          uint64
	fails         bool
}

// rowMakers are the functions whose rows such a subquery may have.
var rowMakers = setOf("unnest jsonb_array_elements jsonb_array_elements_text jsonb_object_keys jsonb_each jsonb_each_text")

// listedBy is the only item in FROM of a subquery over elements; nil: it is another query.
func listedBy(s *pg.SelectStmt) *pg.RangeFunction {
	if len(s.FromClause) != 1 || !isSimple(s) || s.WithClause != nil || len(s.GroupClause) > 0 || s.HavingClause != nil || len(s.SortClause) > 0 || len(s.DistinctClause) > 0 {
		return nil
	}
	f := unnestOf(s.FromClause[0])
	if f == nil || f.Ordinality || len(f.Coldeflist) > 0 {
		return nil
	}
	call := f.Functions[0].GetList().GetItems()[0].GetFuncCall()
	if len(call.Args) != 1 || call.FuncVariadic || !rowMakers[syntax.FunctionName(call)] {
		return nil
	}
	return f
}

// elementMark begins the name that a lambda has for an element.
const elementMark = marker + "e"

// readsElement reports whether an expression is of a lambda's element.
func readsElement(e expr) bool { return strings.Contains(e.sql, elementMark) }

// elements translates FROM and WHERE of a subquery over elements.
func (q *query) elements(stmt *pg.SelectStmt) (*elementQuery, bool) {
	f := listedBy(stmt)
	if f == nil || q.grouped {
		return nil, false
	}
	call := f.Functions[0].GetList().GetItems()[0].GetFuncCall()
	var u *unnested
	if name := syntax.FunctionName(call); name == "unnest" {
		u = q.arrayElements(call.Args[0])
	} else {
		u = q.jsonElements(name, call.Args[0], false)
	}
	q.t.lambdas++
	e := &elementQuery{stmt: stmt, element: elementMark + itoa(q.t.lambdas), kept: u.list, refs: u.refs, fails: u.fails}
	it := &item{name: u.name, columns: u.shown(e.element), scalar: u.scalar}
	if f.Alias != nil && it.columns[0].name == u.name {
		it.columns[0].name = f.Alias.Aliasname
	}
	rename(it, f.Alias)
	e.sub = &query{t: q.t, parent: q, ctes: q.ctes, windows: map[string]*pg.WindowDef{}, stars: map[*pg.ColumnRef]*column{}, noWindows: true, noJoins: true, allowOuter: true}
	e.sub.scope = &scope{owner: e.sub, items: []*item{it}, visible: it.columns}
	if conds := syntax.Conjuncts(stmt.WhereClause); len(conds) > 0 {
		e.kept = fmt.Sprintf("arrayFilter(%s -> %s, %s)", e.element, e.holds(e.conditions(conds)), e.kept)
	}
	return e, true
}

// conditions are those of WHERE. Which of several is asked first, of those that may fail, the engine does not tell.
func (e *elementQuery) conditions(nodes []*pg.Node) []expr {
	conds := make([]expr, len(nodes))
	for i, n := range nodes {
		conds[i] = e.sub.cond(n)
		if conds[i].fails && len(nodes) > 1 {
			fail("conditions that may fail, of elements")
		}
	}
	return conds
}

// holds is the truth of conditions on an element, on which the value of the subquery depends.
func (e *elementQuery) holds(conds []expr) string {
	all := combine(pg.BoolExprType_AND_EXPR, conds)
	e.reads(all)
	return "ifNull(" + boolText(all) + ", false)"
}

func (e *elementQuery) reads(x expr) {
	e.refs, e.fails = e.refs|x.refs, e.fails || x.fails
}

// mapped is the list of a value of the elements that are kept.
func (e *elementQuery) mapped(sql string) string {
	return fmt.Sprintf("arrayMap(%s -> %s, %s)", e.element, sql, e.kept)
}

// of describes a value that is made of the elements.
func (e *elementQuery) of(d expr, sql string) expr {
	out := describe(d, sql).as(sql, e.refs)
	out.blanks, out.table, out.costly, out.textual, out.fails = nil, 0, true, true, e.fails || d.fails
	if out.fails {
		e.sub.t.failing++
	}
	return out
}

// exists is EXISTS over the elements.
func (e *elementQuery) exists() expr {
	return e.of(expr{oid: oidBool, pad: -1}, "notEmpty("+e.kept+")")
}

// contains is x IN (SELECT …) over the elements, as far as it is true.
func (e *elementQuery) contains(x expr) expr {
	equal := e.sub.compare("=", x, e.value())
	if equal.fails {
		fail("IN over elements whose values may fail")
	}
	return e.of(expr{oid: oidBool, pad: -1}, fmt.Sprintf("arrayExists(%s -> %s, %s)", e.element, e.holds([]expr{equal}), e.kept))
}

// value is the only column of a subquery that does not aggregate.
func (e *elementQuery) value() expr {
	if len(e.stmt.TargetList) != 1 || isStar(e.stmt.TargetList[0]) || !keepsRows(e.stmt) {
		fail("subquery over elements of this form")
	}
	v := resolveUnknown(e.sub.value(e.stmt.TargetList[0].GetResTarget().Val))
	if v.opaque || v.displaysByRow() || v.oid == oidBpchar || v.oid == oidInterval {
		fail("subquery over elements for a value of this type")
	}
	e.reads(v)
	return v
}

// scalar is the value that a subquery over the elements stands for.
func (e *elementQuery) scalar() expr {
	if isGrouped(e.stmt) {
		return e.aggregates()
	}
	v := e.value()
	d := v.plain()
	d.null = true
	first := e.mapped(v.computed()) + "[1]"
	switch {
	case limitsToOne(e.stmt): // in the order of the document
		return e.of(d, first)
	case e.stmt.LimitCount != nil:
		fail("subquery over elements with a LIMIT other than 1")
	}
	e.fails = true
	return e.of(d, guarded(first, "length("+e.kept+") > 1", "more than one row in a subquery"))
}

// reducedAggregates are those that can be had of a list's elements.
var reducedAggregates = setOf("count sum avg min max bool_and bool_or every")

// aggregates is an expression over aggregates of the elements.
func (e *elementQuery) aggregates() expr {
	if len(e.stmt.TargetList) != 1 || e.stmt.LimitCount != nil {
		fail("subquery over elements of this form")
	}
	n := e.stmt.TargetList[0].GetResTarget().Val
	if contains(n, func(m *pg.Node) bool {
		return isAggregateCall(m) && !reducedAggregates[syntax.FunctionName(m.GetFuncCall())]
	}) {
		fail("aggregate of elements")
	}
	e.sub.group, e.sub.grouped = &group{id: e.sub.t.newLeaf(), bySQL: map[string]int{}, elements: e}, true
	v := resolveUnknown(e.sub.value(n))
	e.reads(v)
	v = v.plain()
	v.null, v.fails = true, e.fails
	return v
}

// aggregated is an aggregate of the elements.
func (e *elementQuery) aggregated(call engineCall, d expr) expr {
	if !reducible[strings.TrimSuffix(call.function, "OrNull")] || call.over != "" || d.displaysByRow() {
		fail("aggregate of elements of this form")
	}
	value := "length(" + e.kept + ")"
	if call.args != "" {
		if !mentions(call.args, e.element) && relations(call.args) != 0 {
			fail("aggregate of the query around") // which an aggregate of its columns alone is
		}
		e.refs |= relations(call.args)
		value = fmt.Sprintf("arrayReduce(%s, %s)", quote(call.function), e.mapped(call.args))
	}
	return e.of(d, call.cast+"("+value+")")
}
