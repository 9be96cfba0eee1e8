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

// failsApart lists what a subquery yields that may fail, is read, and is computed by itself in PostgreSQL.
func (n *tree) failsApart() []string {
	if n.apart == nil {
		return nil
	}
	return n.apart()
}

// yieldsApart reports whether PostgreSQL computes by itself what a query yields that may fail. What an average is computed of it computes in any case.
func (r *rows) yieldsApart() bool {
	for i, c := range r.columns {
		if r.apart && c.e.fails && r.averages[i] == nil {
			return true
		}
	}
	return false
}

// isApart reports whether there is a subquery in a join tree of which that is so.
func (n *tree) isApart() bool {
	found := false
	n.walk(func(leaf *tree) { found = found || len(leaf.failsApart()) > 0 })
	return found
}

// keepApart has the engine compute what a subquery in a join tree yields that fails apart, where what reads it, in rest or a condition of the join, may
// do without for some rows. All rows are computed where a condition on what others equate could tell of them, or one of a query around: the engine asks
// it of all that is equated, PostgreSQL of constants alone.
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
