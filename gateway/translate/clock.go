package translate

import (
	"math/big"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// Clock is the time of a session's transaction, as the source database tells it: every statement of the transaction sees the same.
type Clock struct {
	// Now is now(), in microseconds since 1970 UTC.
	Now int64
	// Today is current_date in the session's time zone, in days since 1970.
	Today int64
	// Local is localtimestamp in the session's time zone, in microseconds since 1970.
	Local int64
}

// now is the time of the transaction.
func (q *query) now() expr { return integerLiteral(oidTimestampTZ, big.NewInt(q.clock("now").Now)) }

func (q *query) clock(name string) *Clock {
	if q.t.env.Clock == nil {
		fail("function %s", name)
	}
	return q.t.env.Clock
}

// sqlValue translates a function that SQL calls without parentheses.
func (q *query) sqlValue(f *pg.SQLValueFunction) expr {
	switch f.Op {
	case pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP:
		return q.now()
	case pg.SQLValueFunctionOp_SVFOP_CURRENT_DATE:
		return integerLiteral(oidDate, big.NewInt(q.clock("current_date").Today))
	case pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP:
		return integerLiteral(oidTimestamp, big.NewInt(q.clock("localtimestamp").Local))
	}
	fail("a time of day or a time of less precision, a role, a catalog or a schema as a value")
	return expr{}
}
