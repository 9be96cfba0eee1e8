package translate

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// merged is a subquery in FROM of which PostgreSQL asks conditions that stand around it among its own, in one order with them: it makes the subquery a part of
// the query around, or moves the conditions into it.
type merged struct {
	q       *query
	targets []target
	// write writes the subquery with other conditions.
	write func(where []expr)
	// passes says of a subquery with windows or DISTINCT ON that conditions on a column are moved into it; nil: those on any column are.
	passes func(column int) bool
	// taken are conditions of the query around that are asked in the subquery.
	taken []expr
	// arms are those of a set operation of these columns, which join writes anew; then nothing else is set.
	arms    []*rows
	columns []outColumn
	join    func()
}

// isMerged reports whether PostgreSQL moves conditions into a query from around.
func (q *query) isMerged(s *pg.SelectStmt) bool {
	return q.reader != readByClient && len(q.joins) == 0 && len(s.FromClause) > 0 && s.LimitCount == nil && s.LimitOffset == nil &&
		len(s.WindowClause) == 0 && !sortsByWindow(s) &&
		(q.group == nil || len(q.group.sets) == 0 && len(q.group.joins) == 0 && q.group.grouped)
}

// isMerged reports whether conditions may be moved into the rows.
func (r *rows) isMerged() bool { return r.merged != nil && !r.keysFail }

// takeConditions has the subqueries of a FROM clause ask what WHERE, or the ON of an outer join that may lack their rows, has on one of them alone, where a condition
// that may fail is among these or the subquery's own. It returns the conditions that are left.
func (n *tree) takeConditions(where []expr) []expr {
	n.walk(func(leaf *tree) {
		switch {
		case leaf.kind == "LEFT":
			leaf.conds = leaf.right.take(leaf.conds, nil)
		case leaf.kind == "RIGHT":
			leaf.conds = leaf.left.take(leaf.conds, nil)
		case leaf.merged == nil || n.keeping(bit(leaf.id)) != leaf:
		default:
			if n.kind == "" {
				n.conds = leaf.take(n.conds, where)
			}
			where = leaf.take(where, n.conds)
		}
	})
	return where
}

// take moves conditions on a leaf into its subquery, if it matters which of those, and of others, are asked first.
func (n *tree) take(conds, others []expr) []expr {
	if n.merged == nil {
		return conds
	}
	own, left := within(bit(n.id), conds)
	number, fails := n.merged.conditions()
	for _, c := range append(slices.Clone(own), others...) {
		if c.refs == bit(n.id) {
			number, fails = number+1, fails || c.fails
		}
	}
	if !fails || number < 2 {
		return conds
	}
	for _, c := range own {
		if !n.merged.takes(c, n) {
			left = append(left, c)
		}
	}
	return left
}

// takes has a condition on a leaf asked in the leaf's subquery. False: it is to be asked outside as well, since not all of the subquery can ask it.
func (m *merged) takes(c expr, leaf *tree) bool {
	if m.arms != nil {
		if !m.agree(c) {
			return false
		}
		all := true
		for _, arm := range m.arms {
			all = arm.isMerged() && arm.merged.takes(c, leaf) && all
		}
		m.join()
		return all
	}
	c, ok := m.inside(c, leaf)
	if !ok {
		return false
	}
	where := &m.taken
	if g := m.q.group; g != nil {
		if below, ok := g.below(c); ok {
			c, where = below, &g.where
		}
	}
	if !slices.ContainsFunc(*where, func(o expr) bool { return o.sql == c.sql }) {
		*where = append(*where, c)
	}
	m.write(slices.Concat(m.q.where, m.taken))
	return true
}

// agree reports whether all arms have what a condition reads in the type that the set operation has it in: PostgreSQL moves no condition on other columns.
func (m *merged) agree(c expr) bool {
	other := false
	for _, r := range references(c.sql) {
		i, ok := columnIndex(r.column, len(m.columns))
		if !ok {
			return false
		}
		for _, arm := range m.arms {
			own, all := arm.columns[i].e, m.columns[i].e
			if own.oid != all.oid {
				return false
			}
			other = other || own.engineType() != all.engineType()
		}
	}
	if other {
		fail("condition on a set operation of numerics of different scales, among conditions that may fail")
	}
	return true
}

// below is a condition on groups as it reads before rows are grouped; false: it reads an aggregate.
func (g *group) below(c expr) (expr, bool) {
	sql, ok := substituted(c.sql, g.id, func(column string) (string, bool) {
		i, err := strconv.Atoi(column[1:])
		switch {
		case err != nil || i < 1:
		case column[0] == 'k' && i <= len(g.keys):
			return g.keys[i-1].sql, true
		case column[0] == 'a' && i <= len(g.aggs) && g.aggs[i-1].determined:
			return g.aggs[i-1].args, true
		}
		return "", false
	})
	c.sql, c.refs = sql, relations(sql)
	return c, ok
}

// conditions counts the conditions of a subquery and those merged into it, and says whether one of them may fail.
func (m *merged) conditions() (number int, fails bool) {
	count := func(conds []expr) {
		number += len(conds)
		fails = fails || slices.ContainsFunc(conds, func(c expr) bool { return c.fails })
	}
	below := func(inner *merged) {
		more, failing := inner.conditions()
		number, fails = number+more, fails || failing
	}
	for _, arm := range m.arms {
		if arm.merged != nil {
			below(arm.merged)
		}
	}
	if m.q == nil {
		return number, fails
	}
	from := m.q.from
	if g := m.q.group; g != nil {
		count(g.where)
		from = g.from
	}
	count(m.q.where)
	from.walk(func(n *tree) {
		count(n.conds)
		if n.merged != nil {
			below(n.merged)
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

// columnIndex is the index of a subquery's output column by the name that the engine knows it by; false: the name is of what stands beside one.
func columnIndex(name string, columns int) (int, bool) {
	i, err := strconv.Atoi(strings.TrimPrefix(name, "c"))
	return i - 1, err == nil && i >= 1 && i <= columns
}

// insideText puts the values that a leaf's columns are in their place; false: it reads something else, too.
func (m *merged) insideText(sql string, leaf int) (string, bool) {
	return substituted(sql, leaf, func(column string) (string, bool) {
		i, ok := columnIndex(column, len(m.targets))
		if !ok || m.passes != nil && !m.passes(i) {
			return "", false // what stands beside a column, or is asked once the windows are computed
		}
		e := m.targets[i].e
		return boolText(e), e.lit == nil
	})
}

// substituted puts texts in the place of a leaf's columns; false: there is none for one of them, or the text reads something else, too.
func substituted(sql string, leaf int, text func(column string) (string, bool)) (string, bool) {
	var b strings.Builder
	for _, r := range references(sql) {
		before, after, _ := strings.Cut(sql, r.sql())
		sql = after
		if r.leaf != leaf {
			return "", false
		}
		value, ok := text(r.column)
		if !ok {
			return "", false
		}
		b.WriteString(before + "(" + value + ")")
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
