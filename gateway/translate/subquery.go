package translate

import (
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// subLink translates a subquery in an expression. truth says that only the truth of the result matters.
func (q *query) subLink(s *pg.SubLink, negated, truth bool) expr {
	stmt := s.Subselect.GetSelectStmt()
	if stmt == nil {
		fail("subquery that is not a query")
	}
	switch s.SubLinkType {
	case pg.SubLinkType_EXISTS_SUBLINK:
		return negate(q.exists(stmt), negated)
	case pg.SubLinkType_EXPR_SUBLINK:
		e := q.scalarSubquery(stmt)
		if !negated {
			return e
		}
		return negate(e, true)
	case pg.SubLinkType_ANY_SUBLINK:
		op := "="
		if len(s.OperName) > 0 {
			op = syntax.OperatorName(s.OperName)
		}
		if op == "=" {
			return q.inSubquery(s.Testexpr, stmt, negated, truth)
		}
		return negate(q.anySubquery(op, s.Testexpr, stmt), negated)
	case pg.SubLinkType_ALL_SUBLINK:
		op := syntax.OperatorName(s.OperName)
		if op == "<>" || op == "!=" {
			return q.inSubquery(s.Testexpr, stmt, !negated, truth)
		}
		// x op ALL is NOT (x opposite ANY), in three-valued logic as well.
		return negate(q.anySubquery(opposites[op], s.Testexpr, stmt), !negated)
	case pg.SubLinkType_ARRAY_SUBLINK:
		return q.arraySubquery(stmt)
	}
	fail("subquery with this operator")
	return expr{}
}

var opposites = map[string]string{"=": "<>", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

// anySubquery translates x op ANY (SELECT …) by the least and greatest element.
func (q *query) anySubquery(op string, test *pg.Node, stmt *pg.SelectStmt) expr {
	if _, ok := comparisons[op]; !ok || op == "=" || test.GetRowExpr() != nil {
		fail("subquery with this operator")
	}
	x := q.value(test)
	r, ok := q.tryRows(stmt)
	if !ok || len(r.columns) != 1 {
		fail("correlated subquery with this operator")
	}
	r.requireRepeatable()
	c := readNumeric(r.columns[0].e)
	_, y := q.comparable(x, c)
	if y.isNull() || y.oid == oidBool || y.oid == oidUUID {
		fail("subquery with this operator over values of this type")
	}
	requireOrdered(y)
	q.t.orderable(y)
	if c.movedTo(y) {
		fail("subquery with this operator over values that are compared in another order than their own")
	}
	extreme := func(f string) expr {
		e := c
		if c.enum {
			e = q.t.position(c)
		}
		e.refs, e.null, e.table, e.source, e.lit = 0, true, 0, 0, nil
		e.sql = selecting(f + "OrNull(" + e.sql + ") FROM (" + r.sql + "))")
		if c.enum {
			return q.t.atPosition(e, c)
		}
		return e
	}
	var some expr
	switch op {
	case "<", "<=":
		some = q.compare(op, x, extreme("max"))
	case ">", ">=":
		some = q.compare(op, x, extreme("min"))
	default:
		some = combine(pg.BoolExprType_OR_EXPR, []expr{q.compare(op, x, extreme("min")), q.compare(op, x, extreme("max"))})
	}
	matched := with(oidBool, "ifNull("+boolText(some)+", 0)", x)
	return q.threeValuedIn(x, matched, r, r.columns[0].e.sql+" AS k1", false)
}

func negate(e expr, negated bool) expr {
	if !negated {
		return e
	}
	out := with(oidBool, "NOT ("+boolText(e)+")", e)
	out.lenient = true
	return out
}

// exists translates EXISTS.
func (q *query) exists(stmt *pg.SelectStmt) expr {
	if !isPlain(stmt) || !keepsRows(stmt) || !limitsToSome(stmt) {
		r := q.t.selectStmt(stmt, q.ctes, readByExpression)
		return existing(" FROM (" + r.sql + ")")
	}
	if e, ok := q.elements(stmt); ok {
		return e.exists()
	}
	c := q.correlate(stmt)
	if len(c.residual) > 0 {
		if len(c.inner) == 0 {
			fail("correlated subquery without an equality")
		}
		e, ok := q.existsByExtreme(c)
		if !ok {
			fail("correlated subquery by more than equalities, not at the top of a WHERE clause")
		}
		return e
	}
	if len(c.inner) == 0 {
		return existing(q.t.fromText(c.sub.from, c.local, c.sub.joins, ""))
	}
	return c.member()
}

// existing is EXISTS over rows that are the same for all rows around. PostgreSQL asks for them when it comes to the condition, so that what may fail
// before it in an OR is computed; the engine would spare itself that if it knew the outcome beforehand.
func existing(from string) expr {
	return expr{sql: scalar + selecting("count() FROM (SELECT 1"+from+" LIMIT 1))") + scalarEnd + " > 0", oid: oidBool, pad: -1}
}

// member is the condition that the outer keys occur among the inner ones. The engine's IN never matches NULLs, as EXISTS
// with equalities never does.
func (c *correlated) member() expr {
	in, out := make([]string, len(c.inner)), make([]string, len(c.inner))
	for i := range c.inner {
		in[i], out[i] = c.inner[i].sql+" AS k"+strconv.Itoa(i+1), c.outer[i].operand()
	}
	list := strings.Join(in, ", ")
	set := selecting(list + c.sub.t.fromText(c.sub.from, c.local, c.sub.joins, list) + ")")
	e := with(oidBool, c.sub.parent.search(out, set, c.sub.from.isFew(c.local)), c.outer...)
	e.null = false
	return e
}

// search asks whether some values are in a set, which is known to be of few rows or not.
func (q *query) search(values []string, set string, few bool) string {
	q.t.searches = q.t.searches || !few && !q.from.isFew(nil)
	return "ifNull(" + tupleOf(values) + " IN " + set + ", 0)"
}

// joinedExists handles a conjunct [NOT] EXISTS that is tied by more than equalities: a semi or anti join.
func (q *query) joinedExists(n *pg.Node) bool {
	kind := "SEMI LEFT"
	if b := n.GetBoolExpr(); b != nil && b.Boolop == pg.BoolExprType_NOT_EXPR {
		n, kind = b.Args[0], "ANTI LEFT"
	}
	s := n.GetSubLink()
	if s == nil || s.SubLinkType != pg.SubLinkType_EXISTS_SUBLINK || q.noJoins {
		return false
	}
	stmt := s.Subselect.GetSelectStmt()
	if stmt == nil || !isPlain(stmt) || !keepsRows(stmt) || !limitsToSome(stmt) || len(syntax.Conjuncts(stmt.WhereClause)) < 2 || listedBy(stmt) != nil {
		return false
	}
	c := q.correlate(stmt)
	if len(c.residual) == 0 || len(c.residual) == 1 && len(c.inner) > 0 && c.sub.comparesSides(c.residual[0]) {
		return false // the usual way translates it again, which costs little
	}
	if len(c.inner) == 0 {
		fail("correlated subquery without an equality")
	}
	q.requireLocal(c.outer)
	sub := c.sub
	names := namespace{sub.scope.items, sub.scope.visible}
	leaf := q.t.wrapJoins(sub, names, c.local)
	x := extraJoin{kind: kind, id: leaf.id, text: leaf.text}
	sub.allowOuter = true
	again := &correlated{sub: sub}
	for _, n := range syntax.Conjuncts(stmt.WhereClause) {
		sub.outer = 0
		if sub.tie(again, n) {
			i := len(again.inner) - 1
			cond := with(oidBool, again.outer[i].operand()+" = "+again.inner[i].operand(), again.outer[i], again.inner[i])
			x.conds = append(x.conds, cond)
		}
	}
	for _, n := range c.residual {
		cond := sub.cond(n)
		if cond.fails && cond.refs&bit(leaf.id) == 0 {
			fail("correlation by a condition on the query around that may fail") // which PostgreSQL asks among those of that query
		}
		x.conds = append(x.conds, cond)
	}
	refuseConstants(x.conds)
	sub.allowOuter = false
	q.joins = append(q.joins, x)
	return true
}

// wrapJoins wraps a subquery's FROM and WHERE as a relation.
func (t *translator) wrapJoins(sub *query, ns namespace, where []expr) *tree {
	if len(sub.joins) > 0 {
		fail("subquery inside a correlated subquery")
	}
	return sub.wrap(sub.from, ns, where)
}

// scalarSubquery translates a subquery that stands for a value.
func (q *query) scalarSubquery(stmt *pg.SelectStmt) expr {
	if e, ok := q.overWith(stmt); ok {
		return e
	}
	if e, ok := q.uncorrelated(stmt); ok {
		return e
	}
	if e, ok := q.elements(stmt); ok {
		return e.scalar()
	}
	stmt = q.liftTies(stmt)
	first := limitsToOne(stmt)
	if !isSimple(stmt) || !first && stmt.LimitCount != nil || len(stmt.TargetList) != 1 || len(stmt.DistinctClause) > 0 || stmt.WithClause != nil {
		fail("correlated subquery for a value with a LIMIT other than 1, DISTINCT, WITH, windows or a set operation, or without FROM")
	}
	c := q.correlate(stmt)
	if !first && len(stmt.GroupClause) > 0 {
		c.ungroup()
		stmt = c.stmt
	}
	if len(c.inner) == 0 || len(c.residual) > 0 && first == isGrouped(stmt) {
		fail("correlated subquery by more than equalities")
	}
	q.requireLocal(c.outer)
	if first && len(c.residual) > 0 {
		return q.firstAmong(c)
	}
	if first && !isSingleRow(stmt) {
		return q.firstValue(c)
	}
	targets := c.sub.expand(stmt.TargetList)
	var value expr
	if isGrouped(stmt) {
		comparisons := c.among()
		q.requireLocal(comparisons.bounds())
		q.joinGroups(c)
		c.sub.group.among = comparisons
		value = resolveUnknown(c.sub.value(targets[0].node)).onlyIf(c.having())
	} else {
		row := resolveUnknown(c.sub.value(targets[0].node))
		if row.displaysByRow() {
			fail("correlated subquery of a numeric that displays differently by row")
		}
		q.joinGroups(c)
		// PostgreSQL refuses a second row. any() skips a NULL, which it then yields if that is all there is.
		one := "if(throwIf(count() > 1, 'freshet guard: more than one row in a subquery') = 0, any(" + row.sql + "), NULL)"
		row.null = true
		value = c.sub.aggregated(engineCall{args: one}, row)
		value.fails = value.fails || !c.isUnique()
	}
	value.null = true
	value.table, value.source = 0, 0
	return value
}

// uncorrelated translates the subquery by itself, if it refers to nothing outside.
func (q *query) uncorrelated(stmt *pg.SelectStmt) (e expr, ok bool) {
	r, ok := q.tryRows(stmt)
	if !ok {
		return expr{}, false
	}
	if len(r.columns) != 1 {
		fail("scalar subquery of several columns")
	}
	e = r.columns[0].e
	e.refs, e.table, e.source, e.null = 0, 0, 0, true
	e.sql = scalar + selecting(r.columns[0].e.sql+" FROM ("+r.sql+"))") + scalarEnd
	if e.displaysByRow() {
		r.requireRepeatable()
		e.dec.displaySQL = selecting(r.columns[0].e.dec.displaySQL + " FROM (" + r.sql + "))")
	}
	if a := r.averages[0]; a != nil && isSingleRow(stmt) {
		e.ratio = a.in(r, e.sql)
	}
	return e, true
}

// inSubquery translates x [NOT] IN (SELECT …).
func (q *query) inSubquery(test *pg.Node, stmt *pg.SelectStmt, negated, truth bool) expr {
	var left []expr
	if row := test.GetRowExpr(); row != nil {
		left = q.valuesOf(row.Args)
	} else {
		left = []expr{q.value(test)}
	}
	r, ok := q.tryRows(stmt)
	if !ok {
		return q.correlatedIn(left, stmt, negated, truth)
	}
	if len(r.columns) != len(left) {
		fail("IN over different numbers of columns")
	}
	in, out := make([]string, len(left)), make([]string, len(left))
	null := false
	for i := range left {
		l, c := q.pair(left[i], r.columns[i].e)
		in[i], out[i] = c.sql+" AS k"+strconv.Itoa(i+1), l.operand()
		left[i] = l
		null = null || c.null
	}
	set := selecting(strings.Join(in, ", ") + " FROM (" + r.sql + "))")
	matched := with(oidBool, q.search(out, set, r.few), left...)
	anyNull := matched.null
	matched.null = false
	if truth && !negated || !null && !anyNull {
		return negate(matched, negated)
	}
	if len(left) > 1 {
		fail("IN over rows that may hold NULLs")
	}
	r.requireRepeatable()
	return q.threeValuedIn(left[0], matched, r, in[0], negated)
}

// requireRepeatable is for subqueries whose text is used several times.
func (r *rows) requireRepeatable() {
	if !r.repeats {
		fail("subquery that picks rows, needed several times")
	}
}

// threeValuedIn: IN is unknown if there is no match but x or an element is NULL, unless there are no elements.
func (q *query) threeValuedIn(x, matched expr, r *rows, key string, negated bool) expr {
	elements := selecting(key + " FROM (" + r.sql + "))")
	empty := selecting("count() FROM " + elements + ") = 0")
	hasNull := selecting("countIf(isNull(k1)) FROM " + elements + ") > 0")
	sql := "multiIf(" + empty + ", toNullable(0), " + matched.sql + ", 1, isNull(" + x.sql + ") OR " + hasNull + ", NULL, 0)"
	e := with(oidBool, sql, x)
	e.null = true
	return negate(e, negated)
}

// tryRows translates a subquery by itself; ok is false if it refers to something outside.
func (q *query) tryRows(stmt *pg.SelectStmt) (r *rows, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			if u, is := p.(*Unsupported); !is || !u.unknownColumn {
				panic(p)
			}
			ok = false
		}
	}()
	return q.t.selectStmt(stmt, q.ctes, readByExpression), true
}

