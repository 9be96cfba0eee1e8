package translate

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

func (q *query) join(j *pg.JoinExpr) (*tree, namespace) {
	left, leftNames := q.fromItem(j.Larg)
	right, rightNames, ties := q.fromItemAfter(j.Rarg, leftNames)
	if j.Jointype != pg.JoinType_JOIN_INNER && !right.isLeaf() {
		right = q.wrap(right, rightNames, nil)
	}
	var kind string
	switch j.Jointype {
	case pg.JoinType_JOIN_INNER:
		if left.hasOuter() && right.hasOuter() {
			right = q.wrap(right, rightNames, nil)
		}
	case pg.JoinType_JOIN_LEFT:
		kind = "LEFT"
	case pg.JoinType_JOIN_RIGHT:
		kind = "RIGHT"
	case pg.JoinType_JOIN_FULL:
		kind = "FULL"
	default:
		fail("join of this type")
	}
	conds, merged := q.joinConditions(j, leftNames, rightNames, kind)
	if len(ties) > 0 { // ON true
		conds = append(slices.DeleteFunc(conds, func(c expr) bool { return c.lit != nil && c.lit.boolean != nil && *c.lit.boolean }), ties...)
	}
	// NULL extension comes after the condition, which sees the sides as they are.
	if kind == "RIGHT" || kind == "FULL" {
		leftNames.makeNullable()
	}
	if kind == "LEFT" || kind == "FULL" {
		rightNames.makeNullable()
	}
	ns := mergeNames(leftNames, rightNames, merged, kind)
	if j.Alias != nil {
		it := &item{columns: ns.visible}
		rename(it, j.Alias)
		ns = namespace{[]*item{it}, it.columns}
	}
	if kind == "" {
		return innerJoin(left, right, conds), ns
	}
	return &tree{kind: kind, left: left, right: right, conds: conds}, ns
}

// hasOuter reports whether an outer join is part of the tree. The engine's joins lean
// left, so that an inner join can have one such part only.
func (n *tree) hasOuter() bool {
	return n.kind != "" || slices.ContainsFunc(n.parts, (*tree).hasOuter)
}

func innerJoin(left, right *tree, conds []expr) *tree {
	out := &tree{conds: conds}
	for _, side := range []*tree{left, right} {
		if side.parts != nil {
			out.parts = append(out.parts, side.parts...)
			out.conds = append(out.conds, side.conds...)
		} else {
			out.parts = append(out.parts, side)
		}
	}
	return out
}

func (n namespace) makeNullable() {
	for _, c := range n.visible {
		c.e.null = true
		c.e.lit = nil
	}
	for _, it := range n.items {
		for _, c := range it.columns {
			c.e.null = true
			c.e.lit = nil
		}
	}
}

// mergedColumn is a column of USING or NATURAL.
type mergedColumn struct {
	name        string
	left, right *column
}

func (q *query) joinConditions(j *pg.JoinExpr, left, right namespace, kind string) ([]expr, []mergedColumn) {
	names := stringsOf(j.UsingClause)
	if j.IsNatural {
		for _, l := range left.visible {
			if slices.ContainsFunc(right.visible, func(r *column) bool { return r.name == l.name }) {
				names = append(names, l.name)
			}
		}
	}
	if j.JoinUsingAlias != nil {
		fail("alias of a USING clause")
	}
	// The condition sees the joined items only, and no subquery may add joins to it.
	both := left.and(right)
	inner := &query{t: q.t, scope: &scope{items: both.items, visible: both.visible}, ctes: q.ctes, parent: q.parent, noJoins: true}
	inner.scope.owner = inner
	var conds []expr
	var merged []mergedColumn
	for _, name := range names {
		l := (&scope{visible: left.visible}).resolve([]string{name})
		r := (&scope{visible: right.visible}).resolve([]string{name})
		if l == nil || r == nil {
			fail("unknown column in USING")
		}
		merged = append(merged, mergedColumn{name, l, r})
		conds = append(conds, inner.compare("=", l.use(), r.use()))
	}
	for _, c := range conjuncts(j.Quals) {
		conds = append(conds, inner.cond(c))
	}
	return conds, merged
}

// mergeNames lists the columns of a join: those of USING first, once.
func mergeNames(left, right namespace, merged []mergedColumn, kind string) namespace {
	ns := namespace{items: append(left.items[:len(left.items):len(left.items)], right.items...)}
	hidden := map[*column]bool{}
	for _, m := range merged {
		hidden[m.left], hidden[m.right] = true, true
		ns.visible = append(ns.visible, m.column(kind))
	}
	for _, c := range append(left.visible[:len(left.visible):len(left.visible)], right.visible...) {
		if !hidden[c] {
			ns.visible = append(ns.visible, c)
		}
	}
	return ns
}

