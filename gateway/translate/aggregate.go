package translate

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// sumDigits are the digits that summing adds: fewer than 10^12 rows are summed.
const sumDigits = 12

// aggregate translates an aggregate call of a query that groups.
func (q *query) aggregate(f *pg.FuncCall) expr {
	name := syntax.FunctionName(f)
	switch name {
	case "percentile_cont", "percentile_disc":
		return q.percentile(f, name)
	case "string_agg":
		return q.stringAgg(f)
	case "array_agg":
		return q.arrayAgg(f)
	case "json_agg", "jsonb_agg":
		return q.jsonAgg(f, jsonWriter{q, jsonAggregates[name]})
	case "json_object_agg", "jsonb_object_agg":
		return q.jsonObjectAgg(f, jsonWriter{q, jsonAggregates[name]})
	case "mode":
		return q.mode(f)
	case "regr_count":
		return q.regrCount(f)
	}
	if len(f.AggOrder) > 0 && !orderIndifferent[name] || f.AggWithinGroup || f.FuncVariadic {
		fail("ordered aggregate")
	}
	var arg expr
	a := aggregation{q: q, distinct: f.AggDistinct, shown: f == q.shownCall}
	q.ungrouped(func() expr {
		a.filter, a.filterFails = q.aggregateFilter(f)
		for _, key := range f.AggOrder {
			if q.value(key.GetSortBy().Node).fails { // PostgreSQL computes it, whatever comes of it
				fail("aggregate ordered by a value that may fail")
			}
		}
		if !f.AggStar {
			if len(f.Args) != 1 {
				fail("aggregate of several arguments")
			}
			if it := q.rowCounted(name, f); it != nil {
				arg = q.presence(it)
			} else {
				arg = q.aggregateArgument(name, f.Args[0])
			}
		}
		return expr{}
	})
	a.some = q.group.grouped && a.filter == ""
	return a.translate(name, f.AggStar, arg, q.aggregated)
}

// orderIndifferent are the aggregates that make the same of their values in any order.
var orderIndifferent = map[string]bool{"count": true, "sum": true, "min": true, "max": true, "avg": true}

// aggregateArgument is the single argument of an aggregate: a value, or a row to count. A row is none of PostgreSQL's NULLs, also if all in it is
// NULL, and two rows are the same if they have the same values and NULLs; a tuple of the engine is like that.
func (q *query) aggregateArgument(name string, n *pg.Node) expr {
	row := n.GetRowExpr()
	if row == nil {
		return q.value(n)
	}
	if name != "count" || len(row.Args) == 0 {
		fail("%s of a row", name)
	}
	fields := q.valuesOf(row.Args)
	texts := make([]string, len(fields))
	for i, e := range fields {
		if e.isUnknown() {
			fail("row of a constant without a type")
		}
		requireDistinguishable(e)
		texts[i] = e.typed()
	}
	if len(texts) == 1 { // the engine would take a tuple of one value for the value, and not count its NULL
		texts = append(texts, "0")
	}
	e := with(oidRecord, "tuple("+strings.Join(texts, ", ")+")", fields...)
	e.null = false
	return e
}

// rowCounted is the relation whose rows count counts by their name, as in count(t.*); nil: the argument is another one.
func (q *query) rowCounted(name string, f *pg.FuncCall) *item {
	row, ok := q.rowName(f.Args[0])
	if !ok || name != "count" || f.AggDistinct {
		return nil
	}
	if it := q.scope.item("", row); it != nil && !it.scalar {
		return it
	}
	return nil
}

// presence is a value that is NULL only where an outer join lacks a row of the relation.
func (q *query) presence(it *item) expr {
	if len(it.key) > 0 {
		return q.seen(it.key[0])
	}
	if !it.whole {
		fail("row of this relation")
	}
	return q.value(pg.MakeAConstIntNode(1, 0))
}