// correlatedIn: x IN (SELECT y … tied by equalities) is EXISTS with the further equality x = y as long as only
// its truth matters, or nothing is NULL.
func (q *query) correlatedIn(left []expr, stmt *pg.SelectStmt, negated, truth bool) expr {
	if !isPlain(stmt) || stmt.LimitCount != nil || len(stmt.DistinctClause) > 0 && !isDistinct(stmt) {
		fail("IN over a correlated subquery that does more than filter")
	}
	if truth && !negated && len(left) == 1 && stmt.LimitCount == nil {
		if e, ok := q.elements(stmt); ok {
			return e.contains(left[0])
		}
	}
	c := q.correlate(stmt)
	targets := c.sub.expand(stmt.TargetList)
	if len(targets) != len(left) {
		fail("IN over different numbers of columns")
	}
	null := false
	for i := range left {
		l, r := q.pair(left[i], c.sub.value(targets[i].node))
		null = null || l.null || r.null
		requireSafe(l)
		c.inner, c.outer = append(c.inner, r), append(c.outer, l)
	}
	if null && (negated || !truth) {
		fail("NOT IN over a correlated subquery that may hold NULLs")
	}
	if len(c.residual) > 0 {
		e, ok := q.existsByExtreme(c)
		if !ok {
			fail("correlated subquery by more than equalities")
		}
		return negate(e, negated)
	}
	return negate(c.member(), negated)
}
