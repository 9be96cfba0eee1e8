package translate

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

func (q *query) caseExpr(c *pg.CaseExpr) expr {
	var conds []expr
	var results []expr
	for _, n := range c.Args {
		w := n.GetCaseWhen()
		if c.Arg == nil {
			cond := q.cond(w.Expr)
			if cond.costly {
				cond = q.atLeaf(cond)
			}
			conds = append(conds, cond)
		} else {
			// PostgreSQL makes a text of an untyped operand before it looks at what it is compared with.
			conds = append(conds, q.compare("=", resolveUnknown(q.value(c.Arg)), q.value(w.Expr)))
		}
		results = append(results, q.value(w.Result))
	}
	otherwise := nullOf(oidUnknown)
	if c.Defresult != nil {
		otherwise = q.value(c.Defresult)
	}
	// PostgreSQL looks at the ELSE branch first when it chooses the type.
	unified := q.unify(append([]expr{otherwise}, results...))
	otherwise, results = unified[0], unified[1:]
	whens := make([]string, len(conds))
	for i, cond := range conds {
		whens[i] = left(boolText(cond), whens[:i])
	}
	hidden := isDecidedBefore(conds, unified)
	build := func(part func(expr) string) string {
		var b strings.Builder
		b.WriteString("multiIf(")
		for i, when := range whens {
			b.WriteString(when + ", " + taken(part(results[i]), whens[:i], when) + ", ")
		}
		last := left(part(otherwise), whens)
		if hidden {
			last = hide + last + hideEnd
		}
		return b.String() + last + ")"
	}
	e := chosenBlanks(q.choice(build, unified), build, unified)
	for i, cond := range conds {
		when := c.Args[i].GetCaseWhen().Expr
		e.simplified = e.simplified || foldsInPart(when) && (c.Arg == nil || foldsInPart(c.Arg)) || cond.refs == 0 && !contains(when, isUnfolded)
		e.refs |= cond.refs
		e.fails, e.constantNull = e.fails || cond.fails, e.constantNull || cond.constantNull
	}
	return e
}

// isDecidedBefore reports whether the engine may know beforehand that no arm holds, and so not ask the conditions, one of
// which may fail: all arms are constants.
func isDecidedBefore(conds, arms []expr) bool {
	return slices.ContainsFunc(conds, func(c expr) bool { return c.fails }) && !slices.ContainsFunc(arms, func(a expr) bool { return a.lit == nil })
}

// foldsInPart reports whether PostgreSQL computes a condition, or a side of an AND or OR in it, as it plans.
func foldsInPart(n *pg.Node) bool {
	if b := n.GetBoolExpr(); b != nil && slices.ContainsFunc(b.Args, foldsInPart) {
		return true
	}
	return readsNoRow(n)
}

// choice describes an expression that yields one of its (unified) alternatives; build writes it for a
// projection of the alternatives.
func (q *query) choice(build func(func(expr) string) string, alternatives []expr) expr {
	e := with(alternatives[0].oid, "", alternatives...)
	e.pad = samePad(alternatives)
	e.opaque, e.enum = alternatives[0].opaque, alternatives[0].enum
	e.simplified = slices.ContainsFunc(alternatives, func(a expr) bool { return a.simplified })
	e.modified = slices.ContainsFunc(alternatives, func(a expr) bool { return a.modified })
	if e.oid != oidNumeric || e.opaque {
		e.sql = build(func(a expr) string { return a.typed() })
		return e
	}
	e.dec = widest(alternatives)
	switch e.dec.display {
	case displayDynamic:
		e.dec.displaySQL = build(func(a expr) string {
			if a.isNull() {
				return engineNull("Int32")
			}
			return a.displayText()
		})
	}
	e.sql = build(func(a expr) string { return a.scaled(e.dec) })
	return e
}

// samePad is the width to which all of some strings are padded, or -1.
func samePad(all []expr) int {
	pad := -2
	for _, a := range all {
		if a.isNull() {
			continue
		}
		if pad != -2 && a.pad != pad {
			return -1
		}
		pad = a.pad
	}
	return max(pad, -1)
}

func (q *query) coalesce(args []*pg.Node) expr {
	parts := q.unify(q.valuesOf(args))
	present := make([]string, len(parts))
	for i, p := range parts {
		present[i] = "isNotNull(" + lacking(p.typed(), present[:i]) + ")"
	}
	build := func(part func(expr) string) string {
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = lacking(part(p), present[:i])
		}
		return "coalesce(" + strings.Join(texts, ", ") + ")"
	}
	e := chosenBlanks(q.choice(build, parts), build, parts)
	// PostgreSQL leaves out what stands behind a constant, and NULLs.
	e.simplified = e.simplified || slices.ContainsFunc(parts, expr.isNull) || slices.ContainsFunc(args[:len(args)-1], foldsInPart)
	e.null = true
	for _, p := range parts {
		e.null = e.null && p.null
	}
	if e.displaysByRow() {
		// The display scale goes with the value, not with the first display scale that is not NULL.
		var b strings.Builder
		b.WriteString("multiIf(")
		for i, p := range parts {
			b.WriteString(present[i] + ", " + taken(p.displayText(), present[:i], present[i]) + ", ")
		}
		e.dec.displaySQL = b.String() + "NULL)"
	}
	return e
}

func (q *query) minMax(m *pg.MinMaxExpr) expr {
	parts := q.unify(q.valuesOf(m.Args))
	f := "greatest"
	if m.Op == pg.MinMaxOp_IS_LEAST {
		f = "least"
	}
	for i := range parts {
		parts[i] = readNumeric(parts[i])
		requireOrdered(parts[i])
	}
	like := parts[0]
	if like.enum {
		parts = q.t.positions(parts)
	}
	build := func(part func(expr) string) string {
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = part(p)
		}
		return f + "(" + strings.Join(texts, ", ") + ")"
	}
	e := q.choice(build, parts)
	e.null = true
	for _, p := range parts {
		e.null = e.null && p.null
	}
	if like.enum {
		return q.t.atPosition(e, like)
	}
	q.t.orderable(e)
	if e.displaysByRow() {
		// PostgreSQL keeps the first of equal values.
		e.dec.displaySQL = once(e.sql, func(chosen string) string {
			var b strings.Builder
			b.WriteString("multiIf(")
			for _, p := range parts {
				if !p.isNull() {
					b.WriteString("ifNull(" + p.scaled(e.dec) + " = " + chosen + ", 0), " + p.displayText() + ", ")
				}
			}
			return b.String() + "NULL)"
		})
	}
	return e
}
