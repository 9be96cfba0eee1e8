package translate

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// join translates a JOIN.
func (q *query) join(j *pg.JoinExpr) (*tree, namespace) {
	left, leftNames := q.fromItem(j.Larg)
	if f := unnestOf(j.Rarg); f != nil {
		return q.joinUnnest(j, f, left, leftNames)
	}
	right, rightNames, ties := q.fromItemAfter(j.Rarg, leftNames)
	left.askEach(right.asked)
	inner := j.Jointype == pg.JoinType_JOIN_INNER || j.Jointype == pg.JoinType_JOIN_LEFT && right.single && isTrue(j.Quals)
	if !inner && right.single && right.fills {
		fail("LEFT JOIN LATERAL of values by a condition")
	}
	if left.hasFilled() && (j.Jointype == pg.JoinType_JOIN_RIGHT || j.Jointype == pg.JoinType_JOIN_FULL) {
		left = q.wrap(left, leftNames, nil)
	}
	if !inner && !right.isLeaf() || inner && left.hasOuter() && right.hasOuter() {
		right = q.wrap(right, rightNames, nil)
	}
	kind := ""
	if !inner {
		kind = outerKind(j.Jointype)
	}
	conds, merged := q.joinConditions(j, leftNames, rightNames, kind)
	mirrored := kind == "RIGHT" && !isKeyed(left, right, conds) // the engine takes far longer for it than for its mirror image
	if mirrored && !left.isLeaf() {
		left = q.wrap(left, leftNames, nil)
		conds, merged = q.joinConditions(j, leftNames, rightNames, kind)
	}
	var filters []expr
	if ties.always {
		if filters = slices.Concat(conds, ties.having); kind == "LEFT" {
			rightNames.onlyIf(filters)
			filters = nil
		}
	}
	conds = append(conds, ties.conds...)
	// NULL extension comes after the condition, which sees the sides as they are.
	if kind == "RIGHT" || kind == "FULL" {
		leftNames.makeNullable()
	}
	if (kind == "LEFT" || kind == "FULL") && !ties.always {
		rightNames.makeNullable()
	}
	ns := mergeNames(leftNames, rightNames, merged, kind)
	if j.Alias != nil {
		it := &item{columns: ns.visible}
		rename(it, j.Alias)
		ns = namespace{[]*item{it}, it.columns}
	}
	q.t.outer = q.t.outer || kind != ""
	if ties.always {
		return joinAlways(left, right, ties, filters), ns
	}
	if kind == "" {
		return innerJoin(left, right, conds), ns
	}
	if mirrored {
		kind, left, right = "LEFT", right, left
	}
	return &tree{kind: kind, left: left, right: right, conds: conds}, ns
}

// outerKind is the engine's word for an outer join.
func outerKind(t pg.JoinType) string {
	switch t {
	case pg.JoinType_JOIN_LEFT:
		return "LEFT"
	case pg.JoinType_JOIN_RIGHT:
		return "RIGHT"
	case pg.JoinType_JOIN_FULL:
		return "FULL"
	default:
		fail("join of this type")
		return ""
	}
}

// hasOuter reports whether an outer join is part of the tree. The engine's joins lean
// left, so that an inner join can have one such part only.
func (n *tree) hasOuter() bool {
	return n.kind != "" || slices.ContainsFunc(n.parts, (*tree).hasOuter)
}

func innerJoin(left, right *tree, conds []expr) *tree {
	out := &tree{conds: conds, fills: left.fills || right.fills, brittle: left.brittle || right.brittle}
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
		it.whole = false
		for _, c := range it.columns {
			c.e.null = true
			c.e.lit = nil
		}
	}
}

// onlyIf makes all columns NULL where a condition does not hold.
func (n namespace) onlyIf(conds []expr) {
	if slices.ContainsFunc(conds, func(c expr) bool { return c.fails }) {
		fail("LATERAL with aggregates, joined by a condition that may fail")
	}
	for _, c := range n.visible {
		c.e = c.e.onlyIf(conds)
	}
}

// mergedColumn is a column of USING or NATURAL.
type mergedColumn struct {
	name        string
	left, right *column
}

