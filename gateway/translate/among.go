package translate

import (
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// among are the comparisons that tie a subquery with aggregates beside equalities. The rows of each group are collected; of these, those that meet
// the comparisons are aggregated for each row of the query around.
type among struct {
	ops          []string
	inner, outer []expr
}

// among takes the conditions that are no equalities for comparisons; nil: there are none.
func (c *correlated) among() *among {
	if len(c.residual) == 0 {
		return nil
	}
	a := &among{}
	for _, n := range c.residual {
		for _, part := range bothBounds(n) {
			op, inner, outer, ok := c.sub.sides(part)
			if !ok || inner.fails || outer.fails || inner.oid == oidBpchar || inner.oid == oidInterval {
				fail("correlated subquery by more than equalities and comparisons")
			}
			a.ops, a.inner, a.outer = append(a.ops, op), append(a.inner, inner), append(a.outer, outer)
		}
	}
	return a
}

// bounds are what the query around compares with.
func (a *among) bounds() []expr {
	if a == nil {
		return nil
	}
	return a.outer
}

// bothBounds makes two comparisons of BETWEEN.
func bothBounds(n *pg.Node) []*pg.Node {
	a := n.GetAExpr()
	if a == nil || a.Kind != pg.A_Expr_Kind_AEXPR_BETWEEN {
		return []*pg.Node{n}
	}
	bounds := a.Rexpr.GetList().GetItems()
	comparison := func(op string, bound *pg.Node) *pg.Node {
		return pg.MakeAExprNode(pg.A_Expr_Kind_AEXPR_OP, []*pg.Node{pg.MakeStrNode(op)}, a.Lexpr, bound, 0)
	}
	return []*pg.Node{comparison(">=", bounds[0]), comparison("<=", bounds[1])}
}

// reducible are the engine's aggregates that make the same of an array's elements as of rows.
var reducible = setOf("count sum sumDistinct min max uniqExact")

// aggregated is an aggregate of the rows of a group that meet the comparisons.
func (a *among) aggregated(q *query, call engineCall, d expr) expr {
	if !reducible[strings.TrimSuffix(call.function, "OrNull")] || call.over != "" || d.fails || d.displaysByRow() {
		fail("aggregate of this form in a subquery that a comparison ties")
	}
	parts := a.collected()
	arg := call.args
	if arg == "" {
		arg = "0" // also so that there are two elements, which the engine takes for a tuple everywhere
	}
	rows := q.group.add(engineCall{function: "groupArray", args: "tuple(" + strings.Join(append(parts, arg), ", ") + ")"})
	kept := a.kept(q, leafName(q.group.id)+"."+rows)
	value := "length(" + kept + ")"
	if call.args != "" {
		value = fmt.Sprintf("arrayReduce(%s, arrayMap(t -> tupleElement(t, %d), %s))", quote(call.function), len(parts)+1, kept)
	}
	d.blanks = nil
	return a.described(q, d, call.cast+"("+value+")")
}

// collected are the inner values of the comparisons, with which the tuples of rows begin.
func (a *among) collected() []string {
	parts := make([]string, len(a.inner))
	for i, inner := range a.inner {
		parts[i] = inner.sql
	}
	return parts
}

// kept are the tuples of an array that meet the comparisons.
func (a *among) kept(q *query, rows string) string {
	conds := make([]string, len(a.inner))
	for i, inner := range a.inner {
		conds[i] = boolText(q.compare(a.ops[i], inner.as(fmt.Sprintf("tupleElement(t, %d)", i+1), 0), a.outer[i]))
	}
	return "arrayFilter(t -> ifNull(" + strings.Join(conds, " AND ") + ", false), " + rows + ")"
}

func (a *among) described(q *query, d expr, sql string) expr {
	out := describe(d, sql).as(sql, bit(q.group.id))
	for _, o := range a.outer {
		out.refs |= o.refs
	}
	return out
}

// firstAmong is the only column of a subquery's first row of those that meet the comparisons, in the order of its ORDER BY.
func (q *query) firstAmong(c *correlated) expr {
	comparisons, value := c.among(), resolveUnknown(c.sub.value(c.sub.expand(c.stmt.TargetList)[0].node))
	if len(c.stmt.SortClause) == 0 || value.fails || value.lit != nil || value.displaysByRow() || value.oid == oidBpchar || value.oid == oidInterval {
		fail("first row of those that a comparison ties, of this form")
	}
	order := listing{q: c.sub, name: "subquery"}
	for _, n := range sortNodes(c.stmt) {
		k := sortKey{resolveUnknown(c.sub.value(n.GetSortBy().Node)), n.GetSortBy()}
		if k.e.fails {
			fail("first row in the order of a value that may fail")
		}
		order.keys = append(order.keys, k)
	}
	keys := order.sortedBy(value)
	q.requireLocal(comparisons.outer)
	q.joinGroups(c)
	parts := append(comparisons.collected(), value.computed(), "tuple("+strings.Join(append(keys, "0"), ", ")+")")
	sort := "arraySort"
	if isDescending(order.keys[0].by) {
		sort = "arrayReverseSort"
	}
	rows := c.sub.group.add(engineCall{args: fmt.Sprintf("%s(t -> tupleElement(t, %d), groupArray(tuple(%s)))", sort, len(parts), strings.Join(parts, ", "))})
	kept := comparisons.kept(c.sub, leafName(c.sub.group.id)+"."+rows)
	d := value.plain()
	d.null = true
	return comparisons.described(c.sub, d, fmt.Sprintf("arrayMap(t -> tupleElement(t, %d), %s)[1]", len(parts)-1, kept))
}
