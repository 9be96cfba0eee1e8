package translate

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// hazards are what keeps conditions and readers from being moved into a subquery: PostgreSQL computes values there, and
// may fail at one, that the engine would never compute. Who makes rows of others takes their hazards by one of the
// methods, and so says which of them hold on; one that is forgotten is an answer where PostgreSQL fails. With 1/b as
// the value that may fail:
//
//	flag      example of a subquery              what PostgreSQL computes
//	keysFail  row_number() OVER (ORDER BY 1/b)   the key, even if nothing reads the number
//	fails     SELECT DISTINCT 1/b                the values before it asks any condition on the rows but those it moves inwards
//	windowed  1/b, sum(a) OVER (PARTITION BY c)  all rows before it asks any condition but those on c alone
//	apart     1/b … GROUP BY b                   the value of every row that is left, whether or not the query around reads it
//	cut       1/b … LIMIT 5                      as apart, and no condition from around is moved inwards
//
// What is done: [query.subselect] computes all of a query whose keysFail, and makes of the others what [tree.asWhole]
// and [tree.keepApart] go by.
type hazards struct {
	// keysFail says that a window's keys may fail: PostgreSQL computes the keys even if nothing reads what the window
	// yields.
	keysFail bool
	// fails says that values may fail, and that PostgreSQL computes them before it asks conditions on the rows.
	fails bool
	// windowed says that there are windows and values that may fail, here or below: PostgreSQL asks no condition before
	// it computes the rows, unless it is on columns alone that every window is partitioned by. partition says which
	// these are; nil: none.
	windowed  bool
	partition func(column int) bool
	// apart says that there are values that may fail, here or below, and that PostgreSQL does not merge this query into
	// the one around: it computes the values for every row that conditions on the rows leave. cut says that it asks not
	// even these conditions before, because of a LIMIT or the like.
	apart, cut bool
}

// either are the hazards of a set operation of two queries, but for apart, which depends on what the operation computes
// as well.
func (h hazards) either(o hazards) hazards {
	return hazards{keysFail: h.keysFail || o.keysFail, fails: h.fails || o.fails, windowed: h.windowed || o.windowed, cut: h.cut || o.cut}
}

// distinct are the hazards of the rows made distinct. A condition on a window's partition is not passed through that,
// and whether they are apart is for the query to say that has the DISTINCT.
func (h hazards) distinct() hazards {
	h.partition, h.apart = nil, false
	return h
}

// whole are the hazards of a query of which all rows and values are read: none is left out before it is computed.
func (h hazards) whole() hazards {
	h.apart, h.cut = false, false
	return h
}

// computed are the hazards once the engine was made to compute all rows and keys: what is left is that the values fail.
func (h hazards) computed() hazards { return hazards{fails: h.fails} }

// after are the hazards of a query whose rows had h when they were written.
func (h hazards) after(q *query, s *pg.SelectStmt, columns []outColumn) hazards {
	mayFail, below := q.mayFail(), q.from.windowed()
	h.windowed = below || mayFail && hasWindow(s)
	h.cut = mayFail && cuts(s)
	h.fails = h.fails || h.windowed || h.cut || mayFail && isDistinct(s)
	h.apart = q.from.isApart() || mayFail && (h.cut || isGrouped(s) || isDistinct(s) || hasWindow(s) || len(s.SortClause) > 0)
	if h.windowed && !below && len(s.WindowClause) == 0 && !sortsByWindow(s) { // otherwise there may be windows that are not translated
		h.partition = func(i int) bool { return q.isPartitionedBy(columns[i].e.origin) }
	}
	return h
}

// isPartitionedBy reports whether all windows of a query that were translated are partitioned by a column.
func (q *query) isPartitionedBy(column columnID) bool {
	return column.source > 0 && !slices.ContainsFunc(q.partitions, func(p []columnID) bool { return !slices.Contains(p, column) })
}