// aggregateFilter is an aggregate's FILTER, as [aggregation] takes it, and whether it may fail.
func (q *query) aggregateFilter(f *pg.FuncCall) (filter string, fails bool) {
	if f.AggFilter == nil {
		return "", false
	}
	e := q.cond(f.AggFilter)
	return "ifNull(" + boolText(e) + ", false)", e.fails
}

// presentIn is a filter that leaves out NULLs as well.
func presentIn(filter, value string) string {
	present := "isNotNull(" + value + ")"
	if filter == "" {
		return present
	}
	return filter + " AND " + filtered(present, filter)
}

// aggregation writes one aggregate, as part of a group or over a window.
type aggregation struct {
	q           *query
	filter      string // condition without NULLs; empty: all rows
	filterFails bool
	distinct    bool
	// some says that at least one row is aggregated.
	some bool
	// shown says that the client sees the result, and nothing else reads it.
	shown bool
	// over is the window; empty for a group.
	over string
}

// call makes an engine aggregate that yields NULL if there is nothing to aggregate. Of NULLs alone the engine's
// aggregates are NULL anyway; of no rows at all they are so under another name only.
func (a aggregation) call(f, arg string) engineCall {
	if !a.some && f != "count" && f != "uniqExact" {
		f += "OrNull"
	}
	if a.filter != "" {
		arg = filtered(arg, a.filter)
		if arg != "" {
			arg += ", "
		}
		return engineCall{function: f + "If", args: arg + a.filter, over: a.over}
	}
	return engineCall{function: f, args: arg, over: a.over}
}

// counting makes an engine aggregate that counts.
func (a aggregation) counting(f, arg string) engineCall {
	c := a.call(f, arg)
	c.cast = "toInt64"
	return c
}

// translate yields the aggregate's value; place makes the reference to an engine aggregate.
func (a aggregation) translate(name string, star bool, x expr, place func(engineCall, expr) expr) expr {
	if name != "any_value" && (name != "count" || a.distinct) {
		x = readNumeric(x)
	}
	switch {
	case !a.distinct:
	case name == "sum", name == "avg":
		requireGroupable(x)
	case name != "count" && name != "min" && name != "max":
		fail("%s(DISTINCT)", name)
	}
	if x.isNull() && !star {
		fail("aggregate of a constant NULL")
	}
	if x.isUnknown() && !star {
		x = resolveUnknown(x)
	}
	null := x.null || !a.some
	reference := place
	place = func(call engineCall, d expr) expr {
		d.fails = d.fails || x.fails || a.filterFails
		return reference(call, d)
	}
	switch name {
	case "count":
		return a.count(star, x, place)
	case "sum":
		return a.sum(x, null, place)
	case "avg":
		return a.average(x, null, place)
	case "any_value":
		if a.over != "" {
			fail("any_value over a window")
		}
		if x.dec.display == displayDynamic {
			fail("any_value of numerics that display differently")
		}
		d := x.plain()
		d.null = null
		return place(a.call("any", x.sql), d)
	case "min", "max":
		return a.extreme(name, x, null, place)
	case "bool_and", "every", "bool_or":
		if x.oid != oidBool {
			fail("%s over this type", name)
		}
		f := map[string]string{"bool_and": "min", "every": "min", "bool_or": "max"}[name]
		d := expr{oid: oidBool, null: null, pad: -1}
		return place(a.call(f, "toUInt8("+x.sql+")"), d)
	}
	if f, ok := bitAggregates[name]; ok {
		if !isInteger(x.oid) {
			fail("%s over this type", name)
		}
		return place(a.call(f, x.typed()), expr{oid: x.oid, null: null, pad: -1})
	}
	if s, ok := spreads[name]; ok {
		return a.spread(name, s, x, null, place)
	}
	fail("aggregate %s", name)
	return expr{}
}

var bitAggregates = map[string]string{"bit_and": "groupBitAnd", "bit_or": "groupBitOr", "bit_xor": "groupBitXor"}

