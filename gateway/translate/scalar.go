package translate

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// conjunct translates one condition of WHERE or HAVING. It may become a join and leave nothing.
func (q *query) conjunct(n *pg.Node) []expr {
	q.noteBound(n)
	if q.joinedExists(n) {
		return nil
	}
	e := q.cond(n)
	if e.lit != nil && e.lit.boolean != nil && *e.lit.boolean {
		return nil
	}
	return []expr{e}
}

// noteBound records a column that is equated with a constant, for Plan.PointRead.
func (q *query) noteBound(n *pg.Node) {
	a := n.GetAExpr()
	if a == nil || a.Kind != pg.A_Expr_Kind_AEXPR_OP || operatorName(a.Name) != "=" || q.grouped {
		return
	}
	column, value := a.Lexpr, a.Rexpr
	if column.GetColumnRef() == nil {
		column, value = value, column
	}
	if column.GetColumnRef() == nil || !isBound(value) {
		return
	}
	if o := q.value(column).origin; o.source > 0 {
		q.t.sources[o.source-1].bound[o.index] = true
	}
}

// cond translates a condition of which only the truth matters: NULL may come out as false.
func (q *query) cond(n *pg.Node) expr {
	switch v := n.Node.(type) {
	case *pg.Node_BoolExpr:
		if v.BoolExpr.Boolop == pg.BoolExprType_NOT_EXPR {
			if sub := v.BoolExpr.Args[0].GetSubLink(); sub != nil && !q.isKey(n) {
				return q.subLink(sub, true, true)
			}
			break
		}
		parts := make([]expr, len(v.BoolExpr.Args))
		for i, a := range v.BoolExpr.Args {
			parts[i] = q.cond(a)
		}
		return combine(v.BoolExpr.Boolop, parts)
	case *pg.Node_SubLink:
		return q.subLink(v.SubLink, false, true)
	case *pg.Node_AExpr:
		if v.AExpr.Kind == pg.A_Expr_Kind_AEXPR_OP_ANY && !isList(v.AExpr.Rexpr) && !q.isKey(n) {
			return q.memberTest(v.AExpr, operatorName(v.AExpr.Name), true)
		}
	}
	return q.boolean(n)
}

// isKey reports whether an expression over groups is a grouping key.
func (q *query) isKey(n *pg.Node) bool {
	if !q.grouped {
		return false
	}
	_, ok := q.matchKey(n)
	return ok
}

func combine(op pg.BoolExprType, parts []expr) expr {
	word := " AND "
	if op == pg.BoolExprType_OR_EXPR {
		word = " OR "
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = "(" + boolText(p) + ")"
	}
	e := with(oidBool, strings.Join(texts, word), parts...)
	e.share = combinedShare(op, parts)
	for _, p := range parts {
		if op == pg.BoolExprType_AND_EXPR {
			e.orders = append(e.orders, p.orders...)
		}
	}
	return e
}

func boolText(e expr) string {
	if e.isNull() {
		return engineNull("UInt8")
	}
	return e.sql
}

// boolean translates an expression that must be of type bool.
func (q *query) boolean(n *pg.Node) expr {
	e := q.value(n)
	if e.isUnknown() {
		e = q.coerce(e, oidBool)
	}
	if e.oid != oidBool {
		fail("condition that is not boolean")
	}
	return e
}

// value translates an expression exactly, NULLs included. It counts those that may fail.
func (q *query) value(n *pg.Node) expr { return q.computedSpread(q.shown(n)) }

// shown is value, where package finish may compute the last step.
func (q *query) shown(n *pg.Node) expr {
	e := q.translated(n)
	if e.fails {
		q.t.failing++
	}
	// The engine does not take the value of a subquery for a constant.
	if e.refs == 0 && e.null && !strings.Contains(e.sql, subselect) {
		e.constantNull = true
	}
	return e
}

