package translate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// writer writes a translated SELECT.
type writer struct {
	q       *query
	stmt    *pg.SelectStmt
	targets []target
}

// write writes the SELECT: what sorts its rows, then its columns, then the text, which conditions that are moved into it write anew.
func (w *writer) write() *rows {
	s := w.stmt
	distinct, distinctOn := w.distinct()
	order, cuts := "", s.LimitCount != nil || s.LimitOffset != nil || len(distinctOn) > 0
	var keys []sortKey
	if w.q.reader == readByClient || cuts {
		keys = w.sortKeys()
	} else if slices.ContainsFunc(s.SortClause, func(n *pg.Node) bool { e := w.sortExpr(n.GetSortBy().Node); return e.fails && !w.isExposed(e) }) {
		fail("ORDER BY of a value that may fail, in a subquery that needs no order")
	}
	if w.q.reader == readByClient && len(w.q.t.folded) > 0 {
		w.q.where = append(w.q.where, w.q.t.foldedFirst())
	}
	ranked := len(distinctOn) == 0 && w.ranked(keys)
	if len(keys) > 0 && !ranked {
		order = " ORDER BY " + w.orderText(keys, distinct)
	}
	if len(keys) > 0 && cuts || s.LimitOffset != nil {
		w.eager()
	}
	verb := "SELECT "
	if distinct {
		verb += "DISTINCT "
	}
	out := &rows{hazards: hazards{keysFail: w.q.keysFail, fails: w.q.from.failing()}, few: w.q.from.isFew(w.q.where)}
	items := make([]string, len(w.targets))
	for i := range w.targets {
		var column outColumn
		if w.q.reader == readByClient {
			column, items[i] = w.topColumn(i)
		} else {
			column, items[i] = w.innerColumn(i)
		}
		out.columns = append(out.columns, column)
	}
	if ranked {
		return w.writeRanked(verb, items, out.columns, keys, distinct)
	}
	list := selectList(items)
	rest := list + order + strings.Join(distinctOn, ", ")
	if w.q.reader != readByClient && !distinct && order == "" && s.LimitCount == nil && s.LimitOffset == nil {
		out.averages = averagesOf(w.targets)
	}
	for _, a := range out.averages {
		rest += a.dividend.sql + a.divisor.sql
	}
	if w.q.reader == readByFrom {
		for _, t := range w.targets { // conditions on them become this query's own in PostgreSQL
			w.q.from.probe([]expr{t.e})
		}
	}
	var tail string
	text := func(where []expr) {
		tail = w.q.t.fromText(w.q.from, where, w.q.joins, rest) + order
		if len(distinctOn) > 0 {
			tail += " LIMIT 1 BY " + strings.Join(distinctOn, ", ")
		}
		tail += w.q.limit(s)
		out.sql = verb + list + tail
	}
	text(w.q.where)
	out.narrow = func(reads func(string) bool) string { return verb + narrowed(items, out.averages, reads) + tail }
	if w.q.isMerged(s) && !(hasWindow(s) && len(distinctOn) > 0) {
		out.merged = &merged{q: w.q, targets: w.targets, write: text}
		switch {
		case hasWindow(s):
			out.merged.passes = func(i int) bool { return w.q.isPartitionedBy(w.targets[i].e.origin) }
		case len(distinctOn) > 0:
			out.merged.passes = func(i int) bool { return slices.Contains(distinctOn, w.targets[i].e.sql) }
		}
	}
	return out
}

// topColumn returns a column of the statement's result, and what is selected for it.
func (w *writer) topColumn(i int) (outColumn, string) {
	t, name := w.targets[i], "c"+strconv.Itoa(i+1)
	column := describe(t.e, name)
	if r := t.e.quotient(); r != nil { // finish divides what topItem writes
		column.ratio = &ratio{sql: name, dividend: r.dividend, divisor: r.divisor, spread: r.spread}
	}
	if t.e.blanks != nil { // topItem writes them
		column.blanks = &blanks{name, name}
	}
	return outColumn{name: t.name, e: column}, w.q.t.topItem(t.e, i)
}

