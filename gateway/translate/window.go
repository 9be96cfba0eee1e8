package translate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
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
	return " OVER (" + settled(strings.Join(parts, " ")) + ")"
}

// named is the definition of a name in the WINDOW clause, of those before the one that is read now.
func (q *query) named(name string) *pg.WindowDef {
	w, ok := q.windows[name]
	if !ok {
		fail("unknown window")
	}
	return w
}

// inheriting adds to a definition what it takes over from the window that it extends: all but a frame, which that one must not have.
func (q *query) inheriting(w *pg.WindowDef) *pg.WindowDef {
	if w.Refname == "" {
		return w
	}
	base := q.named(w.Refname)
	return &pg.WindowDef{
		PartitionClause: base.PartitionClause, OrderClause: append(slices.Clip(base.OrderClause), w.OrderClause...),
		FrameOptions: w.FrameOptions, StartOffset: w.StartOffset, EndOffset: w.EndOffset,
	}
}

// windowOf translates what OVER means.
func (q *query) windowOf(w *pg.WindowDef) window {
	if w.Name != "" {
		w = q.named(w.Name)
	} else {
		w = q.inheriting(w)
	}
	var parts []string
	partition := make([]columnID, len(w.PartitionClause))
	if len(w.PartitionClause) > 0 {
		keys := make([]string, len(w.PartitionClause))
		for i, n := range w.PartitionClause {
			e := q.value(n)
			keys[i], partition[i], q.keysFail = distinguishable(e), e.origin, q.keysFail || e.fails
		}
		parts = append(parts, "PARTITION BY "+strings.Join(keys, ", "))
	}
	q.partitions = append(q.partitions, partition)
	out := window{ordered: len(w.OrderClause) > 0}
	var keys []string
	if w.FrameOptions&frameNonDefault != 0 {
		out.own, keys = q.frame(w)
	} else {
		keys = q.sortKeys(w)
	}
	if out.ordered {
		parts = append(parts, "ORDER BY "+strings.Join(keys, ", "))
	}
	out.parts = parts
	return out
}

// sortKeys are the items of a window's ORDER BY.
func (q *query) sortKeys(w *pg.WindowDef) []string {
	keys := make([]string, len(w.OrderClause))
	for i, n := range w.OrderClause {
		by := n.GetSortBy()
		e := q.value(by.Node)
		keys[i], q.keysFail = q.t.sortable(e)+direction(by), q.keysFail || e.fails
	}
	return keys
}

// windowFunctions of rank and position.
var windowFunctions = setOf("row_number rank dense_rank ntile percent_rank cume_dist lag lead first_value last_value nth_value")

// window translates a call with OVER.
func (q *query) window(f *pg.FuncCall, name string) expr {
	if q.noWindows || f.FuncVariadic || len(f.AggOrder) > 0 {
		fail("window function here")
	}
	w := q.windowOf(f.Over)
	over := w.over(w.own)
	if aggregates[name] {
		return q.windowAggregate(f, name, over)
	}
	if !windowFunctions[name] || f.AggFilter != nil || f.AggDistinct {
		fail("window function %s", syntax.KnownName(name))
	}
	args := q.valuesOf(f.Args)
	switch name {
	case "row_number", "rank", "dense_rank":
		e := expr{sql: "toInt64(" + name + "()" + w.over("") + ")", oid: oidInt8, pad: -1, refs: q.scope.mask()}
		e.bounded, e.low, e.high = true, 0, 1<<62
		return e
	case "ntile":
		if len(args) != 1 {
			fail("ntile with so many arguments")
		}
		number, ok := args[0].constantFrom(1)
		if !ok {
			fail("ntile of what is not a constant")
		}
		return expr{sql: "toInt32(ntile(" + strconv.FormatInt(number, 10) + ")" + w.over(wholePartition) + ")", oid: oidInt4, pad: -1, refs: q.scope.mask()}
	case "percent_rank", "cume_dist":
		return q.relativeRank(name, w)
	}
	if name == "lag" || name == "lead" {
		return q.shifted(name, args, w.over(""))
	}
	return q.neighbour(name, args, over)
}

// windowAggregate has no intermediate subquery: aggregates stand in the output themselves.
func (q *query) windowAggregate(f *pg.FuncCall, name, over string) expr {
	if f.AggDistinct {
		fail("DISTINCT in a window aggregate")
	}
	a := aggregation{q: q, over: over}
	a.filter, a.filterFails = q.aggregateFilter(f)
	var x expr
	if !f.AggStar {
		if len(f.Args) != 1 {
			fail("aggregate of several arguments")
		}
		x = q.value(f.Args[0])
	}
	return a.translate(name, f.AggStar, x, func(call engineCall, d expr) expr {
		d.sql, d.refs = call.sql(), q.scope.mask()|x.refs
		return d
	})
}

// shifted translates lag and lead, which heed no frame.
func (q *query) shifted(name string, args []expr, over string) expr {
	if len(args) == 0 || args[0].isUnknown() || args[0].lit != nil {
		fail("%s of a constant", name)
	}
	rows := int64(1)
	if len(args) > 1 {
		var ok bool
		if rows, ok = args[1].constantFrom(0); !ok {
			fail("%s by an offset that is not a constant", name)
		}
	}
	values := args[:1]
	if len(args) > 2 {
		values = q.unify([]expr{args[0], args[2]})
	}
	build := func(part func(expr) string) string {
		sql := fmt.Sprintf("%s(toNullable(%s), %d", name, part(values[0]), rows)
		if len(values) > 1 {
			sql += ", toNullable(" + part(values[1]) + ")"
		}
		return settled(sql) + ")" + over
	}
	e := chosenBlanks(q.choice(build, values), build, values)
	e.null, e.bounded = true, false
	return e
}

// neighbour translates functions that yield the value of a row of the frame.
func (q *query) neighbour(name string, args []expr, over string) expr {
	if len(args) == 0 || args[0].isUnknown() || args[0].lit != nil {
		fail("%s of a constant", name)
	}
	var of func(value string) string
	switch name {
	case "first_value", "last_value":
		if len(args) != 1 {
			fail("%s with so many arguments", name)
		}
		of = func(value string) string { return name + "_respect_nulls(toNullable(" + value + "))" + over }
	case "nth_value":
		if len(args) != 2 {
			fail("nth_value with so many arguments")
		}
		n, ok := args[1].constantFrom(1)
		if !ok {
			fail("nth_value by an offset that is not a constant")
		}
		of = func(value string) string { return fmt.Sprintf("nth_value(toNullable(%s), %d)%s", value, n, over) }
	default:
		fail("window function %s", name)
	}
	e := args[0].plain()
	e.sql, e.null, e.bounded = of(settled(e.sql)), true, false
	if e.displaysByRow() {
		e.dec.displaySQL = of(settled(e.dec.displaySQL))
	}
	return e
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
