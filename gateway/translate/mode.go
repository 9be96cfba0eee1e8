package translate

import (
	"fmt"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// mode translates mode() WITHIN GROUP (ORDER BY …): the value that is there most often, and of several the first in the order.
func (q *query) mode(f *pg.FuncCall) expr {
	if !f.AggWithinGroup || len(f.Args) != 0 || len(f.AggOrder) != 1 || f.AggDistinct {
		fail("mode in this form")
	}
	by := f.AggOrder[0].GetSortBy()
	if by.SortbyDir == pg.SortByDir_SORTBY_USING {
		fail("mode ordered by an operator")
	}
	var x expr
	collect := aggregation{q: q, some: true}
	q.ungrouped(func() expr {
		collect.filter, collect.filterFails = q.aggregateFilter(f)
		x = resolveUnknown(q.value(by.Node))
		return expr{}
	})
	d := x.plain()
	if x.lit != nil || x.opaque && !x.enum || d.displaysByRow() || x.oid == oidBool || x.oid == oidBpchar || x.oid == oidBytea || x.oid == oidUUID || x.oid == oidInterval {
		fail("mode over this type")
	}
	d.null, d.fails = true, x.fails || collect.filterFails
	value := q.t.choosable(x)
	if x.null {
		collect.filter = presentIn(collect.filter, value)
	}
	counted := collect.call("sumMap", "[assumeNotNull("+value+")], [toUInt64(1)]")
	out := q.aggregated(engineCall{args: counted.plain()}, d)
	values, times := "tupleElement("+out.sql+", 1)", "tupleElement("+out.sql+", 2)"
	first := fmt.Sprintf("indexOf(%s, arrayMax(%[1]s))", times)
	if isDescending(by) {
		first = fmt.Sprintf("length(%s) + 1 - indexOf(arrayReverse(%[1]s), arrayMax(%[1]s))", times)
	}
	out.sql = fmt.Sprintf("if(empty(%s), NULL, %[1]s[%s])", values, first)
	if x.enum {
		return q.t.atPosition(out, x)
	}
	return out
}

// regrCount is regr_count: how many rows have both values.
func (q *query) regrCount(f *pg.FuncCall) expr {
	if len(f.Args) != 2 || len(f.AggOrder) > 0 || f.AggDistinct || f.AggWithinGroup || f.FuncVariadic {
		fail("regr_count in this form")
	}
	var y, x expr
	count := aggregation{q: q, some: true}
	q.ungrouped(func() expr {
		count.filter, count.filterFails = q.aggregateFilter(f)
		y, x = q.coerce(q.value(f.Args[0]), oidFloat8), q.coerce(q.value(f.Args[1]), oidFloat8)
		return expr{}
	})
	d := expr{oid: oidInt8, pad: -1, bounded: true, high: 1 << 62, fails: y.fails || x.fails || count.filterFails}
	return q.aggregated(count.counting("count", "if(isNotNull("+y.computed()+") AND isNotNull("+x.computed()+"), 1, NULL)"), d)
}

// elementOfFractions is the percentile at one of several fractions, by its number.
func (q *query) elementOfFractions(f *pg.FuncCall, number int) expr {
	fractions := f.Args[0].GetAArrayExpr().Elements
	if number > len(fractions) {
		fail("percentile at a fraction that there is not")
	}
	one := proto.CloneOf(f)
	one.Args = fractions[number-1 : number]
	return q.aggregate(one)
}
