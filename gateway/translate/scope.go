package translate

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// column is a named column that a FROM clause makes visible.
type column struct {
	name string
	e    expr
	// onUse is called when an expression reads the column; nil: nothing to do.
	onUse func()
}

// item is a FROM item that has a name.
type item struct {
	name    string
	schema  string // of a table without an alias
	columns []*column
	// key are the columns that identify its rows, for functional dependency; nil: none known.
	key []*column
	// scalar says that it is a function's, whose only column its name by itself means as well.
	scalar bool
	// whole says that all of a row may be named: it has the columns that PostgreSQL's has, and is never missing.
	whole bool
}

// scope is what names in a query's expressions can refer to.
type scope struct {
	owner   *query
	items   []*item
	visible []*column // without qualification, in the order of *
}

// cte is a WITH query; it is translated anew at each use.
type cte struct {
	name string
	stmt *pg.CommonTableExpr
	// outer are the WITH queries that it may refer to.
	outer *cteList
	// materialized says that PostgreSQL computes it by itself.
	materialized bool
	// uses counts the translations up to now.
	uses *int
}

type cteList struct {
	cte  cte
	next *cteList
}

func (l *cteList) find(name string) (cte, bool) {
	for ; l != nil; l = l.next {
		if l.cte.name == name {
			return l.cte, true
		}
	}
	return cte{}, false
}

// resolve finds a column by the parts of its name in the scope itself; nil if there is none.
func (s *scope) resolve(parts []string) *column {
	var found *column
	search := func(columns []*column, name string) {
		for _, c := range columns {
			if c.name == name {
				if found != nil && found != c {
					fail("ambiguous column name")
				}
				found = c
			}
		}
	}
	switch len(parts) {
	case 1:
		search(s.visible, parts[0])
		if it := s.item("", parts[0]); found == nil && it != nil {
			return s.scalar(it)
		}
	case 2:
		if it := s.item("", parts[0]); it != nil {
			search(it.columns, parts[1])
		}
	case 3:
		if it := s.item(parts[0], parts[1]); it != nil {
			search(it.columns, parts[2])
		}
	}
	return found
}

// namesRow reports whether a name is that of a relation, and of no column.
func (s *scope) namesRow(name string) bool {
	return s.item("", name) != nil && !slices.ContainsFunc(s.visible, func(c *column) bool { return c.name == name })
}

// scalar is the only column of a function's rows. A column of that name goes before it, also of a query around.
func (s *scope) scalar(it *item) *column {
	if !it.scalar {
		fail("whole-row reference")
	}
	for q := s.owner.parent; q != nil; q = q.parent {
		if slices.ContainsFunc(q.scope.visible, func(c *column) bool { return c.name == it.name }) {
			fail("name that may be a column's or a row's")
		}
	}
	return it.columns[0]
}

func (s *scope) item(schema, name string) *item {
	var found *item
	for _, it := range s.items {
		if it.name == name && (schema == "" || it.schema == schema) {
			if found != nil {
				fail("ambiguous table name")
			}
			found = it
		}
	}
	return found
}

// mask is the set of relations whose columns the scope shows.
func (s *scope) mask() uint64 {
	var m uint64
	for _, it := range s.items {
		for _, c := range it.columns {
			m |= c.e.refs
		}
	}
	return m
}

func (c *column) use() expr {
	requirePresent(c.e)
	if c.onUse != nil {
		c.onUse()
	}
	return c.e
}

// columnRef resolves a name in the query's scope, then in those around it.
func (q *query) columnRef(ref *pg.ColumnRef) expr {
	if c, ok := q.stars[ref]; ok {
		return q.seen(c)
	}
	parts := make([]string, len(ref.Fields))
	for i, f := range ref.Fields {
		name := f.GetString_()
		if name == nil {
			fail("whole-row reference")
		}
		parts[i] = name.Sval
	}
	if len(parts) == 4 && parts[0] == q.t.env.Database {
		parts = parts[1:]
	}
	return q.lookup(parts)
}

// systemColumns are those that every table of PostgreSQL has.
var systemColumns = map[string]bool{"tableoid": true, "ctid": true, "xmin": true, "cmin": true, "xmax": true, "cmax": true}

func (q *query) lookup(parts []string) expr {
	if c := q.scope.resolve(parts); c != nil {
		return q.seen(c)
	}
	if systemColumns[parts[len(parts)-1]] && (len(parts) > 1 || len(q.scope.items) > 0) {
		fail("system column") // of a table here, before any column of a query around this one
	}
	if q.parent == nil {
		panic(&Unsupported{Reason: "unknown column", unknownColumn: true})
	}
	if !q.allowOuter {
		fail("outer reference outside a WHERE clause")
	}
	e := q.parent.lookup(parts)
	q.outer |= e.refs
	return e
}

// seen is a column of the query's own scope, before or after grouping.
func (q *query) seen(c *column) expr {
	if q.grouped {
		return q.groupedColumn(c)
	}
	return c.use()
}
