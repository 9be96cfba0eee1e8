package translate

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// query is one SELECT while it is translated.
type query struct {
	t      *translator
	parent *query
	ctes   *cteList
	scope  *scope

	from  *tree
	where []expr
	// joins are what subqueries in expressions were turned into; they follow the FROM clause.
	joins []extraJoin

	// group is set if the query groups or aggregates; grouped while expressions are those over its groups.
	group   *group
	grouped bool

	windows map[string]*pg.WindowDef
	// stars are the references that * was replaced by.
	stars map[*pg.ColumnRef]*column
	// allowOuter admits references to enclosing queries; outer collects the relations that they read.
	allowOuter bool
	outer      uint64
	// noJoins forbids subqueries that would have to be joined.
	noJoins bool
	// noWindows forbids window functions.
	noWindows bool
	// keysFail is that of its rows.
	keysFail bool
	// partitions are the columns that its windows are partitioned by; another value than a column is the zero columnID.
	partitions [][]columnID
	// failing is how many values that may fail there were before it, picking how many queries that pick rows.
	failing, picking int
	// emptyGroups says that a group may be missing when the result is joined: its aggregates are those of no rows.
	emptyGroups bool
	// reader is who reads the rows.
	reader reader
	// shownCall is the function whose result the client sees, while it is translated.
	shownCall *pg.FuncCall
}

// reader is who reads the rows of a query.
type reader uint8

const (
	readByExpression reader = iota // or a set operation
	readByFrom                     // a FROM clause, of which it is an item
	readByClient
)

// rows is a translated query: its SQL and what its output columns c1, c2, … hold.
type rows struct {
	sql     string
	columns []outColumn
	// averages are the columns that are averages; narrow writes sql with what is read of them.
	averages map[int]*ratio
	narrow   func(reads func(name string) bool) string
	// few says that there are few rows, as far as can be guessed.
	few bool
	hazards
	// merged is set if PostgreSQL merges it into the query around.
	merged *merged
	// repeats says that it yields the same rows when it is computed again, single that it yields exactly one.
	repeats, single bool
	// uniform says of a set operation that its arms have the same types.
	uniform bool
	// list says that sql is a list of UNION ALL.
	list bool
	// untyped are the columns that are constants without a type. In a set operation they get the other arm's,
	// everywhere else they are texts.
	untyped map[int]expr
}

type outColumn struct {
	name string
	e    expr
	// folded are the constants of which PostgreSQL may put one in the place of the column where a query around reads it, as the engine computes them; an
	// empty one: a constant that is not known here.
	folded []string
	// once says that it is known before any row is read, though not while PostgreSQL plans.
	once bool
}

// selectStmt translates a query, which refers to nothing outside.
func (t *translator) selectStmt(s *pg.SelectStmt, ctes *cteList, by reader) *rows {
	visible, picking := t.visible, t.picking
	defer func() { t.visible = visible }() // nobody outside names what is in there
	r := t.selected(s, withClause(s, ctes), by)
	r.repeats, r.single = t.picking == picking, isSingleRow(s) && !cuts(s)
	return r
}

func (t *translator) selected(s *pg.SelectStmt, ctes *cteList, by reader) *rows {
	if picks(s) {
		t.picking++
	}
	switch {
	case len(s.LockingClause) > 0 || s.IntoClause != nil:
		fail("locking clause or INTO")
	case s.Op != pg.SetOperation_SETOP_NONE:
		return t.setOperation(s, ctes, by)
	case len(s.ValuesLists) > 0:
		return t.values(s, ctes, by)
	}
	s, ctes = inheritOrder(s, ctes, by == readByClient || cuts(s))
	s = orderAggregates(unnestFrom(seriesFrom(seriesOverAggregates(s))))
	q := &query{t: t, ctes: ctes, reader: by, failing: t.failing, picking: t.picking}
	q.base(s)
	r := q.finish(s)
	r.hazards = r.hazards.after(q, s, r.columns)
	return r
}

