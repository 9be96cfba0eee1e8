package translate

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// group is the aggregation of a query. It becomes a subquery that yields keys k1, k2, … and aggregates a1, a2, …;
// the rest of the query is computed over it.
type group struct {
	id      int
	keys    []expr
	nodes   []*pg.Node // what the keys are computed from
	aggs    []engineCall
	bySQL   map[string]int
	grouped bool // every group has a row: there is no group of all rows
	// sets are the grouping sets where there are several: a bit for each key that one has. The column gs has that of a row's.
	sets []uint64

	from  *tree
	where []expr
	joins []extraJoin
	// correlated are keys that an enclosing query joins by, among other conditions that tie its rows.
	correlated []expr
	among      *among
	// elements are the rows, if they are those of a list.
	elements *elementQuery
}

var aggregates = setOf("count sum avg min max bool_and bool_or every any_value string_agg array_agg stddev variance " +
	"stddev_pop stddev_samp var_pop var_samp percentile_cont percentile_disc mode regr_count bit_and bit_or bit_xor json_agg jsonb_agg json_object_agg jsonb_object_agg")

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

func isAggregateCall(n *pg.Node) bool {
	f := n.GetFuncCall()
	return f != nil && f.Over == nil && aggregates[syntax.FunctionName(f)]
}

// contains looks for a node in an expression, not in its subqueries.
func contains(n *pg.Node, is func(*pg.Node) bool) bool {
	found := false
	syntax.Walk(n, func(m *pg.Node) bool {
		found = found || is(m)
		return !found && m.GetSelectStmt() == nil
	})
	return found
}

func isGrouped(s *pg.SelectStmt) bool {
	if len(s.GroupClause) > 0 || s.HavingClause != nil {
		return true
	}
	has := func(n *pg.Node) bool { return contains(n, isAggregateCall) }
	return slices.ContainsFunc(s.TargetList, has) || slices.ContainsFunc(s.SortClause, has)
}

// startGroups moves FROM and WHERE below the aggregation.
func (q *query) startGroups(s *pg.SelectStmt, targets []target) {
	g := &group{id: q.t.newLeaf(), bySQL: map[string]int{}}
	if s.GroupDistinct {
		fail("GROUP BY DISTINCT")
	}
	q.groupBy(g, s.GroupClause, targets)
	g.from, g.where, g.joins = q.from, q.where, q.joins
	q.group, q.grouped = g, true
	q.where, q.joins = nil, nil
	leaf := &tree{id: g.id, fails: q.mayFail}
	leaf.text = func() string { return leaf.relation(q.groupText()) }
	q.from = leaf
}

// groupTarget finds what a GROUP BY item means: an ordinal, an input column, or else an output name.
func groupTarget(n *pg.Node, targets []target, sc *scope) *pg.Node {
	if c := n.GetAConst(); c != nil {
		i := int(c.GetIval().GetIval())
		if c.GetIval() == nil || i < 1 || i > len(targets) {
			fail("constant in GROUP BY")
		}
		return targets[i-1].node
	}
	if fields := n.GetColumnRef().GetFields(); len(fields) == 1 {
		name := fields[0].GetString_().GetSval()
		if sc.resolve([]string{name}) == nil {
			for _, t := range targets {
				if t.name == name {
					return t.node
				}
			}
		}
	}
	return n
}

func (q *query) groupText() string {
	g := q.group
	if len(g.sets) > 0 {
		return q.setsText()
	}
	var keys, displays []string
	for i, k := range append(g.keys[:len(g.keys):len(g.keys)], g.correlated...) {
		keys = append(keys, distinguishable(k))
		switch {
		case k.displaysByRow():
			displays = append(displays, alike(k.dec.displaySQL)+" AS k"+strconv.Itoa(i+1)+"s")
		case k.hasBlanks() && i < len(g.keys):
			displays = append(displays, alike(k.blanks.text)+" AS k"+strconv.Itoa(i+1)+"b")
		}
	}
	return q.aggregationText(keys, displays...)
}

