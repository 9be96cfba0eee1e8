package translate

import (
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// stringAgg translates string_agg(value, separator ORDER BY …): the values that are not NULL are collected with what they are sorted by. Without
// ORDER BY they come in the order in which PostgreSQL finds its rows, which is its own.
func (q *query) stringAgg(f *pg.FuncCall) expr {
	if len(f.Args) != 2 || len(f.AggOrder) == 0 || f.AggWithinGroup || f.FuncVariadic {
		fail("string_agg without ORDER BY")
	}
	var keys []sortKey
	var value, separator expr
	var filter string
	q.ungrouped(func() expr {
		filter = q.aggregateFilter(f)
		value, separator = resolveUnknown(q.value(f.Args[0])), resolveUnknown(q.value(f.Args[1]))
		for _, n := range f.AggOrder {
			keys = append(keys, sortKey{resolveUnknown(q.value(n.GetSortBy().Node)), n.GetSortBy()})
		}
		return expr{}
	})
	if !isString(value.oid) || value.opaque || value.lit != nil {
		fail("string_agg over this type")
	}
	if !isString(separator.oid) || separator.lit == nil {
		fail("string_agg with a separator that is not constant")
	}
	parts := q.collected(keys, f.AggDistinct, value)
	if value.null {
		present := "isNotNull(" + value.sql + ")"
		if filter != "" {
			present = filter + " AND " + filtered(present, filter)
		}
		filter = present
	}
	collect := aggregation{q: q, some: true, filter: filter}
	sort := "arraySort"
	if isDescending(keys[0].by) {
		sort = "arrayReverseSort"
	}
	sorted := fmt.Sprintf("arrayMap(x -> tupleElement(x, %d), %s(%s))", len(parts), sort, collect.call("groupArray", "tuple("+strings.Join(parts, ", ")+")").plain())
	if f.AggDistinct {
		sorted = "arrayDistinct(" + sorted + ")"
	}
	d := with(oidText, "", value)
	d.null = true
	out := q.aggregated(engineCall{args: sorted}, d)
	join := ""
	if !separator.isNull() { // NULL separates by nothing
		join = ", " + separator.sql
	}
	out.sql = fmt.Sprintf("if(empty(%[1]s), NULL, arrayStringConcat(%[1]s%[2]s))", out.sql, join)
	return out
}

// collected is what a value is sorted by, and the value itself: whether a key is NULL, as far as that decides, and the key.
func (q *query) collected(keys []sortKey, distinct bool, value expr) []string {
	var parts []string
	for _, k := range keys {
		requireOrdered(k.e)
		if len(k.by.UseOp) > 0 || isDescending(k.by) != isDescending(keys[0].by) {
			fail("string_agg ordered in two directions")
		}
		if distinct && k.e.sql != value.sql {
			fail("string_agg of distinct values ordered by others")
		}
		sql, kind := q.t.orderable(k.e), k.e
		if kind.enum {
			kind = q.t.position(kind)
		}
		if k.e.null {
			late := "isNull(" + sql + ")"
			if isNullsFirst(k.by) != isDescending(k.by) { // against the direction
				late = "isNotNull(" + sql + ")"
			}
			parts = append(parts, late)
			sql = "ifNull(" + sql + ", defaultValueOfTypeName('" + kind.engineType() + "'))"
		}
		parts = append(parts, sql)
	}
	return append(parts, "assumeNotNull("+value.sql+")")
}
