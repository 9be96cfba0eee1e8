package translate

import (
	"slices"
	"strings"
)

// asWhole has the engine compute all rows of the subqueries in a join tree that may fail, where a condition on them searches what a subquery
// selects, or one cannot be asked before windows are computed. The engine would ask such a condition below a GROUP BY, end a scan whose rows cannot be
// found in an empty set, and compute beside a window only what is left: what PostgreSQL computes first, and refuses, would never be computed. Other
// conditions PostgreSQL passes down itself.
func (n *tree) asWhole(conds []expr) []expr {
	out := slices.Clone(conds)
	n.walk(func(leaf *tree) {
		leaf.askLater(conds, out)
		if !leaf.mayFail() {
			return
		}
		for i, c := range conds {
			switch {
			case c.refs&bit(leaf.id) == 0:
			case c.hasSubplan():
				leaf.whole, out[i].sql = true, hide+out[i].sql+hideEnd
			case leaf.stays != nil && leaf.stays(c.sql):
				leaf.whole = true
			}
		}
	})
	return out
}

// askLater has conditions on a subquery that nothing but CROSS JOIN ties to others asked once it is joined, where what is asked of one of these may
// fail: the engine reads none of that one where the conditions leave nothing of the subquery, while PostgreSQL reads it first if it has more rows.
func (n *tree) askLater(conds, out []expr) {
	mask := bit(n.id)
	joined := func(c expr) bool { return c.keys != nil && c.refs&mask != 0 }
	beside := slices.IndexFunc(conds, func(c expr) bool { return c.fails && c.refs&^mask != 0 && c.refs&mask == 0 })
	if n.source != 0 || beside < 0 || slices.ContainsFunc(conds, joined) {
		return
	}
	for i, c := range conds {
		if c.refs == mask {
			out[i].sql = "identity(" + c.sql + " AND NOT ignore(" + conds[beside].sql + "))"
			out[i].refs |= conds[beside].refs
		}
	}
}

// hasSubplan reports whether a condition reads a subquery that is not just a value, known before the rows are.
func (e expr) hasSubplan() bool {
	sql := e.sql
	for {
		start := strings.LastIndex(sql, scalar)
		if start < 0 {
			return strings.Contains(sql, subselect)
		}
		_, after, _ := strings.Cut(sql[start:], scalarEnd)
		sql = sql[:start] + after
	}
}

// failing reports whether a subquery in a join tree may fail as a whole.
func (n *tree) failing() bool {
	found := false
	n.walk(func(leaf *tree) { found = found || leaf.mayFail() })
	return found
}

// windowed reports whether there is a subquery in a join tree with windows and values that may fail.
func (n *tree) windowed() bool {
	found := false
	n.walk(func(leaf *tree) { found = found || leaf.stays != nil })
	return found
}

func (n *tree) mayFail() bool { return n.fails != nil && n.fails() }

// relation is a subquery of some text; nothing is passed through a LIMIT.
func (n *tree) relation(sql string) string {
	if n.whole {
		return "(SELECT * FROM (" + sql + ")" + limitAll + ")"
	}
	return "(" + sql + ")"
}
