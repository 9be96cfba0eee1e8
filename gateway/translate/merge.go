package translate

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// merged is a subquery in FROM that PostgreSQL makes a part of the query around it: conditions on what it yields stand among its own there, and are
// asked in one order with them.
type merged struct {
	q       *query
	targets []target
	// write writes the subquery with other conditions.
	write func(where []expr)
	// taken are conditions of the query around that are asked in the subquery.
	taken []expr
}

// isMerged reports whether PostgreSQL merges a query into the one around.
func (q *query) isMerged(s *pg.SelectStmt) bool {
	return q.reader == readByFrom && len(q.joins) == 0 && len(s.FromClause) > 0 && len(s.DistinctClause) == 0 && len(s.SortClause) == 0 &&
		!isGrouped(s) && !hasWindow(s) && !cuts(s)
}

// isMerged reports whether conditions may be moved into the rows: what they hang off is computed in no way of its own.
func (r *rows) isMerged() bool {
	return r.merged != nil && !(r.keysFail || r.fails || r.windowed || r.apart || r.cut)
}

// takeConditions has the merged subqueries of a FROM clause ask what WHERE has on one of them alone, where a condition that may fail is among these or
// the subquery's own. It returns the conditions that are left.
func (n *tree) takeConditions(where []expr) []expr {
	n.walk(func(leaf *tree) {
		if leaf.merged == nil || leaf.whole || n.keeping(bit(leaf.id)) != leaf {
			return
		}
		if n.kind == "" {
			n.conds = leaf.merged.take(leaf, n.conds, where)
		}
		where = leaf.merged.take(leaf, where, n.conds)
	})
	return where
}

// take moves conditions on a leaf into its subquery, if it matters which of those, and of others, are asked first.
func (m *merged) take(leaf *tree, conds, others []expr) []expr {
	own, left := within(bit(leaf.id), conds)
	number, fails := m.conditions()
	for _, c := range append(slices.Clone(own), others...) {
		if c.refs == bit(leaf.id) {
			number, fails = number+1, fails || c.fails
		}
	}
	if !fails || number < 2 {
		return conds
	}
	var inner []expr
	for _, c := range own {
		if c, ok := m.inside(c, leaf); ok {
			inner = append(inner, c)
			continue
		}
		left = append(left, c)
	}
	for _, c := range inner {
		if !slices.ContainsFunc(m.taken, func(o expr) bool { return o.sql == c.sql }) {
			m.taken = append(m.taken, c)
		}
	}
	if len(inner) > 0 {
		m.write(append(slices.Clone(m.q.where), m.taken...))
	}
	return left
}

// conditions counts the conditions of a subquery and those merged into it, and says whether one of them may fail.
func (m *merged) conditions() (number int, fails bool) {
	count := func(conds []expr) {
		number += len(conds)
		fails = fails || slices.ContainsFunc(conds, func(c expr) bool { return c.fails })
	}
	count(m.q.where)
	m.q.from.walk(func(n *tree) {
		count(n.conds)
		if n.merged != nil {
			below, failing := n.merged.conditions()
			number, fails = number+below, fails || failing
		}
	})
	return number, fails
}

// inside is a condition on what a leaf yields as it reads in the leaf's subquery.
func (m *merged) inside(c expr, leaf *tree) (expr, bool) {
	if c.keys != nil || c.node == nil || c.hasSubplan() || contains(c.node, func(n *pg.Node) bool { return n.GetSubLink() != nil }) {
		return expr{}, false
	}
	sql, ok := m.insideText(c.sql, leaf.id)
	if !ok {
		return expr{}, false
	}
	node, ok := m.insideNode(c.node, leaf.columnNames)
	if !ok {
		return expr{}, false
	}
	c.sql, c.node, c.refs, c.orders = sql, node, relations(sql), nil
	return c, c.refs != 0
}

// insideText puts the values that a leaf's columns are in their place; false: it reads something else, too.
func (m *merged) insideText(sql string, leaf int) (string, bool) {
	var b strings.Builder
	for _, r := range references(sql) {
		before, after, _ := strings.Cut(sql, r.sql())
		sql = after
		if r.leaf != leaf {
			return "", false
		}
		i, err := strconv.Atoi(strings.TrimPrefix(r.column, "c"))
		if err != nil || i < 1 || i > len(m.targets) {
			return "", false // what stands beside a column
		}
		e := m.targets[i-1].e
		if e.lit != nil {
			return "", false
		}
		b.WriteString(before + "(" + boolText(e) + ")")
	}
	b.WriteString(sql)
	return b.String(), true
}

// insideNode puts what a subquery's columns are computed of in their place, for what PostgreSQL takes the condition to cost.
func (m *merged) insideNode(n *pg.Node, names []string) (*pg.Node, bool) {
	n, ok := proto.CloneOf(n), true
	syntax.Walk(n, func(part *pg.Node) bool {
		ref := part.GetColumnRef()
		if ref == nil {
			return true
		}
		i := -1
		if len(ref.Fields) > 0 {
			i = slices.Index(names, ref.Fields[len(ref.Fields)-1].GetString_().GetSval())
		}
		if i < 0 || i != len(names)-1 && slices.Contains(names[i+1:], names[i]) {
			ok = false
			return false
		}
		t := m.targets[i]
		if c := m.q.stars[t.node.GetColumnRef()]; c != nil {
			part.Node = pg.MakeColumnRefNode([]*pg.Node{pg.MakeStrNode(c.name)}, 0).Node
		} else if t.node != nil {
			part.Node = t.node.Node
		}
		return false
	})
	return n, ok
}
