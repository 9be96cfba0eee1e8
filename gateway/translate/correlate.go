package translate

import (
	"slices"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// correlated is a subquery of FROM and WHERE only, split by what ties it to the enclosing query.
type correlated struct {
	sub  *query
	stmt *pg.SelectStmt
	// local conditions read the subquery's own relations only.
	local []expr
	// inner[i] = outer[i] tie it.
	inner, outer []expr
	innerNodes   []*pg.Node
	// residual conditions tie it otherwise.
	residual []*pg.Node
}

// correlate translates FROM and WHERE of a subquery.
func (q *query) correlate(stmt *pg.SelectStmt) *correlated {
	c := &correlated{stmt: stmt}
	c.sub = &query{t: q.t, parent: q, ctes: withClause(stmt, q.ctes), windows: map[string]*pg.WindowDef{}, stars: map[*pg.ColumnRef]*column{}}
	c.sub.fromClause(stmt.FromClause)
	sub := c.sub
	sub.noWindows = true
	for _, n := range factor(stmt.WhereClause) {
		sub.allowOuter, sub.outer = true, 0
		if sub.tie(c, n) {
			continue
		}
		mark := len(sub.joins)
		e := sub.cond(n)
		e.node = n
		if sub.outer == 0 {
			c.local = append(c.local, e)
			continue
		}
		if len(sub.joins) > mark {
			fail("outer reference two levels down")
		}
		c.residual = append(c.residual, n)
	}
	sub.allowOuter = false
	return c
}

// isUnique reports whether at most one row of the subquery is tied to a row of the enclosing query, by the key of its table.
func (c *correlated) isUnique() bool {
	from := c.sub.from
	if len(from.parts) == 1 {
		from = from.parts[0]
	}
	tied := map[columnID]bool{}
	for _, e := range c.inner {
		tied[columnID{e.source, e.index}] = true
	}
	return from.isLeaf() && from.isKeyBound(tied, nil)
}

// tie recognises an equality of an inner and an outer expression.
func (q *query) tie(c *correlated, n *pg.Node) bool {
	a := n.GetAExpr()
	if a == nil || a.Kind != pg.A_Expr_Kind_AEXPR_OP || syntax.OperatorName(a.Name) != "=" || a.Lexpr.GetRowExpr() != nil || a.Rexpr.GetRowExpr() != nil ||
		a.Lexpr.GetSubLink() != nil || a.Rexpr.GetSubLink() != nil {
		return false
	}
	side := func(n *pg.Node) (expr, bool) {
		q.outer = 0
		e := q.value(n)
		return e, q.outer != 0
	}
	l, lo := side(a.Lexpr)
	r, ro := side(a.Rexpr)
	q.outer = 0
	if lo == ro {
		return false
	}
	innerNode := a.Lexpr
	if lo {
		l, r, innerNode = r, l, a.Rexpr
	}
	// l is inner now, unless it reads the outer query as well.
	if l.refs == 0 || r.refs&q.scope.mask() != 0 {
		return false
	}
	l, r = q.comparable(l, r)
	if l.oid != r.oid && !(isInteger(l.oid) && isInteger(r.oid)) && !(isString(l.oid) && isString(r.oid)) {
		return false
	}
	requireSafe(r)
	for _, e := range []expr{l, r} {
		requireGroupable(expr{oid: e.oid, opaque: e.opaque, enum: e.enum})
	}
	if l.oid == oidNumeric {
		d := widest([]expr{l, r})
		d.display = 0
		l.sql, r.sql, l.dec, r.dec = l.scaled(d), r.scaled(d), d, d
	}
	c.inner, c.outer, c.innerNodes = append(c.inner, l), append(c.outer, r), append(c.innerNodes, innerNode)
	return true
}

// requireSafe refuses to tie a subquery by a value that may fail: whether PostgreSQL computes it for a row that another condition leaves out is
// decided by what it expects the subqueries to cost.
func requireSafe(outer expr) {
	if outer.fails {
		fail("correlation by a value that may fail")
	}
}

// isPlain reports whether a query only filters: its rows are those of FROM and WHERE, or with DISTINCT some of them.
func isPlain(s *pg.SelectStmt) bool { return isSimple(s) && !isGrouped(s) }

// isSimple reports whether a query only filters and groups, and may show the first rows of that.
func isSimple(s *pg.SelectStmt) bool {
	return s.Op == pg.SetOperation_SETOP_NONE && len(s.ValuesLists) == 0 && s.LimitOffset == nil && s.LimitOption != pg.LimitOption_LIMIT_OPTION_WITH_TIES &&
		len(s.WindowClause) == 0 && len(s.LockingClause) == 0 && s.IntoClause == nil && len(s.FromClause) > 0 && !hasWindow(s)
}

// keepsRows reports whether nothing that a plain query returns, or is ordered by, changes how many rows it has. EXISTS translates neither, and an
// aggregate that is not known here makes one row of all, a function that returns a set any number of each.
func keepsRows(s *pg.SelectStmt) bool {
	changes := func(n *pg.Node) bool { return contains(n, func(m *pg.Node) bool { return !isScalarNode(m) }) }
	return !slices.ContainsFunc(slices.Concat(s.TargetList, s.SortClause), changes)
}

func isScalarNode(n *pg.Node) bool {
	switch v := n.Node.(type) {
	case *pg.Node_FuncCall:
		_, known := functions[syntax.FunctionName(v.FuncCall)]
		return known
	case *pg.Node_ResTarget, *pg.Node_SortBy, *pg.Node_List, *pg.Node_ColumnRef, *pg.Node_AStar, *pg.Node_String_, *pg.Node_AConst, *pg.Node_ParamRef,
		*pg.Node_TypeCast, *pg.Node_CollateClause, *pg.Node_AExpr, *pg.Node_BoolExpr, *pg.Node_NullTest, *pg.Node_BooleanTest, *pg.Node_RowExpr,
		*pg.Node_CaseExpr, *pg.Node_CaseWhen, *pg.Node_CoalesceExpr, *pg.Node_MinMaxExpr, *pg.Node_SqlvalueFunction:
		return true
	}
	return false
}

func hasWindow(s *pg.SelectStmt) bool {
	return slices.ContainsFunc(s.TargetList, callsWindow) || sortsByWindow(s)
}

func sortsByWindow(s *pg.SelectStmt) bool { return slices.ContainsFunc(s.SortClause, callsWindow) }

func callsWindow(n *pg.Node) bool {
	return contains(n, func(m *pg.Node) bool { return m.GetFuncCall().GetOver() != nil })
}

// limitsToSome reports whether a LIMIT leaves at least one row, which is all that EXISTS asks for.
func limitsToSome(s *pg.SelectStmt) bool {
	return s.LimitCount == nil || s.LimitCount.GetAConst().GetIval().GetIval() > 0
}

// limitsToOne reports whether a LIMIT leaves one row at most.
func limitsToOne(s *pg.SelectStmt) bool { return s.LimitCount.GetAConst().GetIval().GetIval() == 1 }

// requireLocal refuses outer expressions that read beyond the enclosing query.
func (q *query) requireLocal(outer []expr) {
	if q.noJoins {
		fail("correlated subquery in this place")
	}
	for _, e := range outer {
		if q.outer&e.refs != 0 {
			fail("outer reference two levels down")
		}
	}
}

// joinGroups groups a subquery by the keys that tie it and joins the groups; expressions of the
// subquery are then those over its groups.
func (q *query) joinGroups(c *correlated) {
	q.requireLocal(c.outer)
	c.group()
	sub := c.sub
	x := extraJoin{kind: "LEFT", id: sub.group.id, text: func() string { return "(" + sub.groupText() + ")" }}
	for i := range c.inner {
		key := leafName(sub.group.id) + ".k" + strconv.Itoa(i+1)
		x.conds = append(x.conds, with(oidBool, c.outer[i].operand()+" = "+key, c.outer[i]))
	}
	q.joins = append(q.joins, x)
}

// group groups a subquery by the keys that tie it, and returns the relation of the groups.
func (c *correlated) group() *tree {
	c.sub.where = c.local
	c.sub.startGroups(&pg.SelectStmt{}, nil)
	c.sub.group.correlated = c.inner
	c.sub.emptyGroups = true
	return c.sub.from
}

// sides splits a comparison into its inner and outer operand; op is seen from the inner one.
func (q *query) sides(n *pg.Node) (op string, inner, outer expr, ok bool) {
	a := n.GetAExpr()
	if a == nil || a.Kind != pg.A_Expr_Kind_AEXPR_OP || a.Lexpr == nil || a.Lexpr.GetRowExpr() != nil || contains(n, func(m *pg.Node) bool { return m.GetSubLink() != nil }) {
		return "", expr{}, expr{}, false
	}
	op = syntax.OperatorName(a.Name)
	if _, known := comparisons[op]; !known || op == "=" {
		return "", expr{}, expr{}, false
	}
	q.allowOuter, q.outer = true, 0
	l := q.value(a.Lexpr)
	lo := q.outer
	q.outer = 0
	r := q.value(a.Rexpr)
	ro := q.outer
	q.allowOuter = false
	mask := q.scope.mask()
	switch {
	case lo == 0 && ro != 0 && l.refs != 0 && r.refs&mask == 0:
		return op, l, r, true
	case lo != 0 && ro == 0 && r.refs != 0 && l.refs&mask == 0:
		return mirrored[op], r, l, true
	}
	return "", expr{}, expr{}, false
}

var mirrored = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "<>": "<>", "!=": "!="}