func (a aggregation) count(star bool, x expr, place func(engineCall, expr) expr) expr {
	d := expr{oid: oidInt8, pad: -1, bounded: true, low: 0, high: 1 << 62}
	if a.distinct {
		call := a.counting("uniqExact", distinguishable(x))
		call.compact = !isString(x.oid)
		return place(call, d)
	}
	arg := ""
	if !star && (x.null || x.fails) {
		arg = x.computed()
	}
	return place(a.counting("count", arg), d)
}

func (a aggregation) sum(x expr, null bool, place func(engineCall, expr) expr) expr {
	switch {
	case x.oid == oidInterval:
		return a.durations(x, false, place)
	case x.opaque:
		fail("sum of an opaque type")
	case x.oid == oidInt2 || x.oid == oidInt4:
		return place(a.call(a.summing(), "toInt64("+x.sql+")"), expr{oid: oidInt8, null: null, pad: -1})
	case x.oid == oidInt8:
		x = toNumeric(x)
	case x.oid == oidFloat8:
		return a.floatSum(x, null, place)
	case x.oid != oidNumeric:
		fail("sum over this type")
	}
	x = x.narrowed(maxPrecision - x.dec.integer - sumDigits)
	d := expr{oid: oidNumeric, null: null, pad: -1, dec: decimal{integer: x.dec.integer + sumDigits, scale: x.dec.scale, display: x.dec.display}}
	if d.dec.precision() > maxPrecision {
		fail("sum of numerics of so many digits")
	}
	width := decimal{integer: 38 - d.dec.scale, scale: d.dec.scale}
	arg := x.sql
	if d.dec.precision() > 38 {
		width.integer = maxPrecision - d.dec.scale
		arg = x.scaled(width)
	}
	// The engine sums in its widest type of the class, which is what the reference is described as.
	d.dec.integer = width.integer
	e := place(a.call(a.summing(), arg), d)
	if x.dec.display == displayDynamic {
		display := place(a.call("max", x.dec.displaySQL), expr{oid: oidInt4, null: true, pad: -1})
		e.dec.displaySQL = display.sql
	}
	e.dec.integer = min(x.dec.integer+sumDigits, e.dec.integer)
	return e
}

// summing is the engine's aggregate that sums.
func (a aggregation) summing() string {
	if a.distinct {
		return "sumDistinct"
	}
	return "sum"
}

// values counts what is summed: fewer than a sum can have.
func (a aggregation) values(x expr, place func(engineCall, expr) expr) expr {
	f, arg := "count", ""
	if x.null {
		arg = x.sql
	}
	if a.distinct {
		f, arg = "uniqExact", x.sql
	}
	return place(a.counting(f, arg), expr{oid: oidInt8, pad: -1, bounded: true, high: 999_999_999_999_999})
}

// average is PostgreSQL's: the sum, as a numeric, divided by the number of values.
func (a aggregation) average(x expr, null bool, place func(engineCall, expr) expr) expr {
	if x.oid == oidInterval {
		return a.durations(x, true, place)
	}
	if x.oid == oidFloat8 {
		return a.floatAverage(x, null, place)
	}
	if x.oid == oidInt8 {
		x = toNumeric(x)
	}
	if x.oid != oidNumeric && !isInteger(x.oid) || x.opaque {
		fail("avg over this type")
	}
	digits := x.dec.integer
	if isInteger(x.oid) {
		digits = toNumeric(x).dec.integer
	}
	sum := a.sum(x, null, place)
	if isInteger(sum.oid) { // PostgreSQL sums smaller integers as bigint, too
		sum = toNumeric(sum)
	}
	count := a.values(x, place)
	n := toNumeric(count)
	// Without a value the sum is NULL, and so is the quotient: its divisor must not be zero then.
	n.sql, n.nonzero = "CAST(greatest("+count.sql+", 1), '"+n.dec.String()+"')", true
	e := a.q.divide(sum, n)
	// An average is no larger than the values. (It stays in the engine's widest type.)
	e.dec.integer = min(e.dec.integer, max(digits+1, 39-e.dec.scale))
	e.ratio.average, e.fails = true, sum.fails
	return e
}