// innerColumn returns a column that a query around reads, and what is selected for it.
func (w *writer) innerColumn(i int) (outColumn, string) {
	t, name := w.targets[i], "c"+strconv.Itoa(i+1)
	column := outColumn{name: t.name, e: describe(t.e, name)}
	switch {
	case t.node == nil:
	case w.q.t.isFolded(t.node, t.e):
		column.folded = w.q.t.constantTexts(t.e.columnText())
	case w.q.isDecided(t.node):
		column.folded = []string{""}
	}
	column.once = t.node != nil && len(column.folded) == 0 && w.q.t.isKnownFirst(t.node, t.e)
	return column, selectItem(t.e, name)
}

// isExposed reports whether a query around sorts by a value.
func (w *writer) isExposed(e expr) bool {
	return slices.ContainsFunc(w.targets, func(t target) bool { return isAdded(t.name) && t.e.sql == e.sql })
}

// eager has the engine compute the output of rows that are skipped, or cut off after sorting, as PostgreSQL does, where
// it may fail for them.
func (w *writer) eager() {
	for i := range w.targets {
		e := &w.targets[i].e
		w.q.t.eager = w.q.t.eager || e.fails
		if r := e.quotient(); r != nil && !r.average && r.spread == 0 && r.divisor.lit == nil {
			e.ratio = nil // finish would divide what is left
		}
	}
}

// selectList lists output columns; the engine wants at least one.
func selectList(items []string) string {
	if len(items) == 0 {
		return "1 AS c0"
	}
	return strings.Join(items, ", ")
}

// distinct returns whether rows are made distinct, or the expressions of DISTINCT ON.
func (w *writer) distinct() (bool, []string) {
	if len(w.stmt.DistinctClause) == 0 {
		return false, nil
	}
	if isDistinct(w.stmt) {
		for i := range w.targets {
			w.targets[i].e.sql = groupable(w.targets[i].e)
			w.targets[i].e.blanks = nil // which of several a row shows is PostgreSQL's choice
		}
		return true, nil
	}
	if len(w.stmt.SortClause) == 0 {
		fail("DISTINCT ON without ORDER BY")
	}
	if w.stmt.LimitOption == pg.LimitOption_LIMIT_OPTION_WITH_TIES { // 26.7 loses the columns that it sorts by
		fail("DISTINCT ON with ties")
	}
	var on []string
	for _, n := range w.stmt.DistinctClause {
		e := w.sortExpr(n)
		on = append(on, groupable(e))
	}
	return false, on
}

// sortExpr finds what an ORDER BY or DISTINCT ON item means: an ordinal, an output name, or an expression.
func (w *writer) sortExpr(n *pg.Node) expr {
	if c := n.GetAConst(); c != nil {
		i := int(c.GetIval().GetIval())
		if c.GetIval() == nil || i < 1 || i > len(w.targets) {
			fail("constant in ORDER BY")
		}
		return w.q.computedSpread(w.targets[i-1].e)
	}
	if fields := n.GetColumnRef().GetFields(); len(fields) == 1 {
		for _, t := range w.targets {
			if t.name == fields[0].GetString_().GetSval() {
				return w.q.computedSpread(t.e)
			}
		}
	}
	return w.q.value(n)
}

func (w *writer) sortKeys() []sortKey {
	keys := make([]sortKey, len(w.stmt.SortClause))
	for i, n := range w.stmt.SortClause {
		by := n.GetSortBy()
		keys[i] = sortKey{readNumeric(w.sortExpr(by.Node)), by}
		if keys[i].e.intervalParts() != nil {
			keys[i].e = keys[i].e.comparedAs()
		}
		requireSortable(keys[i].e)
		w.q.t.env.Dialect.checkOrder(keys[i].e, by)
	}
	return keys
}

// orderText writes ORDER BY for the engine.
func (w *writer) orderText(keys []sortKey, distinct bool) string {
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = w.q.t.sortable(k.e) // or refuses the key, in either case
		if distinct {
			texts[i] = w.distinctOrder(k.e)
		}
		texts[i] += direction(k.by)
	}
	return strings.Join(texts, ", ")
}

