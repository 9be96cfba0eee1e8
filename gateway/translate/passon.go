package translate

import (
	"math/bits"
	"slices"
)

// smallness is how many times as many rows a table must have as another, for the keys that are left of that one to filter it.
const smallness = 16

// passedOn returns conditions that follow from others by way of equalities: where a = b and b is the key of a small table of which
// conditions leave few rows, a is one of their keys. It says nothing new, but it filters a's table before the joins that lead
// there. What is equated with the key itself is joined to the small table soon enough.
func (t *translator) passedOn(parts []*tree, conds []expr) []expr {
	var out []expr
	for _, p := range parts {
		if !p.isLeaf() || p.source == 0 || len(p.key) != 1 || p.share(conds) > inequalityShare {
			continue
		}
		own, _ := within(p.mask(), conds)
		for _, m := range t.meetsKey(p, conds) {
			larger := func(q *tree) bool {
				return q != p && q.isLeaf() && q.source != 0 && q.mask() == m.value.refs && p.rows > 0 && q.rows >= smallness*p.rows
			}
			if !slices.ContainsFunc(parts, larger) {
				continue
			}
			filter := with(oidBool, m.value.operand()+" IN "+p.set([]string{m.key.operand()}, own), m.value)
			filter.share = p.share(own)
			out = append(out, filter)
		}
	}
	return out
}

// meeting is a value that equals a table's key by way of others.
type meeting struct{ key, value expr }

// meetsKey finds the values of single tables that equal a table's key by way of others, but are not compared with it.
func (t *translator) meetsKey(n *tree, conds []expr) []meeting {
	key := reference{n.id, ident(t.sources[n.source-1].table.Columns[n.key[0]].Name)}.sql()
	direct := equals(key, conds)
	var out []meeting
	for _, middle := range direct {
		for _, m := range equals(middle.value.sql, conds) {
			known := m.value.sql == key || slices.ContainsFunc(direct, func(d meeting) bool { return d.value.sql == m.value.sql })
			if !known && bits.OnesCount64(m.value.refs) == 1 {
				out = append(out, meeting{middle.key, m.value})
			}
		}
	}
	return out
}

// equals lists what conditions say a value to equal, as values of the same engine type.
func equals(sql string, conds []expr) []meeting {
	var out []meeting
	for _, c := range conds {
		if c.keys == nil || !sameEngineType(c.keys.leftSide, c.keys.rightSide) {
			continue
		}
		switch sql {
		case c.keys.leftSide.sql:
			out = append(out, meeting{c.keys.leftSide, c.keys.rightSide})
		case c.keys.rightSide.sql:
			out = append(out, meeting{c.keys.rightSide, c.keys.leftSide})
		}
	}
	return out
}
