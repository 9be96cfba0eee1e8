package translate

import (
	"slices"
	"strings"
)

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
	joined, done := &tree{parts: []*tree{root}}, root.mask()
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
		if len(on) == 0 {
			on = t.spanKey(joined, part, rest)
		}
		if len(todo) == 0 && !where && len(on) > 0 {
			refuseConstants(rest)
			on, rest = append(on, rest...), nil
		}
		if len(on) == 0 {
			t.unequal = t.unequal || slices.ContainsFunc(rest, func(c expr) bool { return c.refs&mask != 0 && c.refs&done != 0 })
			b.WriteString(" CROSS JOIN ")
			t.joinText(b, part)
		} else {
			b.WriteString(" INNER JOIN ")
			t.joinText(b, part)
			b.WriteString(onText(on))
		}
		joined.parts, done = append(joined.parts, part), done|mask
	}
	if len(rest) > 0 && !where {
		fail("condition under an outer join that joins nothing")
	}
	return rest
}

// isLessThan reports whether conditions are expected to leave clearly fewer rows of a table than of another. It is the better one then to fill
// the join's hash table, which is made of the one that is written later. What a condition leaves is guessed: where it might be all, half as
// many would be a bad bargain.
func (n *tree) isLessThan(other *tree, conds []expr) bool {
	left := func(p *tree) float64 { return float64(p.rows) * p.share(conds) }
	return n.source != 0 && other.source != 0 && n.isLeaf() && other.isLeaf() && 2*left(n) < left(other)
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
