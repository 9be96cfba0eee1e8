package translate

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// setOperation translates UNION, INTERSECT and EXCEPT.
func (t *translator) setOperation(s *pg.SelectStmt, ctes *cteList, by reader) *rows {
	// The ORDER BY and LIMIT of s are for over; what combined gets with some is an arm with its own.
	failing := t.failing
	r := t.combined(&pg.SelectStmt{Op: s.Op, All: s.All, Larg: s.Larg, Rarg: s.Rarg}, ctes)
	r.fails, r.apart = r.fails || !s.All && t.failing > failing, t.failing > failing
	plain := len(s.SortClause) == 0 && s.LimitCount == nil && s.LimitOffset == nil
	if by != readByClient && t.failing > failing && !(plain && r.uniform) {
		r = r.computedWithArms() // otherwise PostgreSQL makes arms of the query around it, or asks its conditions in the arms
	}
	if by != readByClient && plain {
		return r
	}
	return t.over(r, s, ctes, by)
}

// computedWithArms is computed, of a set operation into whose arms conditions are still moved.
func (r *rows) computedWithArms() *rows {
	out := r.computed()
	if m := r.merged; m != nil {
		out.merged = &merged{arms: m.arms, columns: m.columns, join: func() {
			m.join()
			out.sql = r.computing("*")
		}}
	}
	return out
}

// over selects everything from a translated query, with the ORDER BY and LIMIT of s.
func (t *translator) over(r *rows, s *pg.SelectStmt, ctes *cteList, by reader) *rows {
	q := &query{t: t, ctes: ctes, reader: by, noWindows: true}
	all := *r
	all.hazards = r.hazards.whole()
	tree, ns := q.subselect(&all, nil, "")
	q.from = tree
	q.scope = &scope{owner: q, items: ns.items, visible: ns.visible}
	w := &writer{q: q, stmt: &pg.SelectStmt{
		SortClause: s.SortClause, LimitCount: s.LimitCount, LimitOffset: s.LimitOffset, LimitOption: s.LimitOption,
	}}
	for _, c := range ns.visible {
		w.targets = append(w.targets, target{name: c.name, e: c.use()})
	}
	return w.write()
}

// setArms are the arms of a UNION, INTERSECT or EXCEPT, and what is selected from each so that their columns have the same types.
type setArms struct {
	op                    *pg.SelectStmt
	left, right           *rows
	leftItems, rightItems []string
	// mixed says that equal rows may look different, where one of them is to stay.
	mixed bool
	// foldsEmpty says that PostgreSQL may find as it plans that an arm yields no row.
	foldsEmpty func() bool
}

// distinct says that equal rows are told from others.
func (d *setArms) distinct() bool { return d.op.Op != pg.SetOperation_SETOP_UNION || !d.op.All }

// column unifies a column of both arms; uniform says that no value is converted.
func (d *setArms) column(q *query, i int) (column outColumn, uniform bool) {
	own := []expr{d.left.of(i), d.right.of(i)}
	both := q.unify(own)
	for side, e := range own {
		if e.opaque && !both[side].opaque { // whose text, which names it more than once, would mean what it yields
			fail("set operation over unconstrained numerics and other numbers")
		}
	}
	l, r := both[0], both[1]
	var leftItem, rightItem string
	e := q.choice(func(part func(expr) string) string {
		leftItem, rightItem = part(l), part(r)
		return ""
	}, both)
	e.simplified = d.isPlanned(own, e)
	switch {
	case e.displaysByRow() && d.op.Op == pg.SetOperation_SETOP_UNION:
		d.mixed = d.mixed || d.distinct()
	case d.distinct():
		requireGroupable(e)
	}
	if isString(e.oid) && e.oid == oidBpchar && e.pad < 0 {
		fail("set operation over chars of different widths")
	}
	name := "c" + strconv.Itoa(i+1)
	leftItem += " AS " + name
	rightItem += " AS " + name
	if e.displaysByRow() {
		leftItem += ", " + l.displayText() + " AS " + name + "s"
		rightItem += ", " + r.displayText() + " AS " + name + "s"
	}
	d.leftItems, d.rightItems = append(d.leftItems, leftItem), append(d.rightItems, rightItem)
	converted := slices.ContainsFunc(own, func(o expr) bool { return !o.isUnknown() && o.oid != e.oid })
	return outColumn{
		name: d.left.columns[i].name, e: describe(e, name), folded: slices.Concat(d.left.foldedAs(i, e), d.right.foldedAs(i, e)),
		once: d.left.columns[i].once || d.right.columns[i].once,
	}, !converted
}

