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
		if key, null, offset = q.distance(w.OrderClause); null && o&(frameStartOffsetFol|frameEndOffsetPrec) != 0 {
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

// mostAway bounds an interval as an offset, in days: the engine wants a number of seconds within 32 bits, and the sum with a moment must not come near
// the end of PostgreSQL's range.
const mostAway = 20_000

// distance writes the only sort key of a RANGE frame with offsets as a number, and tells whether it may be NULL and how an offset is read in its
// unit (PostgreSQL's in_range functions): days of dates, seconds of timestamps. A fraction of a second gives the statement to PostgreSQL.
func (q *query) distance(order []*pg.Node) (key string, null bool, offset func(*pg.Node) int64) {
	if len(order) != 1 {
		fail("window frame of this kind")
	}
	by := order[0].GetSortBy()
	e := q.value(by.Node)
	requireSortable(e)
	q.keysFail = q.keysFail || e.fails
	unit := int64(microsPerDay)
	sql := "toInt64(" + e.sql + ")"
	switch e.oid {
	case oidInt2, oidInt4:
		return ascending(sql, by), e.null, q.rowsAway
	case oidInt8:
		return ascending(guarded(sql, outside(sql, -farAway/2, farAway/2), "frame over numbers of this size"), by), e.null, q.rowsAway
	case oidDate:
		sql = guarded(sql, outside(e.sql, minArithmeticDay, maxArithmeticDay), "date out of range")
	case oidTimestamp, oidTimestampTZ:
		unit = 1_000_000
		limits := outside(e.sql, minArithmeticDay*microsPerDay, maxArithmeticDay*microsPerDay)
		sql = guarded(fmt.Sprintf("intDiv(%s, %d)", sql, unit), fmt.Sprintf("%s OR %s %% %d != 0", limits, e.sql, unit), "frame over fractions of a second")
	default:
		fail("window frame of this kind")
	}
	return ascending(sql, by), e.null, func(n *pg.Node) int64 {
		away := q.value(n)
		if away.isUnknown() && !away.isNull() {
			away = q.t.parseLiteral(*away.lit.text, oidInterval)
		}
		i, ok := away.constantInterval()
		if !ok {
			fail("window frame offset that is not a constant")
		}
		if i.months != 0 || i.days < 0 || i.micros < 0 || i.days > 0 && e.oid == oidTimestampTZ || i.total() > mostAway*microsPerDay || i.total()%unit != 0 {
			fail("window frame of this length")
		}
		return i.total() / unit
	}
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
