package translate

import (
	"fmt"
	"slices"
	"strings"
)

// ordering is a comparison that holds where a condition does: low < high if it is strict, low <= high otherwise.
type ordering struct {
	low, high expr
	strict    bool
}

// orderingOf is the comparison by an operator other than for equality.
func orderingOf(op string, l, r expr) ordering {
	if op[0] == '>' {
		l, r = r, l
	}
	return ordering{l, r, len(op) == 1}
}

// span says that a join's conditions hold a point of one side between two values of each row of a relation on the other, as they do where
// rows are counted by days or price bands.
type span struct {
	leaf      *tree
	low, high ordering
}

// findSpan finds a span in the conditions of a join.
func findSpan(a, b *tree, conds []expr) (span, bool) {
	var orders []ordering
	for _, c := range conds {
		orders = append(orders, c.orders...)
	}
	for _, low := range orders {
		point, bound := low.high, low.low
		leaf := leafAcross(a, b, bound.refs, point.refs)
		if leaf == nil || !isSteady(point.oid) {
			continue
		}
		for _, high := range orders {
			if high.low.sql == point.sql && high.low.oid == point.oid && high.high.refs == bound.refs && high.high.oid == bound.oid {
				return span{leaf, low, high}, true
			}
		}
	}
	return span{}, false
}

// leafAcross is the relation on one side of a join that is all that a bound reads, if its rows can be read twice and the point is the other side's.
func leafAcross(a, b *tree, bound, point uint64) *tree {
	var found *tree
	for _, sides := range [][2]*tree{{a, b}, {b, a}} {
		if point == 0 || point&^sides[1].mask() != 0 {
			continue
		}
		sides[0].walk(func(n *tree) {
			if n.isLeaf() && (n.source != 0 || n.repeats) && bound == bit(n.id) {
				found = n
			}
		})
	}
	return found
}

// isSteady reports whether values of a type are numbers to the engine that can be rounded down to one of several.
func isSteady(oid uint32) bool {
	return isInteger(oid) || isMoment(oid) || oid == oidTime || oid == oidNumeric
}

// values are the span's bounds and its point as numbers of one type. closed says that the point may be the upper bound.
func (s span) values() (low, high, point string, closed bool) {
	bounds := []expr{s.low.low, s.high.high, s.low.high}
	texts := make([]string, len(bounds))
	complement := "bitNot"
	if s.low.high.oid == oidNumeric {
		complement = "negate"
	}
	for i, e := range bounds {
		if e.oid == oidNumeric {
			texts[i] = e.scaled(widest(bounds))
		} else {
			texts[i] = "toInt64(" + e.sql + ")"
		}
	}
	if s.low.strict && !s.high.strict { // reversed, for what is rounded down to may be the point itself
		for i, text := range texts {
			texts[i] = complement + "(" + text + ")"
		}
		return texts[1], texts[0], texts[2], false
	}
	return texts[0], texts[1], texts[2], !s.high.strict
}

// mostStarts bounds the values that points are rounded down to. Any of them would do, but for speed.
const mostStarts = 65_536

// key is an equality that follows from a span's conditions. Intervals that overlap make a longer one, and those that are left after that are
// apart: the point and its interval are rounded down to the same start of one. NULLs, and intervals that hold nothing, meet no condition anyway.
func (s span) key() expr {
	low, high, point, closed := s.values()
	apart, some := "l >= m", " < "
	if closed {
		apart, some = "l > m", " <= "
	}
	starts := selecting(fmt.Sprintf("emptyArrayToSingle(arraySort(groupArray(%d)(l))) FROM (SELECT l, max(h) OVER (ORDER BY l, h ROWS BETWEEN UNBOUNDED PRECEDING"+
		" AND 1 PRECEDING) AS m FROM (SELECT assumeNotNull(%s) AS l, toNullable(%s) AS h FROM %s AS %s WHERE %[2]s%[6]s%[3]s)) WHERE isNull(m) OR %[7]s)",
		mostStarts, low, high, s.leaf.text(), leafName(s.leaf.id), some, apart))
	rounded := func(text string) string { return "roundDown(" + text + ", " + starts + ")" }
	return with(oidBool, rounded(point)+" = "+rounded(low), s.low.low, s.high.high, s.low.high)
}

// isConstant reports whether the intervals are those of a relation that reads no table.
func (s span) isConstant() bool { return !strings.Contains(s.leaf.text(), marker+"[") }

// spanKey finds an equality that joins two relations which the conditions join by a range; nil: there is none. The engine compares fewer rows by
// it, and so would meet fewer of those for which a condition fails.
func (t *translator) spanKey(a, b *tree, conds []expr) []expr {
	both := func(c expr) bool { return c.refs&a.mask() != 0 && c.refs&b.mask() != 0 }
	s, ok := findSpan(a, b, conds)
	if !ok || slices.ContainsFunc(conds, func(c expr) bool { return c.fails && both(c) }) {
		return nil
	}
	t.unequal = t.unequal || !s.isConstant()
	return []expr{s.key()}
}

// looseKey is an equality for an outer join that has none of its own: the engine wants one.
func (t *translator) looseKey(n *tree) []expr {
	if n.kind == "FULL" {
		fail("FULL JOIN without an equality between its sides") // PostgreSQL refuses most of them
	}
	if slices.ContainsFunc(n.conds, func(c expr) bool { return c.fails }) {
		fail("outer join without an equality between its sides, on a condition that may fail")
	}
	if key := t.spanKey(n.left, n.right, n.conds); key != nil {
		return key
	}
	left, right := n.left.columnIn(n.conds), n.right.columnIn(n.conds)
	if left == "" || right == "" {
		fail("outer join on a condition of this form, without an equality between its sides")
	}
	t.unequal = true
	return []expr{{sql: "ignore(" + left + ") = ignore(" + right + ")", oid: oidBool, pad: -1, refs: n.mask()}}
}

// columnIn is a column of a join tree that conditions read; empty: none.
func (n *tree) columnIn(conds []expr) string {
	for _, r := range references(all(conds)) {
		if n.mask()&bit(r.leaf) != 0 {
			return r.sql()
		}
	}
	return ""
}
