package translate

import "strings"

// arms joins what hangs off the same neighbour of the root before it meets the root, so that the root's rows, which are
// many, are looked up once for each arm instead of once for each table, and only in what the arm's own conditions leave. It
// returns the parts to join with the root and the conditions that are left for that. Inner joins may be
// taken in any order.
func arms(root *tree, parts []*tree, conds []expr) ([]*tree, []expr) {
	parents := hangOff(root, parts, conds)
	var out []*tree
	for _, p := range parts {
		if parents[p] != nil && parents[p] != root {
			continue // it comes with its arm, or after it
		}
		members := []*tree{p}
		for _, m := range parts {
			if m != p && parents[m] != nil && headOf(m, root, parents) == p {
				members = append(members, m)
			}
		}
		arm, rest := newArm(members, conds)
		if len(members) > 1 && float64(arm.rows) <= root.expected(conds) {
			out, conds = append(out, arm), rest
		} else {
			out = append(out, members...)
		}
	}
	return out, conds
}

// headOf returns the neighbour of the root through which a part hangs off it, or what it hangs off otherwise.
func headOf(p, root *tree, parents map[*tree]*tree) *tree {
	for parents[p] != root && parents[p] != nil {
		p = parents[p]
	}
	return p
}

// newArm joins parts, the first of which binds the keys of the others, by the conditions that read nothing else. The
// other conditions are returned.
func newArm(parts []*tree, conds []expr) (*tree, []expr) {
	head := parts[0]
	arm := &tree{parts: parts, source: head.source, key: head.key, rows: head.rows}
	var rest []expr
	arm.conds, rest = within(arm.mask(), conds)
	for _, c := range arm.conds {
		if c.keys == nil && !c.lenient {
			arm.rows /= 4
		}
	}
	arm.kept = 1
	for _, p := range parts {
		arm.kept *= p.share(arm.conds)
	}
	arm.wrapped = func(t *translator) string {
		var list []string
		for _, p := range parts {
			list = append(list, t.exports(p)...)
		}
		return "(" + t.selectFrom(parts, arm.conds, list) + ")"
	}
	return arm, rest
}

// within splits conditions into those that read some of a set of relations and nothing else, and the others.
func within(mask uint64, conds []expr) (in, out []expr) {
	for _, c := range conds {
		if c.refs != 0 && c.refs&^mask == 0 {
			in = append(in, c)
		} else {
			out = append(out, c)
		}
	}
	return in, out
}

// selectFrom writes a SELECT over parts that are joined from the first one on.
func (t *translator) selectFrom(parts []*tree, conds []expr, list []string) string {
	var b strings.Builder
	b.WriteString("SELECT " + strings.Join(list, ", ") + " FROM ")
	if filters := t.chain(&b, parts[0], parts[1:], conds, true); len(filters) > 0 {
		b.WriteString(whereText(filters))
	}
	return b.String()
}

// hangOff finds for each part the one, nearest to the root, whose columns bind the part's whole key: then one row of it
// at most matches each row there. Where the root binds it by nothing, that is the largest part. Parts that hang off nothing are missing.
func hangOff(root *tree, parts []*tree, conds []expr) map[*tree]*tree {
	parents, heads := map[*tree]*tree{}, map[*tree]bool{}
	isLoose := func(p *tree) bool { return !heads[p] && parents[p] == nil }
	for head := root; head != nil; head = largestTable(parts, isLoose) {
		heads[head] = true
		for queue := []*tree{head}; len(queue) > 0; queue = queue[1:] {
			for _, p := range parts {
				if isLoose(p) && p.isBoundBy(queue[0], conds) {
					parents[p] = queue[0]
					queue = append(queue, p)
				}
			}
		}
	}
	return parents
}

// largestTable returns the table of the most rows among some parts; nil: there is none.
func largestTable(parts []*tree, among func(*tree) bool) *tree {
	var largest *tree
	for _, p := range parts {
		if p.isLeaf() && p.source != 0 && among(p) && (largest == nil || p.rows > largest.rows) {
			largest = p
		}
	}
	return largest
}

// isBoundBy reports whether all of a table's key is equated with values of another part.
func (n *tree) isBoundBy(other *tree, conds []expr) bool {
	if !n.isLeaf() {
		return false
	}
	bound := map[columnID]bool{}
	mask, otherMask := n.mask(), other.mask()
	for _, c := range conds {
		if c.keys != nil && c.keys.joins(mask, otherMask) {
			bound[c.keys.leftColumn], bound[c.keys.rightColumn] = true, true
		}
	}
	return n.isKeyBound(bound, conds)
}

// exports lists the columns that are read of a table.
func (t *translator) exports(leaf *tree) []string {
	src := t.sources[leaf.source-1]
	var list []string
	for _, i := range src.relation().Columns {
		list = append(list, reference{leaf.id, ident(src.table.Columns[i].Name)}.export())
	}
	for i := range leaf.computed {
		list = append(list, reference{leaf.id, computedColumn(leaf.id, i)}.export())
	}
	return list
}
