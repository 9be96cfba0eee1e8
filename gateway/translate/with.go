package translate

import (
	"slices"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// withClause adds a query's WITH queries to those that it may refer to.
func withClause(s *pg.SelectStmt, ctes *cteList) *cteList {
	if s.WithClause == nil {
		return ctes
	}
	if s.WithClause.Recursive {
		fail("WITH RECURSIVE")
	}
	for _, n := range s.WithClause.Ctes {
		c := n.GetCommonTableExpr()
		ctes = &cteList{cte{name: c.Ctename, stmt: c, outer: ctes, materialized: isMaterialized(c, s), uses: new(int)}, ctes}
	}
	return ctes
}

// isMaterialized reports whether PostgreSQL computes a WITH query of s by itself, and not as a part of the query that
// refers to it. Where a subquery hides the name it may say so of others.
func isMaterialized(c *pg.CommonTableExpr, s *pg.SelectStmt) bool {
	switch c.Ctematerialized {
	case pg.CTEMaterialize_CTEMaterializeAlways:
		return true
	case pg.CTEMaterialize_CTEMaterializeNever:
		return false
	}
	references := 0
	syntax.Walk(&pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: s}}, func(n *pg.Node) bool {
		if v := n.GetRangeVar(); v != nil && v.Schemaname == "" && v.Relname == c.Ctename {
			references++
		}
		return true
	})
	return references > 1
}

// computed has the engine compute all of a query that may fail, also a column that nothing reads and a row that a
// condition leaves out later, where PostgreSQL does so.
func (r *rows) computed() *rows {
	return &rows{columns: r.columns, hazards: r.hazards.computed(), sql: r.computing("*"), repeats: r.repeats, single: r.single}
}

// computing is the query with what is listed computed for all of its rows.
func (r *rows) computing(list string) string {
	// Conditions are not passed through a LIMIT, but of a column that is constant the engine knows beforehand whether
	// one holds.
	var items []string
	for i, c := range r.columns {
		name := "c" + strconv.Itoa(i+1)
		items = append(items, hide+name+hideEnd+" AS "+name)
		if c.e.displaysByRow() {
			items = append(items, name+"s")
		}
		if c.e.hasBlanks() {
			items = append(items, name+"b")
		}
	}
	return "SELECT " + selectList(items) + " FROM (" + r.sql + ") WHERE NOT ignore(" + list + ")" + limitAll
}

// overWith translates an aggregate over all rows of a WITH query that the enclosing query joins as well: it is
// computed beside those rows, so that the WITH query runs once. Where it has no rows, the join has none that would need
// the aggregate.
func (q *query) overWith(stmt *pg.SelectStmt) (expr, bool) {
	call, ref := bareAggregate(stmt)
	if call == nil || q.grouped || q.noJoins || q.from == nil || q.from.kind != "" {
		return expr{}, false
	}
	c, ok := q.ctes.find(ref.Relname)
	if !ok {
		return expr{}, false
	}
	i := slices.IndexFunc(q.from.parts, func(p *tree) bool { return p.with == c.stmt })
	if i < 0 {
		return expr{}, false
	}
	*c.uses++
	leaf := q.from.parts[i]
	it := &item{name: ref.Relname, columns: leaf.item.columns}
	if ref.Alias != nil {
		it.name = ref.Alias.Aliasname
	}
	sub := &query{t: q.t, ctes: q.ctes, scope: &scope{items: []*item{it}, visible: it.columns}, noJoins: true, noWindows: true}
	e := sub.windowAggregate(call, syntax.FunctionName(call), " OVER ()")
	if e.opaque || e.oid == oidNumeric && e.dec.display < 0 {
		return expr{}, false
	}
	return leaf.compute(e), true
}

// bareAggregate recognises SELECT aggregate(…) FROM name.
func bareAggregate(s *pg.SelectStmt) (*pg.FuncCall, *pg.RangeVar) {
	if s.Op != pg.SetOperation_SETOP_NONE || len(s.FromClause) != 1 || len(s.TargetList) != 1 || s.WithClause != nil ||
		s.WhereClause != nil || len(s.GroupClause) > 0 || s.HavingClause != nil || len(s.DistinctClause) > 0 ||
		s.LimitCount != nil || s.LimitOffset != nil || len(s.WindowClause) > 0 || len(s.LockingClause) > 0 || s.IntoClause != nil {
		return nil, nil
	}
	ref := s.FromClause[0].GetRangeVar()
	call := s.TargetList[0].GetResTarget().GetVal()
	if ref == nil || ref.Schemaname != "" || len(ref.GetAlias().GetColnames()) > 0 || !isAggregateCall(call) {
		return nil, nil
	}
	f := call.GetFuncCall()
	nested := slices.ContainsFunc(f.Args, func(n *pg.Node) bool {
		return contains(n, func(m *pg.Node) bool { return m.GetSubLink() != nil || isAggregateCall(m) })
	})
	if nested || f.AggDistinct || len(f.AggOrder) > 0 || f.AggWithinGroup || f.FuncVariadic || f.AggFilter != nil {
		return nil, nil
	}
	return f, ref
}
