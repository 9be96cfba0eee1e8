package translate

import (
	"fmt"
	"math"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// PostgreSQL's frame option bits (nodes/parsenodes.h). Those of a frame's end are those of its start, shifted.
const (
	frameNonDefault        = 0x00001
	frameRange             = 0x00002
	frameRows              = 0x00004
	frameStartUnbounded    = 0x00020 // PRECEDING
	frameStartUnboundedFol = 0x00080
	frameStartCurrent      = 0x00200
	frameEndCurrent        = 0x00400
	frameStartOffsetPrec   = 0x00800
	frameEndOffsetPrec     = 0x01000
	frameStartOffsetFol    = 0x02000
	frameExclusion         = 0x38000
	frameEndShift          = 1
)

// frame writes a window's own frame, and the items of ORDER BY that it is about.
func (q *query) frame(w *pg.WindowDef) (frame string, keys []string) {
	o := int(w.FrameOptions)
	if o&frameExclusion != 0 {
		fail("window frame exclusion")
	}
	unit := "ROWS"
	offset := q.rowsAway
	switch {
	case o&frameRows != 0:
		keys = q.sortKeys(w)
	case o&frameRange == 0:
		fail("window frame of this kind")
	case w.StartOffset == nil && w.EndOffset == nil:
		unit, keys = "RANGE", q.sortKeys(w)
	default:
		var key string
		var null bool
		if key, null, offset = q.distance(w); null && o&(frameStartOffsetFol|frameEndOffsetPrec) != 0 {
			fail("window frame beside NULL") // which is all NULLs, the current row among them
		}
		unit, keys = "RANGE", []string{key}
	}
	start, from := bound(o, w.StartOffset, offset)
	end, to := bound(o>>frameEndShift, w.EndOffset, offset)
	if from > to {
		fail("window frame that has no rows") // the engine knows none
	}
	return unit + " BETWEEN " + start + " AND " + end, keys
}

// bound writes where a frame with these options starts, or ends. It is so far from the current row, and before it if negative.
func bound(o int, n *pg.Node, offset func(*pg.Node) int64) (sql string, away int64) {
	switch {
	case o&frameStartUnbounded != 0:
		return "UNBOUNDED PRECEDING", math.MinInt64
	case o&frameStartUnboundedFol != 0:
		return "UNBOUNDED FOLLOWING", math.MaxInt64
	case o&frameStartCurrent != 0:
		return "CURRENT ROW", 0
	case o&frameStartOffsetPrec != 0:
		away = offset(n)
		return fmt.Sprint(away, " PRECEDING"), -away
	case o&frameStartOffsetFol != 0:
		away = offset(n)
		return fmt.Sprint(away, " FOLLOWING"), away
	}
	fail("window frame")
	return "", 0
}

// rowsAway reads an offset in rows, or in the unit of integers.
func (q *query) rowsAway(n *pg.Node) int64 {
	rows, ok := q.value(n).constantFrom(0)
	if !ok {
		fail("window frame offset that is not a constant")
	}
	if rows >= math.MaxInt32 { // more than the engine takes
		fail("window frame of this length")
	}
	return rows
}

// distance writes the only sort key of a RANGE frame with offsets as a number, and tells whether it may be NULL and how an offset is read in its
// unit (PostgreSQL's in_range functions): days of dates, parts of a time of timestamps.
func (q *query) distance(w *pg.WindowDef) (key string, null bool, offset func(*pg.Node) int64) {
	if len(w.OrderClause) != 1 {
		fail("window frame of this kind")
	}
	by := w.OrderClause[0].GetSortBy()
	e := q.value(by.Node)
	requireSortable(e)
	q.keysFail = q.keysFail || e.fails
	sql := "toInt64(" + e.sql + ")"
	switch e.oid {
	case oidInt2, oidInt4:
		return ascending(sql, by), e.null, q.rowsAway
	case oidInt8:
		return ascending(guarded(sql, outside(sql, -farAway/2, farAway/2), "frame over numbers of this size"), by), e.null, q.rowsAway
	case oidDate:
		sql = guarded(sql, outside(e.sql, minArithmeticDay, maxArithmeticDay), "date out of range")
		return ascending(sql, by), e.null, func(n *pg.Node) int64 { return q.timeAway(n, e) / microsPerDay }
	case oidTimestamp, oidTimestampTZ:
		key, offset = q.distanceInTime(e, by, w)
		return key, e.null, offset
	}
	fail("window frame of this kind")
	return "", false, nil
}

// farAway is further from all values than any offset.
const farAway = 1 << 62

// ascending is a whole number as an item of ORDER BY. A NULL, whose frame by distance is NULLs, becomes a number that is far away from all others: the
// engine would compare its distance as if it were a value. Descending values are turned round, as their complement.
func ascending(sql string, by *pg.SortBy) string {
	if isDescending(by) {
		sql = "bitNot(" + sql + ")"
	}
	null := int64(farAway)
	if isNullsFirst(by) {
		null = -null
	}
	return fmt.Sprintf("ifNull(%s, toInt64(%d))", sql, null)
}
