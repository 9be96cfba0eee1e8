package translate

import (
	"slices"
	"strings"
)

// semiJoins turns parts that only filter into IN conditions on the part that they hang off, which can then filter as
// it is scanned. Such a part is a table of which nothing is read but its key, all of which is equated with
// values of one other part: a row of that part matches one row at most.
func (t *translator) semiJoins(parts []*tree, conds []expr, rest string) ([]*tree, []expr) {
	for {
		best, bestRows := -1, 0.0
		for i, p := range parts {
			if !p.isFilter(parts, conds, rest) {
				continue
			}
			if rows := p.expected(conds); best < 0 || rows < bestRows {
				best, bestRows = i, rows
			}
		}
		if best < 0 {
			conds = append(slices.Clone(conds), t.passedOn(parts, conds)...)
			return parts, (&tree{parts: parts}).asWhole(conds)
		}
		conds = t.asFilter(parts[best], conds)
		parts = slices.Delete(slices.Clone(parts), best, best+1)
	}
}

// isFilter reports whether a part can become a filter, and is worth it: it has conditions of its own.
func (n *tree) isFilter(parts []*tree, conds []expr, rest string) bool {
	if !n.isLeaf() || n.source == 0 || len(parts) < 2 || strings.Contains(rest, leafName(n.id)+".") {
		return false
	}
	mask := n.mask()
	filtered := false
	bound := map[columnID]bool{}
	parent := uint64(0)
	for _, c := range conds {
		switch {
		case c.refs&mask == 0:
		case c.refs == mask && c.keys == nil:
			filtered = true
		case c.keys == nil:
			return false
		default:
			own, other, ok := c.keys.from(mask)
			if !ok || !sameEngineType(own, other) || parent != 0 && parent != c.refs&^mask {
				return false
			}
			parent = c.refs &^ mask
			bound[c.keys.leftColumn], bound[c.keys.rightColumn] = true, true
		}
	}
	isPart := slices.ContainsFunc(parts, func(p *tree) bool { return p.mask() == parent })
	return filtered && isPart && n.isKeyBound(bound, conds)
}

// from tells the operands apart as seen from a set of relations.
func (e *equality) from(mask uint64) (own, other expr, ok bool) {
	switch mask {
	case e.left:
		return e.leftSide, e.rightSide, true
	case e.right:
		return e.rightSide, e.leftSide, true
	}
	return expr{}, expr{}, false
}

// sameEngineType reports whether a set of the one type can be searched for the other.
func sameEngineType(a, b expr) bool {
	if isString(a.oid) && isString(b.oid) {
		return true
	}
	return a.oid == b.oid && !isFloat(a.oid) && !a.opaque && !b.opaque &&
		a.dec.scale == b.dec.scale && a.dec.precision() == b.dec.precision()
}

// asFilter replaces a part's conditions by one on the part that it hangs off.
func (t *translator) asFilter(n *tree, conds []expr) []expr {
	mask := n.mask()
	var own, rest, others []expr
	var inner, outer []string
	for _, c := range conds {
		switch {
		case c.refs&mask == 0:
			rest = append(rest, c)
		case c.keys == nil:
			own = append(own, c)
		default:
			in, out, _ := c.keys.from(mask)
			inner, outer = append(inner, in.operand()), append(outer, out.operand())
			others = append(others, out)
		}
	}
	filter := with(oidBool, tupleOf(outer)+" IN "+n.set(inner, own), others...)
	filter.share = n.share(own)
	return append(rest, filter)
}

// tupleOf is what is searched in a set of as many columns.
func tupleOf(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return "(" + strings.Join(values, ", ") + ")"
}

// set is the subquery of some values of a part's rows that keep its own conditions.
func (n *tree) set(values []string, own []expr) string {
	return selecting(strings.Join(values, ", ") + " FROM " + n.text() + " AS " + leafName(n.id) + whereText(own) + ")")
}
