package translate

import (
	"slices"
	"strings"
)

// asWhole marks the subqueries of a join tree that the engine must compute completely, and returns the conditions as the engine is to ask them.
// It marks a subquery that may fail if one of two kinds of conditions is on it: one that reads another subquery (x IN (SELECT …)), or one that cannot
// be asked before the subquery's windows are computed. PostgreSQL computes the subquery's rows before it asks these, and may raise an error. The engine
// would never meet that error: it asks such a condition below a GROUP BY, ends a scan early where the set is empty, and computes beside a window only
// the rows that are left. Other conditions need nothing: PostgreSQL moves them into the subquery as well.
func (n *tree) asWhole(conds []expr) []expr {
	out := slices.Clone(conds)
	n.walk(func(leaf *tree) {
		if !leaf.isLeaf() {
			return
		}
		leaf.askLater(conds, out, len(n.parts) > 1 && slices.Contains(n.parts, leaf))
		leaf.askTogether(conds, out)
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

// askLater has the engine ask the conditions on a subquery after the join, if only a CROSS JOIN ties the subquery to the other relations and a condition
// on one of those may fail. Asked before the join, the conditions might leave nothing of the subquery; the engine would then not read the other relation
// at all. PostgreSQL reads the other one first if it has more rows, and meets the error. A table that may be empty is left to PostgreSQL, if it is inner joined.
func (n *tree) askLater(conds, out []expr, inner bool) {
	mask := bit(n.id)
	joined := func(c expr) bool { return c.keys != nil && c.refs&mask != 0 }
	beside := slices.IndexFunc(conds, func(c expr) bool { return c.fails && c.refs&^mask != 0 && c.refs&mask == 0 })
	switch {
	case beside < 0 || slices.ContainsFunc(conds, joined):
		return
	case n.source != 0 && !inner: // an outer join's condition ties it
		return
	case n.source != 0:
		fail("condition that may fail beside a table that no equality joins") // which may be empty: the engine would ask the condition of no row
	}
	for i, c := range conds {
		if c.refs == mask {
			out[i].sql = askedWith(c.sql, conds[beside].sql)
			out[i].refs |= conds[beside].refs
		}
	}
}

// hasSubplan reports whether a condition reads a subquery that is not just a value, known before the rows are.
func (e expr) hasSubplan() bool { return strings.Contains(withoutScalars(e.sql), subselect) }

// withoutScalars is an expression without the subqueries in it that are just values.
func withoutScalars(sql string) string {
	for {
		start := strings.LastIndex(sql, scalar)
		if start < 0 {
			return sql
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

// failsApart lists what a subquery yields that may fail, is read, and is computed by itself in PostgreSQL.
func (n *tree) failsApart() []string {
	if n.apart == nil {
		return nil
	}
	return n.apart()
}

// yieldsApart reports whether the query yields a value that may fail and that PostgreSQL computes in the query itself, apart from the one around.
// Averages do not count: what they are computed of is computed in any case.
func (r *rows) yieldsApart() bool {
	for i, c := range r.columns {
		if r.apart && c.e.fails && r.averages[i] == nil {
			return true
		}
	}
	return false
}

// isApart reports whether a subquery in the join tree yields values that fail apart.
func (n *tree) isApart() bool {
	found := false
	n.walk(func(leaf *tree) { found = found || len(leaf.failsApart()) > 0 })
	return found
}

// keepApart has the engine compute the values of a subquery that fail apart, also for rows for which the reader of a value, in rest or in a condition
// of the join, may do without it: CASE WHEN b THEN q.v END reads q.v for some rows only.
//
// It has all rows of such a subquery computed if a condition on another relation could remove some. The engine copies a condition to every column that
// equalities tie to the one it names; PostgreSQL copies only a comparison for equality with a constant. A query around may bring such conditions, too.
func (n *tree) keepApart(where []expr, rest string) {
	if !n.isApart() {
		return
	}
	conds, equated := slices.Clone(where), ""
	n.walk(func(part *tree) { conds = append(conds, part.conds...) })
	for _, c := range conds {
		if c.keys != nil {
			equated += c.sql + " "
		}
	}
	passesOn := func(c expr) bool {
		return c.keys == nil && !c.fixes && c.refs != 0 && !slices.ContainsFunc(references(c.sql), func(r reference) bool { return !mentions(equated, r.sql()) })
	}
	n.walk(func(leaf *tree) {
		if len(leaf.failsApart()) == 0 {
			return
		}
		mask := bit(leaf.id)
		leaf.whole = leaf.whole || n.inside && strings.Contains(equated, leafName(leaf.id)+".") ||
			slices.ContainsFunc(conds, func(c expr) bool { return c.refs&mask == 0 && passesOn(c) })
		leaf.probes = leaf.probes || decidesByRow(rest) ||
			slices.ContainsFunc(conds, func(c expr) bool { return c.refs&mask != 0 && c.refs&^mask != 0 && decidesByRow(c.sql) })
	})
}

// decidesByRow reports whether SQL may compute a part of it for some rows only.
func decidesByRow(sql string) bool {
	sql = strings.ToLower(sql)
	return slices.ContainsFunc([]string{"if(", "coalesce(", "ifnull(", "and(", "or(", " and ", " or "}, func(s string) bool { return strings.Contains(sql, s) })
}

// computing is a subquery of which the engine computes what is listed for all rows, or for those that are left, as whole and probes say.
func (n *tree) computing(r *rows, list []string) string {
	if n.whole {
		return "(" + r.computing(strings.Join(list, ", ")) + ")"
	}
	if !n.probes {
		return "(" + r.sql + ")"
	}
	return "(SELECT * FROM (" + r.sql + ") WHERE NOT ignore(" + strings.Join(list, ", ") + "))"
}

func (n *tree) mayFail() bool { return n.fails != nil && n.fails() || len(n.failsApart()) > 0 }

// relation is a subquery of some text; nothing is passed through a LIMIT.
func (n *tree) relation(sql string) string {
	if n.whole {
		return "(SELECT * FROM (" + sql + ")" + limitAll + ")"
	}
	return "(" + sql + ")"
}