// translated is shown without the counting.
func (q *query) translated(n *pg.Node) expr {
	if q.grouped {
		if key, ok := q.matchKey(n); ok {
			return key
		}
		if isAggregateCall(n) {
			return q.aggregate(n.GetFuncCall())
		}
	}
	switch v := n.Node.(type) {
	case *pg.Node_ColumnRef:
		return q.columnRef(v.ColumnRef)
	case *pg.Node_AConst:
		return constant(v.AConst)
	case *pg.Node_ParamRef:
		if elementOf(q.t.paramType(v.ParamRef.Number)) != 0 {
			return q.arrayOf(q.t.arrayParam(v.ParamRef.Number))
		}
		return q.t.param(v.ParamRef.Number)
	case *pg.Node_AArrayExpr:
		return q.arrayOf(q.array(n))
	case *pg.Node_AIndirection:
		return q.subscript(v.AIndirection)
	case *pg.Node_AExpr:
		return q.operator(v.AExpr)
	case *pg.Node_BoolExpr:
		return q.boolExpr(v.BoolExpr)
	case *pg.Node_NullTest:
		return q.nullTest(v.NullTest)
	case *pg.Node_BooleanTest:
		return q.booleanTest(v.BooleanTest)
	case *pg.Node_GroupingFunc:
		return q.grouping(v.GroupingFunc)
	case *pg.Node_CaseExpr:
		return q.caseExpr(v.CaseExpr)
	case *pg.Node_CoalesceExpr:
		return q.coalesce(v.CoalesceExpr.Args)
	case *pg.Node_MinMaxExpr:
		return q.minMax(v.MinMaxExpr)
	case *pg.Node_TypeCast:
		return q.typeCast(v.TypeCast)
	case *pg.Node_FuncCall:
		return q.call(v.FuncCall)
	case *pg.Node_SqlvalueFunction:
		return q.sqlValue(v.SqlvalueFunction)
	case *pg.Node_SubLink:
		return q.subLink(v.SubLink, false, false)
	case *pg.Node_CollateClause:
		return q.collate(v.CollateClause)
	}
	fail("%s", constructName(n))
	return expr{}
}

func (q *query) valuesOf(nodes []*pg.Node) []expr {
	out := make([]expr, len(nodes))
	for i, n := range nodes {
		out[i] = q.value(n)
	}
	return out
}

func (q *query) boolExpr(b *pg.BoolExpr) expr {
	if b.Boolop == pg.BoolExprType_NOT_EXPR {
		if sub := b.Args[0].GetSubLink(); sub != nil {
			return q.subLink(sub, true, false)
		}
		return not(q.boolean(b.Args[0]))
	}
	parts := make([]expr, len(b.Args))
	for i, a := range b.Args {
		parts[i] = q.boolean(a)
	}
	return combine(b.Boolop, parts)
}

// not is the negation; nothing that is known of the condition holds for it.
func not(e expr) expr { return with(oidBool, "NOT ("+boolText(e)+")", e) }

func (q *query) nullTest(n *pg.NullTest) expr {
	if n.Arg.GetRowExpr() != nil {
		fail("IS NULL of a row")
	}
	a := q.value(n.Arg)
	isNull := n.Nulltesttype == pg.NullTestType_IS_NULL
	if a.isNull() {
		return boolLiteral(isNull)
	}
	f := "isNotNull"
	if isNull {
		f = "isNull"
	}
	e := with(oidBool, f+"("+a.computed()+")", a)
	e.null = false
	return e
}

func (q *query) booleanTest(n *pg.BooleanTest) expr {
	a := q.boolean(n.Arg)
	a.sql = boolText(a)
	text := a.sql
	var sql string
	switch n.Booltesttype {
	case pg.BoolTestType_IS_TRUE:
		sql = "ifNull(" + text + ", false)"
	case pg.BoolTestType_IS_NOT_TRUE:
		sql = "NOT ifNull(" + text + ", false)"
	case pg.BoolTestType_IS_FALSE:
		sql = "NOT ifNull(" + text + ", true)"
	case pg.BoolTestType_IS_NOT_FALSE:
		sql = "ifNull(" + text + ", true)"
	case pg.BoolTestType_IS_UNKNOWN:
		sql = "isNull(" + a.computed() + ")"
	case pg.BoolTestType_IS_NOT_UNKNOWN:
		sql = "isNotNull(" + a.computed() + ")"
	default:
		fail("boolean test")
	}
	e := with(oidBool, sql, a)
	e.null = false
	return e
}

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
	build := func(part func(expr) string) string {
		var b strings.Builder
		b.WriteString("multiIf(")
		for i, when := range whens {
			b.WriteString(when + ", " + taken(part(results[i]), whens[:i], when) + ", ")
		}
		return b.String() + left(part(otherwise), whens) + ")"
	}
	e := chosenBlanks(q.choice(build, unified), build, unified)
	for _, cond := range conds {
		e.refs |= cond.refs
	}
	return e
}

// choice describes an expression that yields one of its (unified) alternatives; build writes it for a
// projection of the alternatives.
func (q *query) choice(build func(func(expr) string) string, alternatives []expr) expr {
	e := with(alternatives[0].oid, "", alternatives...)
	e.pad = samePad(alternatives)
	e.opaque, e.enum = alternatives[0].opaque, alternatives[0].enum
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
	for _, p := range parts {
		requireOrdered(p)
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