func (q *query) joinConditions(j *pg.JoinExpr, left, right namespace, kind string) ([]expr, []mergedColumn) {
	names := syntax.Strings(j.UsingClause)
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
	for _, c := range syntax.Conjuncts(j.Quals) {
		if !isTrue(c) {
			e := inner.cond(c)
			e.node = c
			inner.noteAskedFirst(c, e)
			conds = append(conds, e)
		}
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

// column is what the joined columns become (PostgreSQL's buildMergedJoinVar).
func (m mergedColumn) column(kind string) *column {
	if l, r := m.left.e.oid, m.right.e.oid; l != r && isInteger(l) && isInteger(r) {
		return m.widest(kind)
	}
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

// widest merges columns of different integer types.
func (m mergedColumn) widest(kind string) *column {
	wide, narrow := m.left, m.right
	if integerDigits[narrow.e.oid] > integerDigits[wide.e.oid] {
		wide, narrow = narrow, wide
	}
	switch {
	case kind == "FULL":
		fail("USING over columns of different types")
	case kind == "LEFT" && narrow == m.left, kind == "RIGHT" && narrow == m.right: // whose NULLs the other side's are not
		return &column{name: m.name, e: widen(narrow.e, wide.e.oid), onUse: func() { narrow.use() }}
	}
	return wide
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
	where = from.takeConditions(where)
	from.tell(func() string {
		readers := rest + all(where)
		for _, x := range extra {
			readers += all(x.conds)
		}
		return readers + from.conditions()
	})
	asked := where
	if from.kind == "" {
		asked = append(slices.Clone(from.conds), where...)
	}
	from.probe(asked)
	from.keepApart(where, rest)
	var b strings.Builder
	b.WriteString(" FROM ")
	var filters []expr
	if from.parts != nil {
		for _, x := range extra {
			rest += all(x.conds)
		}
		parts, conds := t.semiJoins(from.parts, append(append([]expr{}, from.conds...), where...), rest)
		filters = t.innerJoins(&b, parts, conds, true)
	} else {
		filters = t.preserved(&b, from, from.asWhole(where))
	}
	for _, x := range extra {
		b.WriteString(" " + x.kind + " JOIN " + x.text() + " AS " + leafName(x.id) + onText(x.conds))
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

// preserved writes a join. What WHERE asks of the rows that LEFT JOIN keeps it may ask before as well as after: it takes part in
// the order of the joins that these rows come of. It returns the conditions that are left for WHERE.
func (t *translator) preserved(b *strings.Builder, n *tree, where []expr) []expr {
	switch {
	case n.parts != nil:
		return t.innerJoins(b, n.parts, append(slices.Clone(n.conds), where...), true)
	case n.kind != "LEFT":
		t.joinText(b, n)
		return where
	}
	own, others := within(n.left.mask(), where)
	own = t.preserved(b, n.left, own)
	t.joinRight(b, n)
	return append(own, others...)
}

// outerJoin writes a join with its condition.
func (t *translator) outerJoin(b *strings.Builder, n *tree) {
	t.joinText(b, n.left)
	t.joinRight(b, n)
}

// joinRight writes an outer join after its left side. The engine wants an equality between the sides.
func (t *translator) joinRight(b *strings.Builder, n *tree) {
	refuseConstants(n.conds)
	conds := n.right.asWhole(n.conds)
	if !isKeyed(n.left, n.right, n.conds) {
		conds = append(t.looseKey(n), conds...)
	}
	b.WriteString(" " + n.kind + " JOIN ")
	t.joinText(b, n.right)
	b.WriteString(onText(conds))
}

// isKeyed reports whether conditions equate something of two relations.
func isKeyed(a, b *tree, conds []expr) bool {
	return slices.ContainsFunc(conds, func(c expr) bool { return c.keys != nil && c.keys.joins(a.mask(), b.mask()) })
}

// onText writes the condition of an outer, semi or anti join. A subquery's value that is NULL the engine takes there for true, as it does with any constant.
func onText(conds []expr) string {
	return " ON " + writeScalars(all(conds), true)
}

// refuseConstants fails for conditions of an outer, semi or anti join that are constant, or may become so in part: the engine takes a
// constant NULL for true there, also one that it arrives at by itself.
func refuseConstants(conds []expr) {
	if slices.ContainsFunc(conds, func(c expr) bool { return c.refs == 0 || c.constantNull || strings.Contains(c.sql, nullCast) }) {
		fail("join on a constant condition")
	}
}

// alias names the subquery of a wrapped join that begins with the table.
func (n *tree) alias() string { return leafName(n.id) + "j" }

func (n *tree) mask() uint64 {
	switch {
	case n.isLeaf():
		return bit(n.id)
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
