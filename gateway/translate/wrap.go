package translate

import "fmt"

// export is a column that a wrapped join tree hands out.
type export struct {
	from  expr
	use   func()
	taken bool
}

// wrap turns a join tree into a leaf: a subquery that exports the columns that are used. The columns become
// references to it. Conditions that are given filter it.
func (q *query) wrap(inner *tree, ns namespace, where []expr) *tree {
	inner.walk(func(part *tree) {
		if part.brittle { // which PostgreSQL may compute for more rows, or for fewer
			fail("LATERAL of a value that may fail, in an outer join")
		}
	})
	id := q.t.newLeaf()
	var exports []*export
	seen := map[*column]bool{}
	all := append([]*column{}, ns.visible...)
	for _, it := range ns.items {
		all = append(all, it.columns...)
	}
	for _, c := range all {
		if seen[c] {
			continue
		}
		seen[c] = true
		x := &export{from: c.e, use: c.onUse}
		exports = append(exports, x)
		c.e = describe(c.e, fmt.Sprintf("c%d", len(exports))).of(leafName(id), bit(id))
		q.t.fold(c.e, q.t.foldedColumn(x.from))
		c.onUse = func() { x.taken = true }
	}
	leaf := &tree{id: id, fails: inner.failing}
	inner.walk(func(part *tree) {
		if part.apart != nil {
			leaf.apart = func() []string { return failingOf(exports) }
		}
	})
	if inner.windowed() {
		leaf.stays = func(string) bool { return true }
	}
	leaf.text = func() string {
		var list []string
		for i, x := range exports {
			if !x.taken {
				continue
			}
			if x.use != nil {
				x.use()
			}
			list = append(list, selectItem(x.from, fmt.Sprintf("c%d", i+1)))
		}
		inner.walk(func(part *tree) { part.whole = part.whole || len(part.failsApart()) > 0 }) // conditions on others in there may come from outside
		columns := selectList(list)
		return leaf.withComputed(leaf.relation("SELECT " + columns + q.t.fromText(inner, where, nil, columns)))
	}
	return leaf
}

// failingOf names the exports that are taken and may fail.
func failingOf(exports []*export) []string {
	var names []string
	for i, x := range exports {
		if x.taken && x.from.fails {
			names = append(names, fmt.Sprintf("c%d", i+1))
		}
	}
	return names
}