// aggregationText writes the aggregation by some keys, which it yields as k1, k2, …, with display scales of keys that have their own.
func (q *query) aggregationText(keys []string, displays ...string) string {
	g := q.group
	items := append(keyItems(keys), displays...)
	for i, a := range g.aggs {
		items = append(items, a.sql()+" AS a"+strconv.Itoa(i+1))
	}
	if len(items) == 0 {
		items = append(items, "count() AS a0")
	}
	list := strings.Join(items, ", ")
	g.from.keepApart(g.where, list)
	if len(g.joins) == 0 && len(displays) == 0 && len(g.from.parts) > 1 && len(keys)+len(g.aggs) > 0 {
		parts, conds := q.t.semiJoins(g.from.parts, append(slices.Clone(g.from.conds), g.where...), list)
		if e := q.t.aggregateEarly(parts, conds, keys, g.aggs); e != nil {
			return e.text(keys, g.aggs)
		}
	}
	text := "SELECT " + list + q.t.fromText(g.from, g.where, g.joins, list)
	if len(keys) > 0 {
		text += " GROUP BY " + strings.Join(keyNames(keys), ", ")
	}
	return text
}

// keyNames refers to keys by what keyItems calls them, since the engine takes as long for an expression that stands twice
// as for two. No column is meant: those of the tables are qualified. Short ones are left as they are, easier to read.
func keyNames(keys []string) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		if names[i] = k; len(k) > maxRepeated {
			names[i] = "k" + strconv.Itoa(i+1)
		}
	}
	return names
}

// maxRepeated is the length of a key up to which it is written again.
const maxRepeated = 60

func keyItems(keys []string) []string {
	items := make([]string, len(keys))
	for i, k := range keys {
		items[i] = k + " AS k" + strconv.Itoa(i+1)
	}
	return items
}

// ungrouped translates with the query in the state below its aggregation.
func (q *query) ungrouped(f func() expr) expr {
	g := q.group
	from, where, joins := q.from, q.where, q.joins
	q.from, q.where, q.joins, q.grouped = g.from, g.where, g.joins, false
	defer func() {
		g.joins = q.joins
		q.from, q.where, q.joins, q.grouped = from, where, joins, true
	}()
	return f()
}

// matchKey returns the key that an expression over groups is, if it is one.
func (q *query) matchKey(n *pg.Node) (expr, bool) {
	if i := q.group.subqueryKey(n); i >= 0 {
		return q.key(i), true
	}
	if len(q.group.keys) == 0 || n.GetAConst() != nil || n.GetParamRef() != nil || contains(n, func(m *pg.Node) bool {
		return isAggregateCall(m) || hasSubLink(m) || m.GetFuncCall().GetOver() != nil || m.GetGroupingFunc() != nil
	}) {
		return expr{}, false
	}
	e, ok := q.tryUngrouped(n)
	if !ok {
		return expr{}, false
	}
	i := q.group.keyIndex(e)
	if i < 0 || len(q.group.sets) > 0 && !q.sameKey(q.group.nodes[i], n) {
		// With several sets, what is computed from keys that a set may lack is none itself.
		return expr{}, false
	}
	return q.key(i), true
}

// tryUngrouped translates a candidate; what cannot be translated as a whole may still be in parts.
func (q *query) tryUngrouped(n *pg.Node) (e expr, ok bool) {
	outer := q.outer
	defer func() {
		if r := recover(); r != nil {
			if _, is := r.(*Unsupported); !is {
				panic(r)
			}
			ok = false
		}
		q.outer = outer
	}()
	return q.ungrouped(func() expr { return q.value(n) }), true
}

func hasSubLink(n *pg.Node) bool { return n.GetSubLink() != nil }

// subqueryKey finds the key that an expression with a subquery is, as it is written: translated again it would read other relations. -1: it is none.
func (g *group) subqueryKey(n *pg.Node) int {
	if !contains(n, hasSubLink) {
		return -1
	}
	return slices.IndexFunc(g.nodes, func(k *pg.Node) bool { return k == n || proto.Equal(unlocated(k), unlocated(n)) })
}