// distinctOrder is the text to sort the rows of SELECT DISTINCT by.
func (w *writer) distinctOrder(e expr) string {
	name := w.distinctKey(e)
	if !e.enum {
		return name
	}
	e.sql, e.null, e.lit = name, true, nil
	return w.q.t.position(e).sql
}

// distinctKey names the output column that a sort key of SELECT DISTINCT is.
func (w *writer) distinctKey(e expr) string {
	for i, t := range w.targets {
		if t.e.sql == e.sql || isFloat(e.oid) && t.e.sql == groupableFloat(e) {
			if w.q.reader == readByClient {
				return w.q.t.topName(i)
			}
			return "c" + strconv.Itoa(i+1)
		}
	}
	fail("ORDER BY of an expression that DISTINCT does not show")
	return ""
}

func direction(by *pg.SortBy) string {
	if len(by.UseOp) > 0 {
		fail("ORDER BY USING")
	}
	out := " ASC"
	if isDescending(by) {
		out = " DESC"
	}
	if isNullsFirst(by) {
		return out + " NULLS FIRST"
	}
	return out + " NULLS LAST"
}

func isDescending(by *pg.SortBy) bool { return by.SortbyDir == pg.SortByDir_SORTBY_DESC }

func isNullsFirst(by *pg.SortBy) bool {
	switch by.SortbyNulls {
	case pg.SortByNulls_SORTBY_NULLS_FIRST:
		return true
	case pg.SortByNulls_SORTBY_NULLS_LAST:
		return false
	}
	return isDescending(by)
}

// requireOrdered refuses types whose order the engine does not share.
func requireOrdered(e expr) {
	requireSortable(e)
	if isFloat(e.oid) {
		fail("order of floating-point numbers")
	}
}

// requireSortable refuses types that not even a guard makes the engine order as PostgreSQL does.
func requireSortable(e expr) {
	requirePresent(e)
	if e.opaque && !e.enum || e.oid == oidInterval && e.lit != nil {
		fail("order of values of an opaque type")
	}
}

// sortable is the text to order rows by.
func (t *translator) sortable(e expr) string {
	e = readNumeric(e)
	requireSortable(e)
	if isFloat(e.oid) {
		return sortableFloat(e)
	}
	return t.orderable(e)
}

// choosable is the text of values one of which is shown for its place in their order: equal ones look alike.
func (t *translator) choosable(e expr) string {
	requireSortable(e)
	if isFloat(e.oid) {
		return groupable(e)
	}
	return t.sortable(e)
}

// orderable is the text to sort by.
func (t *translator) orderable(e expr) string {
	if isString(e.oid) && !t.bytewise(e.collation) {
		fail("text order under a collation that is not bytewise")
	}
	if e.enum {
		return t.position(e).sql
	}
	return e.sql
}

// limitAll cuts nothing off.
const limitAll = " LIMIT 18446744073709551615"

// limit writes LIMIT and OFFSET, whose values must be known.
func (q *query) limit(s *pg.SelectStmt) string {
	count, hasCount := q.rowCount(s.LimitCount)
	offset, hasOffset := q.rowCount(s.LimitOffset)
	out := ""
	if hasCount {
		out = fmt.Sprintf(" LIMIT %d", count)
		if hasOffset {
			out += fmt.Sprintf(" OFFSET %d", offset)
		}
		if s.LimitOption == pg.LimitOption_LIMIT_OPTION_WITH_TIES {
			out += " WITH TIES"
		}
	} else if hasOffset && offset > 0 {
		out = fmt.Sprintf("%s OFFSET %d", limitAll, offset)
	}
	return out
}

func (q *query) rowCount(n *pg.Node) (uint64, bool) {
	if n == nil {
		return 0, false
	}
	e := q.value(n)
	if e.isNull() {
		return 0, false
	}
	if e.isUnknown() {
		e = q.coerce(e, oidInt8)
	}
	rows, ok := e.constantFrom(0)
	if !ok {
		fail("LIMIT or OFFSET that is not a plain number")
	}
	return uint64(rows), true
}