func (q *query) comparesSides(n *pg.Node) bool {
	_, _, _, ok := q.sides(n)
	return ok
}

// existsByExtreme translates EXISTS tied by equalities and one inequality: some row's value is below a bound if and
// only if the least one is, and so on.
func (q *query) existsByExtreme(c *correlated) (expr, bool) {
	if len(c.residual) != 1 {
		return expr{}, false
	}
	op, inner, outer, ok := c.sub.sides(c.residual[0])
	if !ok {
		return expr{}, false
	}
	inner, outer = q.comparable(inner, outer)
	requireOrdered(inner)
	q.t.orderable(inner)
	if inner.oid == oidBool || inner.oid == oidUUID || inner.isNull() || outer.isNull() {
		return expr{}, false
	}
	q.joinGroups(c)
	extreme := func(f string) expr {
		d := inner.plain()
		if inner.enum {
			d = q.t.position(inner).plain()
		}
		d.null, d.lit = true, nil
		e := c.sub.aggregated(engineCall{function: f, args: q.t.orderable(inner)}, d)
		if inner.enum {
			e = q.t.atPosition(e, inner)
		}
		return q.compare(op, e, outer)
	}
	var e expr
	switch op {
	case "<", "<=":
		e = extreme("min")
	case ">", ">=":
		e = extreme("max")
	default:
		e = combine(pg.BoolExprType_OR_EXPR, []expr{extreme("min"), extreme("max")})
	}
	e.sql, e.null, e.keys = "ifNull("+boolText(e)+", 0)", false, nil
	return e, true
}