// isPlanned reports whether PostgreSQL's planner may give a column, of which arms has the sides, another type modifier than the parser did, which gives it
// one only if both have the same. The planner takes that of an INTERSECT or EXCEPT from the left arm, that of a UNION from what it has made of both, or of
// the only one that it has not found to be empty.
func (d *setArms) isPlanned(arms []expr, column expr) bool {
	left := arms[0]
	if d.op.Op != pg.SetOperation_SETOP_UNION {
		return left.oid == column.oid && (left.simplified || left.modified)
	}
	return !d.op.All && slices.ContainsFunc(arms, func(a expr) bool { return a.simplified }) || column.modified && d.foldsEmpty()
}

// foldsEmpty reports whether PostgreSQL may find as it plans that a query in s yields no row, or a WITH query that s may name. Those of views are not looked
// at.
func foldsEmpty(s *pg.SelectStmt, ctes *cteList) bool {
	found := false
	visit := func(n *pg.Node) bool {
		condition := n.GetSelectStmt().GetWhereClause()
		if j := n.GetJoinExpr(); j != nil {
			condition = j.Quals
		}
		found = found || slices.ContainsFunc(syntax.Conjuncts(condition), func(c *pg.Node) bool { return !isTrue(c) && foldsInPart(c) })
		return !found
	}
	syntax.Walk(&pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: s}}, visit)
	for ; ctes != nil; ctes = ctes.next {
		syntax.Walk(ctes.cte.stmt.GetCtequery(), visit)
	}
	return found
}

// combined translates a set operation without ORDER BY and LIMIT.
func (t *translator) combined(s *pg.SelectStmt, ctes *cteList) *rows {
	failing := t.failing
	d := &setArms{op: s, left: t.arm(s.Larg, ctes), right: t.arm(s.Rarg, ctes), foldsEmpty: sync.OnceValue(func() bool { return foldsEmpty(s, ctes) })}
	if len(d.left.columns) != len(d.right.columns) || len(d.left.columns) == 0 {
		fail("set operation over different numbers of columns")
	}
	q := &query{t: t}
	out := &rows{uniform: true, hazards: d.left.hazards.either(d.right.hazards), list: s.All && s.Op == pg.SetOperation_SETOP_UNION}
	for i := range d.left.columns {
		column, uniform := d.column(q, i)
		out.columns = append(out.columns, column)
		out.uniform = out.uniform && uniform
	}
	continues := out.list && d.left.continuesAs(out.columns)
	join := func() {
		right := "SELECT " + strings.Join(d.rightItems, ", ") + " FROM (" + d.right.sql + ")"
		if continues {
			out.sql = d.left.sql + " UNION ALL (" + right + ")"
			return
		}
		left := "SELECT " + strings.Join(d.leftItems, ", ") + " FROM (" + d.left.sql + ")"
		if s.Op == pg.SetOperation_SETOP_INTERSECT && t.failing > failing {
			out.sql = countedIntersect(left, right, len(out.columns), s.All)
			return
		}
		out.sql = joinArms(&pg.SelectStmt{Op: s.Op, All: s.All || d.mixed}, left, right, out.columns)
	}
	join()
	if d.mixed {
		return unique(out)
	}
	if s.Op != pg.SetOperation_SETOP_EXCEPT {
		out.merged = &merged{arms: []*rows{d.left, d.right}, columns: out.columns, join: join}
	}
	return out
}

// continuesAs reports whether arms may be added to a list of UNION ALL, since all columns stay what they are. Otherwise
// each is a query more inside others, of which the engine reads some hundreds only.
func (r *rows) continuesAs(columns []outColumn) bool {
	for i, c := range columns {
		own := r.columns[i].e
		if own.engineType() != c.e.engineType() || own.oid != c.e.oid || own.dec.display != c.e.dec.display {
			return false
		}
	}
	return r.list
}

// foldedAs are the constants that a column is, as those of the set operation whose column it is.
func (r *rows) foldedAs(i int, column expr) []string {
	c := r.columns[i]
	if len(c.folded) > 0 && (c.e.oid != column.oid || c.e.engineType() != column.engineType()) {
		return []string{""}
	}
	return c.folded
}

// joinArms writes the operation. INTERSECT ALL and EXCEPT ALL count: the n-th copy of a row is made distinct by its
// number.
func joinArms(s *pg.SelectStmt, left, right string, columns []outColumn) string {
	var op string
	switch s.Op {
	case pg.SetOperation_SETOP_UNION:
		if s.All {
			return "(" + left + ") UNION ALL (" + right + ")"
		}
		return "(" + left + ") UNION DISTINCT (" + right + ")"
	case pg.SetOperation_SETOP_INTERSECT:
		op = " INTERSECT DISTINCT "
	case pg.SetOperation_SETOP_EXCEPT:
		op = " EXCEPT DISTINCT "
	default:
		fail("set operation")
	}
	if !s.All {
		return "(" + left + ")" + op + "(" + right + ")"
	}
	list := columnList(len(columns))
	numbered := func(sql string) string {
		return "(SELECT " + list + ", row_number() OVER (PARTITION BY " + list + ") AS n FROM (" + sql + "))"
	}
	return "SELECT " + list + " FROM (" + numbered(left) + op + numbered(right) + ")"
}