func (m mergedColumn) column(kind string) *column {
	if m.left.e.oid != m.right.e.oid || (kind == "FULL" && m.left.e.dec != m.right.e.dec) {
		fail("USING over columns of different types")
	}
	switch kind {
	case "RIGHT":
		return m.right
	case "FULL":
		e := with(m.left.e.oid, "coalesce("+m.left.e.sql+", "+m.right.e.sql+")", m.left.e, m.right.e)
		e.dec, e.null, e.opaque, e.enum = m.left.e.dec, true, m.left.e.opaque, m.left.e.enum
		if m.left.e.pad == m.right.e.pad {
			e.pad = m.left.e.pad
		}
		return &column{name: m.name, e: e, onUse: func() { m.left.use(); m.right.use() }}
	}
	return m.left
}

// extraJoin attaches what a subquery was turned into: LEFT, SEMI LEFT or ANTI LEFT JOIN.
type extraJoin struct {
	kind  string
	id    int
	text  func() string
	conds []expr
}

// fromText writes FROM and WHERE. Conditions that join the parts become ON clauses. rest is the other text of the
// SELECT: a part that it does not read may become a filter.
func (t *translator) fromText(from *tree, where []expr, extra []extraJoin, rest string) string {
	if !from.isLeaf() && from.kind == "" && len(from.parts) == 0 {
		if len(where)+len(extra) > 0 {
			fail("condition without FROM")
		}
		return ""
	}
	from.tell(func() string {
		readers := rest + all(where)
		for _, x := range extra {
			readers += all(x.conds)
		}
		return readers + from.conditions()
	})
	var b strings.Builder
	b.WriteString(" FROM ")
	filters := where
	if from.parts != nil {
		for _, x := range extra {
			rest += all(x.conds)
		}
		parts, conds := t.semiJoins(from.parts, append(append([]expr{}, from.conds...), where...), rest)
		filters = t.innerJoins(&b, parts, conds, true)
	} else {
		t.joinText(&b, from)
	}
	for _, x := range extra {
		b.WriteString(" " + x.kind + " JOIN " + x.text() + " AS " + leafName(x.id) + " ON " + all(x.conds))
	}
	if len(filters) > 0 {
		b.WriteString(whereText(filters))
	}
	return b.String()
}

func all(conds []expr) string {
	texts := make([]string, len(conds))
	for i, c := range conds {
		texts[i] = c.sql
		if len(conds) > 1 {
			texts[i] = "(" + c.sql + ")"
		}
	}
	return strings.Join(texts, " AND ")
}

func (t *translator) joinText(b *strings.Builder, n *tree) {
	switch {
	case n.wrapped != nil:
		b.WriteString(n.wrapped(t) + " AS " + n.parts[0].alias())
	case n.isLeaf():
		b.WriteString(n.text() + " AS " + leafName(n.id))
	case n.kind != "":
		t.outerJoin(b, n)
	default:
		t.innerJoins(b, n.parts, n.conds, false)
	}
}

// outerJoin writes a join with its condition. The engine wants an equality between the sides: where
// there is none, both sides get a constant to be equal by.
func (t *translator) outerJoin(b *strings.Builder, n *tree) {
	leftMask := n.left.mask()
	keyed := slices.ContainsFunc(n.conds, func(c expr) bool { return c.keys != nil && c.keys.joins(leftMask, n.right.mask()) })
	if !keyed {
		fail("outer join without an equality between its sides")
	}
	refuseConstants(n.conds)
	t.joinText(b, n.left)
	b.WriteString(" " + n.kind + " JOIN ")
	t.joinText(b, n.right)
	b.WriteString(" ON " + all(n.conds))
}

// refuseConstants fails for conditions of an outer join that are constant, or may become so in part: the engine takes a
// constant NULL for true there, also one that it arrives at by itself.
func refuseConstants(conds []expr) {
	if slices.ContainsFunc(conds, func(c expr) bool { return c.refs == 0 || strings.Contains(c.sql, "CAST(NULL,") }) {
		fail("outer join on a constant condition")
	}
}

// alias names the subquery of a wrapped join that begins with the table.
func (n *tree) alias() string { return leafName(n.id) + "j" }

func (n *tree) mask() uint64 {
	switch {
	case n.isLeaf():
		return 1 << n.id
	case n.kind != "":
		return n.left.mask() | n.right.mask()
	}
	var m uint64
	for _, p := range n.parts {
		m |= p.mask()
	}
	return m
}

// equality is a condition that equates a value of one set of relations with one of another.
type equality struct {
	left, right uint64
	// leftColumn and rightColumn are set where the side is a bare column of a table.
	leftColumn, rightColumn columnID
	// leftSide and rightSide are the operands as they are compared.
	leftSide, rightSide expr
}

// columnID names a column of an occurrence of a table; source counts from 1.
type columnID struct{ source, index int }