// cuts reports whether a query picks among its rows, or is written as if it did: LIMIT ALL and OFFSET 0 keep conditions
// out as well.
func cuts(s *pg.SelectStmt) bool {
	return s.LimitCount != nil || s.LimitOffset != nil || len(s.DistinctClause) > 0 && !isDistinct(s)
}

// mayFail reports whether a value of what has been translated of the query may fail.
func (q *query) mayFail() bool { return q.t.failing > q.failing }

// base translates FROM and WHERE.
func (q *query) base(s *pg.SelectStmt) {
	q.windows, q.stars = map[string]*pg.WindowDef{}, map[*pg.ColumnRef]*column{}
	for _, n := range s.WindowClause {
		w := n.GetWindowDef()
		q.windows[w.Name] = q.inheriting(w)
	}
	q.fromClause(s.FromClause)
	q.noWindows = true
	for _, c := range factor(s.WhereClause) {
		q.where = append(q.where, q.conjunct(c)...)
		if len(q.from.parts) > 1 {
			q.where = append(q.where, q.implied(c)...)
		}
	}
	q.noWindows = false
}

// target is an output column before it is written.
type target struct {
	name string
	node *pg.Node
	e    expr
}

// finish translates what follows WHERE and writes the query.
func (q *query) finish(s *pg.SelectStmt) *rows {
	by := q.reader
	targets := q.expand(s.TargetList)
	if isGrouped(s) {
		q.startGroups(s, targets)
		if s.HavingClause != nil {
			q.noWindows = true
			q.having(syntax.Conjuncts(s.HavingClause))
			q.noWindows = false
		}
	}
	for i := range targets {
		if n := targets[i].node; n != nil {
			var absent bool
			switch targets[i].e, absent = q.handedOn(n); {
			case absent:
			case by == readByClient && !isDistinct(s):
				targets[i].e = q.shownExtreme(n)
			default:
				targets[i].e = q.value(n)
			}
		}
	}
	untyped := q.untyped(s, targets)
	for i := range targets {
		targets[i].e = resolveUnknown(targets[i].e)
	}
	w := &writer{q: q, stmt: s, targets: targets}
	if isDistinct(s) && slices.ContainsFunc(targets, func(t target) bool { return t.e.displaysByRow() }) {
		q.reader, w.stmt = readByExpression, &pg.SelectStmt{}
		return q.t.over(unique(w.write()), s, q.ctes, by)
	}
	r := w.write()
	r.untyped = untyped
	return r
}

// resolveUnknown makes a literal that no context typed a text.
func resolveUnknown(e expr) expr {
	if !e.isUnknown() {
		return e
	}
	if e.isNull() {
		return nullOf(oidText)
	}
	return textLiteral(oidText, *e.lit.text)
}

// isAnyStar reports whether an output item is *, of all relations or of one.
func isAnyStar(n *pg.Node) bool {
	fields := n.GetColumnRef().GetFields()
	return len(fields) > 0 && fields[len(fields)-1].GetAStar() != nil
}

// expand replaces * by columns.
func (q *query) expand(list []*pg.Node) []target {
	var out []target
	for _, n := range list {
		r := n.GetResTarget()
		if len(r.Indirection) > 0 {
			fail("subscript in the output")
		}
		if !isAnyStar(r.Val) {
			out = append(out, target{name: targetName(r), node: r.Val})
			continue
		}
		columns := q.scope.visible
		if fields := r.Val.GetColumnRef().Fields; len(fields) > 1 {
			names := syntax.Strings(fields[:len(fields)-1])
			it := q.scope.item(strings.Join(names[:len(names)-1], "."), names[len(names)-1])
			if it == nil {
				fail("unknown table before .*")
			}
			columns = it.columns
		}
		for _, c := range columns {
			if isAdded(c.name) {
				continue
			}
			// The column travels by identity: its name may be ambiguous.
			ref := &pg.ColumnRef{}
			q.stars[ref] = c
			out = append(out, target{name: c.name, node: &pg.Node{Node: &pg.Node_ColumnRef{ColumnRef: ref}}})
		}
	}
	return out
}