// countedIntersect writes an INTERSECT of which both arms are computed whatever they yield. Where an arm is empty either database spares itself the other:
// the engine the second, PostgreSQL that which it takes for the larger.
func countedIntersect(left, right string, columns int, all bool) string {
	list := columnList(columns)
	side := func(n, sql string) string { return "SELECT " + list + ", " + n + " AS side FROM (" + sql + ")" }
	grouped := " FROM (" + side("1", left) + " UNION ALL " + side("2", right) + ") GROUP BY " + list
	const inLeft, inRight = "countIf(side = 1)", "countIf(side = 2)"
	if all {
		return "SELECT " + list + " FROM (SELECT " + list + ", least(" + inLeft + ", " + inRight + ") AS n" + grouped + ") ARRAY JOIN range(n) AS copy"
	}
	return "SELECT " + list + grouped + " HAVING " + inLeft + " > 0 AND " + inRight + " > 0"
}

// columnList lists output columns.
func columnList(columns int) string {
	names := make([]string, columns)
	for i := range names {
		names[i] = "c" + strconv.Itoa(i+1)
	}
	return strings.Join(names, ", ")
}

// of is a column as a set operation sees it.
func (r *rows) of(i int) expr {
	if constant, ok := r.untyped[i]; ok {
		return constant
	}
	return r.columns[i].e
}

// untyped are the output columns that stay constants without a type. What a query sorts, groups or makes distinct by it
// makes texts of.
func (q *query) untyped(s *pg.SelectStmt, targets []target) map[int]expr {
	out := map[int]expr{}
	if isDistinct(s) {
		return out
	}
	for i, t := range targets {
		if !t.e.isUnknown() || names(s.SortClause, t.name, i) || names(s.DistinctClause, t.name, i) {
			continue
		}
		grouped := t.name
		if q.scope.resolve([]string{grouped}) != nil { // GROUP BY means the column then
			grouped = ""
		}
		if !names(s.GroupClause, grouped, i) {
			out[i] = t.e
		}
	}
	return out
}

// names reports whether a clause lists an output column, by name or by number.
func names(clause []*pg.Node, name string, i int) bool {
	return slices.ContainsFunc(clause, func(n *pg.Node) bool {
		if sort := n.GetSortBy(); sort != nil {
			n = sort.Node
		}
		if set := n.GetGroupingSet(); set != nil {
			return names(set.Content, name, i)
		}
		fields := n.GetColumnRef().GetFields()
		return len(fields) == 1 && fields[0].GetString_().GetSval() == name || int(n.GetAConst().GetIval().GetIval()) == i+1
	})
}

func (t *translator) arm(s *pg.SelectStmt, ctes *cteList) *rows {
	return t.selectStmt(s, ctes, readByExpression)
}

// values translates VALUES into a UNION ALL of rows.
func (t *translator) values(s *pg.SelectStmt, ctes *cteList, by reader) *rows {
	q := &query{t: t, ctes: ctes, scope: &scope{}, noJoins: true}
	q.scope.owner = q
	var table [][]expr
	for _, n := range s.ValuesLists {
		table = append(table, q.valuesOf(n.GetList().Items))
	}
	width := len(table[0])
	texts := make([][]string, len(table))
	out := &rows{}
	for c := range width {
		column := make([]expr, len(table))
		for r := range table {
			if len(table[r]) != width {
				fail("VALUES of different lengths")
			}
			column[r] = table[r][c]
		}
		column = q.unify(column)
		name := "c" + strconv.Itoa(c+1)
		e := q.choice(func(part func(expr) string) string {
			for r := range column {
				texts[r] = append(texts[r], part(column[r])+" AS "+name)
			}
			return ""
		}, column)
		if e.displaysByRow() {
			// choice asked for the texts of the display scales first.
			for r := range column {
				last := len(texts[r]) - 1
				display := texts[r][last-1]
				texts[r][last-1] = texts[r][last]
				texts[r][last] = strings.TrimSuffix(display, " AS "+name) + " AS " + name + "s"
			}
		}
		out.columns = append(out.columns, outColumn{"column" + strconv.Itoa(c+1), describe(e, name), nil, false})
		if len(table) == 1 && e.refs == 0 {
			out.columns[c].folded = []string{column[0].columnText()}
		}
	}
	arms := make([]string, len(texts))
	for r := range texts {
		arms[r] = "SELECT " + strings.Join(texts[r], ", ")
	}
	out.sql = strings.Join(arms, " UNION ALL ")
	if by == readByClient || len(s.SortClause) > 0 || s.LimitCount != nil || s.LimitOffset != nil {
		return t.over(out, s, ctes, by)
	}
	return out
}