func (e *equality) joins(a, b uint64) bool {
	in := func(x, m uint64) bool { return x != 0 && x&^m == 0 }
	return in(e.left, a) && in(e.right, b) || in(e.left, b) && in(e.right, a)
}

// innerJoins writes the parts in an order in which each is joined by an equality to those before it, large
// ones first. It returns the conditions that are left for WHERE; where there is no WHERE to follow, they go
// to the last join.
func (t *translator) innerJoins(b *strings.Builder, parts []*tree, conds []expr, where bool) []expr {
	root := largest(parts)
	others := slices.DeleteFunc(slices.Clone(parts), func(p *tree) bool { return p == root })
	return t.chain(b, root, others, conds, where)
}

// largest returns the part to begin a join with: an outer join, which has to come first, or the one of the most rows.
func largest(parts []*tree) *tree {
	first := parts[0]
	for _, p := range parts[1:] {
		if p.kind != "" || first.kind == "" && p.rows > first.rows {
			first = p
		}
	}
	return first
}

// largeBuild is the number of rows from which a join's table is better made of the 256 small ones that the engine's parallel hash join
// fills, by one thread as by several.
const largeBuild = 500_000

// chain joins parts to the root one after the other.
func (t *translator) chain(b *strings.Builder, root *tree, parts []*tree, conds []expr, where bool) []expr {
	todo, rest := arms(root, parts, conds)
	next := pickNext(todo, rest, root.mask())
	if len(todo) > 0 && root.isLessThan(todo[next], rest) {
		root, todo[next] = todo[next], root
	}
	t.joinText(b, root)
	done := root.mask()
	rest = slices.Clone(rest)
	for ; len(todo) > 0; next = pickNext(todo, rest, done) {
		part := todo[next]
		todo = slices.Delete(todo, next, next+1)
		mask := part.mask()
		t.large = t.large || part.expected(conds) >= largeBuild
		var on []expr
		rest = slices.DeleteFunc(rest, func(c expr) bool {
			if c.keys != nil && c.keys.joins(done, mask) {
				on = append(on, c)
				return true
			}
			return false
		})
		if len(todo) == 0 && !where && len(on) > 0 {
			refuseConstants(rest)
			on, rest = append(on, rest...), nil
		}
		if len(on) == 0 {
			b.WriteString(" CROSS JOIN ")
			t.joinText(b, part)
		} else {
			b.WriteString(" INNER JOIN ")
			t.joinText(b, part)
			b.WriteString(" ON " + all(on))
		}
		done |= mask
	}
	if len(rest) > 0 && !where {
		fail("condition under an outer join that joins nothing")
	}
	return rest
}

// isLessThan reports whether conditions are expected to leave fewer rows of a table than of another. It is the better one then to fill
// the join's hash table, which is made of the one that is written later.
func (n *tree) isLessThan(other *tree, conds []expr) bool {
	left := func(p *tree) float64 { return float64(p.rows) * p.share(conds) }
	return n.source != 0 && other.source != 0 && n.isLeaf() && other.isLeaf() && left(n) < left(other)
}

// pickNext prefers a part of which at most one row matches, since all of its key is bound: first the one that is expected to
// drop the most rows, so that the joins after it have fewer; then one that an equality connects at all; and among equals the
// one that is expected to be small.
func pickNext(todo []*tree, conds []expr, done uint64) int {
	best, bestRank, bestShare, bestRows := 0, -1, 0.0, 0.0
	for i, p := range todo {
		rank := 0
		bound := map[columnID]bool{}
		mask := p.mask()
		for _, c := range conds {
			if c.keys == nil || !c.keys.joins(done, mask) {
				continue
			}
			rank = 1
			bound[c.keys.leftColumn], bound[c.keys.rightColumn] = true, true
		}
		if rank > 0 && p.isKeyBound(bound, conds) {
			rank = 2
		}
		rows, share := p.expected(conds), 1.0
		if rank == 2 {
			share = p.share(conds)
		}
		if rank > bestRank || rank == bestRank && (share < bestShare || share == bestShare && rows < bestRows) {
			best, bestRank, bestShare, bestRows = i, rank, share, rows
		}
	}
	return best
}

// isKeyBound reports whether a table's whole key is among the bound columns or compared with constants.
func (n *tree) isKeyBound(bound map[columnID]bool, conds []expr) bool {
	if n.source == 0 {
		return false
	}
	return !slices.ContainsFunc(n.key, func(k int) bool { return !bound[columnID{n.source, k}] })
}

// expected guesses the number of rows that a part's own conditions leave.
func (n *tree) expected(conds []expr) float64 {
	rows := float64(n.rows)
	mask := n.mask()
	for _, c := range conds {
		if c.keys == nil && c.refs == mask && !c.lenient {
			rows /= 4
		}
	}
	return rows
}
