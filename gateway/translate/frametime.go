package translate

import (
	"fmt"
	"math"
	"math/bits"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/finish"
)

const (
	// mostAway bounds an interval as an offset, in days: its sum with a moment must not come near the end of
	// PostgreSQL's range.
	mostAway = 20_000
	// exactMoment bounds moments, in microseconds, of which such an offset leads to no others than float8 has: the
	// years 1748 to 2191.
	exactMoment = 7_000_000_000_000_000
	// farMoment is further from such moments than any offset.
	farMoment = 1e18
)

// timeAway reads an interval as an offset from dates or timestamps, in microseconds.
func (q *query) timeAway(n *pg.Node, from expr) int64 {
	away := q.value(n)
	if away.isUnknown() && !away.isNull() {
		away = q.t.parseLiteral(*away.lit.text, oidInterval)
	}
	i, ok := away.constantInterval()
	if !ok {
		fail("window frame offset that is not a constant")
	}
	// Days of a zone with summer time have not the same length.
	zoned := i.days > 0 && from.oid == oidTimestampTZ && !finish.IsUTC(q.t.env.TimeZone)
	if i.months != 0 || i.days < 0 || i.micros < 0 || zoned || i.total() > mostAway*microsPerDay || from.oid == oidDate && i.total()%microsPerDay != 0 {
		fail("window frame of this length")
	}
	return i.total()
}

// distanceInTime is distance over timestamps. The engine takes an offset of 32 bits alone, but floats to order by: of a
// time in microseconds over a power of two, which is exact, most offsets that people write are such a number. Where one
// is not, the unit is a second, and a fraction of one gives the statement to PostgreSQL.
func (q *query) distanceInTime(e expr, by *pg.SortBy, w *pg.WindowDef) (key string, offset func(*pg.Node) int64) {
	var all int64
	most := int64(0)
	for _, n := range []*pg.Node{w.StartOffset, w.EndOffset} {
		if n != nil {
			away := q.timeAway(n, e)
			all, most = all|away, max(most, away)
		}
	}
	shift := 0
	if all != 0 {
		shift = bits.TrailingZeros64(uint64(all))
	}
	if most>>shift < math.MaxInt32 {
		sql := guarded("toFloat64("+e.sql+")", outside(e.sql, -exactMoment, exactMoment), "timestamp out of range")
		return ascendingTime(fmt.Sprintf("(%s / %d)", sql, int64(1)<<shift), by), func(n *pg.Node) int64 { return q.timeAway(n, e) >> shift }
	}
	limits := outside(e.sql, minArithmeticDay*microsPerDay, maxArithmeticDay*microsPerDay)
	sql := guarded(fmt.Sprintf("intDiv(toInt64(%s), %d)", e.sql, microsPerSecond), fmt.Sprintf("%s OR %s %% %d != 0", limits, e.sql, microsPerSecond), "frame over fractions of a second")
	return ascending(sql, by), func(n *pg.Node) int64 {
		away := q.timeAway(n, e)
		if away%microsPerSecond != 0 {
			fail("window frame of this length")
		}
		return away / microsPerSecond
	}
}

// ascendingTime is ascending of a float.
func ascendingTime(sql string, by *pg.SortBy) string {
	if isDescending(by) {
		sql = "-" + sql
	}
	null := farMoment
	if isNullsFirst(by) {
		null = -null
	}
	return fmt.Sprintf("ifNull(%s, toFloat64(%g))", sql, null)
}
