package translate

import (
	"fmt"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// listing is an aggregate that puts a group's values in a row, in the order of its ORDER BY. Without one they come in the order in which
// PostgreSQL finds its rows, which is its own; but distinct ones it sorts to tell them apart.
type listing struct {
	q        *query
	name     string
	args     []expr
	keys     []sortKey
	distinct bool
	filter   string
	// fails says that the filter or a key may fail.
	fails bool
}

func (q *query) listing(f *pg.FuncCall) listing { return q.listingOf(f, q.value) }

// listingOf is a listing whose arguments are read by a function.
func (q *query) listingOf(f *pg.FuncCall, read func(*pg.Node) expr) listing {
	l := listing{q: q, name: syntax.FunctionName(f), distinct: f.AggDistinct}
	if len(f.AggOrder) == 0 && !l.distinct || f.AggWithinGroup || f.FuncVariadic {
		fail("%s without ORDER BY", l.name)
	}
	q.ungrouped(func() expr {
		l.filter, l.fails = q.aggregateFilter(f)
		for _, n := range f.Args {
			e := resolveUnknown(read(n))
			if e.refs == 0 && e.lit == nil { // the engine may take it for a NULL without a type
				fail("%s of a computed constant", l.name)
			}
			l.args = append(l.args, e)
		}
		for _, n := range f.AggOrder {
			k := sortKey{readNumeric(resolveUnknown(q.value(n.GetSortBy().Node))), n.GetSortBy()}
			l.keys, l.fails = append(l.keys, k), l.fails || k.e.fails
		}
		return expr{}
	})
	if len(l.keys) == 0 && len(l.args) > 0 {
		l.keys = []sortKey{{l.args[0], &pg.SortBy{}}}
	}
	return l
}

// stringAgg translates string_agg(value, separator ORDER BY …).
func (q *query) stringAgg(f *pg.FuncCall) expr {
	l := q.listing(f)
	if len(l.args) != 2 {
		fail("string_agg of another form")
	}
	value, separator := l.args[0], l.args[1]
	if !isString(value.oid) || value.opaque || value.lit != nil {
		fail("string_agg over this type")
	}
	if !isString(separator.oid) || separator.lit == nil {
		fail("string_agg with a separator that is not constant")
	}
	if value.null {
		if slices.ContainsFunc(l.keys, func(k sortKey) bool { return k.e.fails && k.e.sql != value.sql }) { // PostgreSQL computes it beside a NULL, too
			fail("string_agg ordered by a value that may fail")
		}
		l.filter = presentIn(l.filter, value.sql)
	}
	out := l.of(value, "assumeNotNull("+value.sql+")", with(oidText, "", value))
	join := ""
	if !separator.isNull() { // NULL separates by nothing
		join = ", " + separator.sql
	}
	out.sql = fmt.Sprintf("if(empty(%[1]s), NULL, arrayStringConcat(%[1]s%[2]s))", out.sql, join)
	return out
}

// arrayAgg translates array_agg(value ORDER BY …): its text is made of the values' as an array has them, of NULL too.
func (q *query) arrayAgg(f *pg.FuncCall) expr {
	l := q.listing(f)
	if len(l.args) != 1 || l.args[0].isNull() {
		fail("array_agg of another form")
	}
	value := l.args[0]
	oid := array{oid: value.oid}.typeOf()
	out := asArray(l.of(value, q.presentToken(value), with(oid, "", value)), oid)
	out.sql = "if(empty(" + out.sql + "), NULL, " + arrayOfTokens(out.sql) + ")"
	return out
}

// elementOfList is a value by its number in array_agg(value ORDER BY …), which may be of types that there are no arrays of.
func (q *query) elementOfList(f *pg.FuncCall, number int) expr {
	l := q.listing(f)
	if len(l.args) != 1 {
		fail("array_agg of another form")
	}
	value := l.args[0]
	if value.lit != nil || value.displaysByRow() || value.oid == oidBpchar || value.oid == oidInterval || elementOf(value.oid) != 0 {
		fail("element of an array of this type")
	}
	out := l.of(value, value.computed(), value.plain())
	out.sql += "[" + itoa(number) + "]"
	return out
}

// of collects what is listed with what it is sorted by; an array of it is called like the value's column. text is not NULL if l is distinct.
func (l listing) of(value expr, text string, column expr) expr {
	parts := append(l.sortedBy(value), text)
	sort := "arraySort"
	if isDescending(l.keys[0].by) {
		sort = "arrayReverseSort"
	}
	collect := aggregation{q: l.q, some: true, filter: l.filter}
	sorted := fmt.Sprintf("arrayMap(x -> tupleElement(x, %d), %s(%s))", len(parts), sort, collect.call("groupArray", "tuple("+strings.Join(parts, ", ")+")").plain())
	if l.distinct {
		sorted = "arrayDistinct(" + sorted + ")"
	}
	column.null, column.fails = true, column.fails || l.fails
	return l.q.aggregated(engineCall{args: sorted}, column)
}

// sortedBy are the keys by which values are sorted, each after whether it is NULL, as far as that decides.
func (l listing) sortedBy(value expr) []string {
	var parts []string
	for _, k := range l.keys {
		requireOrdered(k.e)
		if len(k.by.UseOp) > 0 || isDescending(k.by) != isDescending(l.keys[0].by) {
			fail("%s ordered in two directions", l.name)
		}
		if l.distinct && k.e.sql != value.sql {
			fail("%s of distinct values ordered by others", l.name)
		}
		sql, kind := l.q.t.orderable(k.e), k.e
		if kind.enum {
			kind = l.q.t.position(kind)
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
	return parts
}
