package translate

import (
	"fmt"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// groupable is the text to group by: that of values of which equal ones look alike.
func groupable(e expr) string {
	requireAlike(e)
	return distinguishable(e)
}

// requireGroupable refuses values whose equality or representative differs between the engines.
func requireGroupable(e expr) {
	requireDistinguishable(e)
	requireAlike(e)
}

// requireAlike refuses numerics of which equal ones may look different.
func requireAlike(e expr) {
	if e.oid == oidNumeric && e.dec.display < 0 {
		fail("grouping numerics that display differently")
	}
}

// distinguishable is the text by which values are told apart, where none of them is shown for its equals.
func distinguishable(e expr) string {
	if isFloat(e.oid) {
		requirePresent(e)
		return groupableFloat(e)
	}
	requireDistinguishable(e)
	return e.sql
}

// requireDistinguishable refuses values whose equality differs between the engines.
func requireDistinguishable(e expr) {
	requirePresent(e)
	switch {
	case isFloat(e.oid):
		fail("grouping floating-point numbers")
	case e.opaque && !e.enum:
		fail("grouping values of an opaque type")
	case e.oid == oidInterval:
		fail("grouping intervals")
	}
}

// displaysByRow reports whether a numeric's display scale is another by row.
func (e expr) displaysByRow() bool {
	return e.oid == oidNumeric && !e.opaque && e.dec.display == displayDynamic
}

// alike is the display scale of equal numerics, or the text of equal chars with its blanks. Where it is not the same for all, PostgreSQL shows the one
// that it finds first, and a guard gives the statement to it.
func alike(display string) string {
	return fmt.Sprintf("if(throwIf(ifNull(min(%[1]s) != max(%[1]s), 0), 'freshet guard: equal values that display differently') = 0, min(%[1]s), NULL)", display)
}

// isDistinct reports whether a query makes its rows distinct by all of their columns.
func isDistinct(s *pg.SelectStmt) bool {
	return len(s.DistinctClause) > 0 && s.DistinctClause[0].GetNode() == nil
}

// unique makes rows distinct by values, which a display scale of its own is no part of.
func unique(r *rows) *rows {
	var items []string
	for i, c := range r.columns {
		requireDistinguishable(c.e)
		name := "c" + strconv.Itoa(i+1)
		items = append(items, name)
		if c.e.displaysByRow() {
			items = append(items, alike(name+"s")+" AS "+name+"s")
		}
	}
	return &rows{
		sql:     "SELECT " + strings.Join(items, ", ") + " FROM (" + r.sql + ") GROUP BY " + columnList(len(r.columns)),
		columns: r.columns, uniform: r.uniform, hazards: r.hazards.distinct(),
	}
}