func (q *query) keyOf(e expr) (expr, bool) {
	i := q.group.keyIndex(e)
	if i < 0 {
		return expr{}, false
	}
	return q.key(i), true
}

// key is a key seen over groups.
func (q *query) key(i int) expr {
	e := describe(q.group.keys[i], "k"+strconv.Itoa(i+1)).of(leafName(q.group.id), bit(q.group.id))
	q.t.fold(e, q.t.foldedColumn(q.group.keys[i]))
	if len(q.group.sets) > 0 { // which yield no texts
		e.blanks = nil
	}
	return e
}

// keyIndex finds the key that an expression below the aggregation is; -1 if it is none. What is compared or shown otherwise may have the same text.
func (g *group) keyIndex(e expr) int {
	e = readNumeric(e)
	return slices.IndexFunc(g.keys, func(k expr) bool {
		return k.sql == e.sql && k.oid == e.oid && k.collation == e.collation && k.pad == e.pad && k.dec == e.dec && k.blanksText() == e.blanksText()
	})
}

// groupedColumn is a column seen over groups: a key, or determined by keys.
func (q *query) groupedColumn(c *column) expr {
	e := c.use()
	if key, ok := q.keyOf(e); ok {
		return key
	}
	for _, it := range q.scope.items {
		if len(q.group.sets) > 0 || len(it.key) == 0 || !slices.Contains(it.columns, c) {
			continue
		}
		determined := !slices.ContainsFunc(it.key, func(k *column) bool {
			_, ok := q.keyOf(k.e)
			return !ok
		})
		if determined {
			// All rows of the group agree. any() would skip NULLs, of which then all are.
			out := q.aggregated(engineCall{function: "any", args: e.sql, determined: true}, e)
			out.table, out.attr = e.table, e.attr
			return out
		}
	}
	fail("column that is neither grouped nor aggregated")
	return expr{}
}

// aggregated adds an aggregate to the group and returns a reference of the given description.
func (q *query) aggregated(call engineCall, description expr) expr {
	g := q.group
	if g.among != nil {
		return g.among.aggregated(q, call, description)
	}
	if g.elements != nil {
		return g.elements.aggregated(call, description)
	}
	description.blanks = nil
	out := describe(description, g.add(call))
	display := out.dec.displaySQL
	out = out.as(leafName(g.id)+"."+out.sql, bit(g.id))
	out.dec.displaySQL = display
	if q.emptyGroups {
		if out.null = description.null; !out.null {
			out.sql = "ifNull(" + out.sql + ", 0)" // a count
		}
	}
	return out
}

// add adds an aggregate, unless it is there, and names its column.
func (g *group) add(call engineCall) string {
	sql := call.sql()
	i, ok := g.bySQL[sql]
	if !ok {
		g.aggs = append(g.aggs, call)
		i = len(g.aggs)
		g.bySQL[sql] = i
	}
	return "a" + strconv.Itoa(i)
}

// having takes the conditions on groups. Where one may fail, those that read no aggregate are asked together with those of WHERE, before rows are grouped,
// as PostgreSQL does; elsewhere it makes no difference.
func (q *query) having(nodes []*pg.Node) {
	g := q.group
	var conds []expr
	for _, n := range nodes {
		conds = append(conds, q.conjunct(n)...)
	}
	fails := func(c expr) bool { return c.fails }
	if len(g.sets) == 0 && len(g.keys) > 0 && (slices.ContainsFunc(conds, fails) || slices.ContainsFunc(g.where, fails)) {
		conds = slices.DeleteFunc(conds, func(c expr) bool {
			below, ok := g.below(c)
			if ok = ok && c.refs != 0 && !c.hasSubplan(); ok {
				g.where = append(g.where, below)
			}
			return ok
		})
	}
	q.where = append(q.where, conds...)
}
