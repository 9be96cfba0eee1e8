package translate

import (
	"fmt"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// PostgreSQL's frame option bits (nodes/parsenodes.h).
const (
	frameNonDefault      = 0x00001
	frameRange           = 0x00002
	frameRows            = 0x00004
	frameGroups          = 0x00008
	frameStartUnbounded  = 0x00020 // PRECEDING
	frameEndUnbounded    = 0x00100 // FOLLOWING
	frameStartCurrent    = 0x00200
	frameEndCurrent      = 0x00400
	frameStartOffsetPrec = 0x00800
	frameEndOffsetPrec   = 0x01000
	frameStartOffsetFol  = 0x02000
	frameEndOffsetFol    = 0x04000
	frameExclusion       = 0x38000
)

// Frames that functions have which do not heed the window's own.
const (
	wholePartition = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
	untilPeers     = "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
)

// window is what OVER means.
type window struct {
	// own is the frame that it is defined with; empty: PostgreSQL's default.
	own string
	// parts are PARTITION BY and ORDER BY.
	parts   []string
	ordered bool
}

// over writes the window with a frame; empty: none.
func (w window) over(frame string) string {
	parts := slices.Clip(w.parts)
	if frame != "" {
		parts = append(parts, frame)
	}
	return " OVER (" + strings.Join(parts, " ") + ")"
}

// windowOf translates what OVER means.
func (q *query) windowOf(w *pg.WindowDef) window {
	if name := w.Name + w.Refname; name != "" {
		base, ok := q.windows[name]
		if !ok || w.Refname != "" || base.Refname != "" {
			fail("window that extends another")
		}
		w = base
	}
	var parts []string
	if len(w.PartitionClause) > 0 {
		keys := make([]string, len(w.PartitionClause))
		for i, n := range w.PartitionClause {
			e := q.value(n)
			keys[i], q.keysFail = distinguishable(e), q.keysFail || e.fails
		}
		parts = append(parts, "PARTITION BY "+strings.Join(keys, ", "))
	}
	if len(w.OrderClause) > 0 {
		keys := make([]string, len(w.OrderClause))
		for i, n := range w.OrderClause {
			by := n.GetSortBy()
			e := q.value(by.Node)
			keys[i], q.keysFail = q.t.sortable(e)+direction(by), q.keysFail || e.fails
		}
		parts = append(parts, "ORDER BY "+strings.Join(keys, ", "))
	}
	out := window{parts: parts, ordered: len(w.OrderClause) > 0}
	if w.FrameOptions&frameNonDefault != 0 {
		out.own = q.frame(w)
	}
	return out
}

func (q *query) frame(w *pg.WindowDef) string {
	o := int(w.FrameOptions)
	unit := ""
	switch {
	case o&frameRows != 0:
		unit = "ROWS"
	case o&frameRange != 0 && w.StartOffset == nil && w.EndOffset == nil:
		unit = "RANGE"
	default:
		fail("window frame of this kind")
	}
	if o&frameExclusion != 0 {
		fail("window frame exclusion")
	}
	offset := func(n *pg.Node) string {
		e := q.value(n)
		if e.lit == nil || e.lit.integer == nil || e.lit.integer.Sign() < 0 {
			fail("window frame offset that is not a constant")
		}
		return e.lit.integer.String()
	}
	start, end := "", "CURRENT ROW"
	switch {
	case o&frameStartUnbounded != 0:
		start = "UNBOUNDED PRECEDING"
	case o&frameStartCurrent != 0:
		start = "CURRENT ROW"
	case o&frameStartOffsetPrec != 0:
		start = offset(w.StartOffset) + " PRECEDING"
	case o&frameStartOffsetFol != 0:
		start = offset(w.StartOffset) + " FOLLOWING"
	default:
		fail("window frame")
	}
	switch {
	case o&frameEndUnbounded != 0:
		end = "UNBOUNDED FOLLOWING"
	case o&frameEndOffsetPrec != 0:
		end = offset(w.EndOffset) + " PRECEDING"
	case o&frameEndOffsetFol != 0:
		end = offset(w.EndOffset) + " FOLLOWING"
	}
	return unit + " BETWEEN " + start + " AND " + end
}

// relativeRank is percent_rank or cume_dist: a quotient of two counts as float8, as PostgreSQL's windowfuncs.c divides them.
func (q *query) relativeRank(name string, w window) expr {
	if !w.ordered {
		fail("%s without ORDER BY", name)
	}
	rows := "count()" + w.over(wholePartition)
	sql := fmt.Sprintf("toFloat64(count()%s) / toFloat64(%s)", w.over(untilPeers), rows)
	if name == "percent_rank" { // of a single row it is 0
		sql = fmt.Sprintf("toFloat64(rank()%s - 1) / toFloat64(greatest(%s - 1, 1))", w.over(""), rows)
	}
	return expr{sql: "(" + sql + ")", oid: oidFloat8, pad: -1, refs: q.scope.mask()}
}
