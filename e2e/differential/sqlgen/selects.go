package sqlgen

import (
	"fmt"
	"slices"
	"strings"
)

// built is a generated query expression.
type built struct {
	sql  string
	cols []column
	// repeat holds the output expressions, where ORDER BY may repeat them.
	repeat []string
	key    []int // output columns that identify a row; nil when unknown
	rows   float64
	// sorted queries have an ORDER BY of their own.
	sorted bool
}

func (b built) relation(alias string) *relation {
	return &relation{alias: alias, cols: b.cols, key: b.key, rows: b.rows}
}

// comparable says that DISTINCT, set operations and full sort orders have one result.
func (b built) comparable() bool {
	for _, c := range b.cols {
		if !c.t.canonical() || !c.t.orderable() {
			return false
		}
	}
	return true
}

// item is one entry of a select list.
type item struct {
	e     expr
	alias string
}

// output assembles the select list. Inner queries get a unique alias for each column.
func (g *gen) output(items []item, inner bool) (string, []column) {
	var parts []string
	var cols []column
	for _, it := range items {
		name := it.alias
		sql := it.e.sql
		if name == "" && (inner || g.chance(0.6)) {
			name = g.alias("c")
		}
		if name != "" {
			sql += g.one(" AS ", " AS ", " ") + name
		}
		col := column{name: name, t: it.e.t, distinct: 10}
		if it.e.col != nil {
			col.distinct, col.domain, col.pool = it.e.col.distinct, it.e.col.domain, it.e.col.pool
		}
		cols = append(cols, col)
		parts = append(parts, sql)
	}
	return strings.Join(parts, ", "), cols
}

var outputFamilies = []family{famInt, famInt, famInt, famNum, famNum, famNum, famStr, famStr, famStr, famDate, famDate,
	famTS, famTS, famBool, famFloat, famTSTZ, famUUID, famTime, famEnum, famOther}

var (
	keyFamilies     = []family{famInt, famInt, famStr, famStr, famDate, famBool, famNum, famFloat}
	measureFamilies = []family{famInt, famInt, famNum, famNum, famNum, famStr, famDate, famTS, famBool}
)

func (g *gen) outputFamily(c ctx) family { return g.familyOf(c, outputFamilies) }

// where writes the WHERE clause: the clause's own conditions and some random ones.
func (g *gen) where(f fromClause) string {
	conditions := slices.Clone(f.where)
	if g.chance(0.6) {
		conditions = append(conditions, g.predicate(ctx{sc: f.sc}, 1+g.weighted(5, 3, 1)))
	}
	if c, ok := g.extremeOfWith(f.sc); ok && g.chance(0.3) {
		conditions = append(conditions, c)
	}
	if len(conditions) == 0 {
		return ""
	}
	if len(conditions) == 1 {
		return " WHERE " + conditions[0]
	}
	return " WHERE (" + strings.Join(conditions, ") AND (") + ")"
}

// plainSelect is a select without grouping. want gives the columns' families, or nil.
func (g *gen) plainSelect(want []family, inner bool) built {
	f := g.from(g.weighted(9, 8, 4, 1), nil, maxRows)
	c := ctx{sc: f.sc}
	b := built{rows: f.rows / 2}
	where := g.where(f)
	if want == nil && !inner && f.merged == nil && g.chance(0.05) {
		g.use("select *")
		for _, r := range f.sc.rels {
			for i := range r.cols {
				b.cols = append(b.cols, r.cols[i])
				b.cols[len(b.cols)-1].name = ""
			}
		}
		b.sql = "SELECT * FROM " + f.sql + where
		return b
	}
	var items []item
	texts := false // DISTINCT makes untyped constants texts
	for _, fam := range want {
		e := g.exact(g.expr(c, fam, 2))
		if g.chance(0.03) {
			g.use("untyped constant in a set operation")
			e.sql, e.col, texts = g.untypedConstant(fam), nil, true
		}
		items = append(items, item{e: e})
	}
	if want == nil {
		if keys := f.sc.keys(); keys != nil && len(keys) < 5 && g.chance(0.6) {
			for i, k := range keys {
				items = append(items, item{e: k})
				b.key = append(b.key, i)
			}
		}
		for range 1 + g.weighted(3, 4, 3, 1) {
			items = append(items, item{e: g.expr(c, g.outputFamily(c), g.weighted(3, 4, 3))})
		}
		for _, m := range f.merged {
			if g.chance(0.6) {
				items = append(items, item{e: m})
			}
		}
		if !inner && g.chance(0.03) {
			if e, ok := g.arraySubquery(c); ok {
				items = append(items, item{e: e})
			}
		}
		if g.chance(0.09) && f.rows < 5000 {
			if e, ok := g.window(c); ok {
				items = append(items, item{e: e})
			}
		}
	}
	list, cols := g.output(items, inner)
	b.cols = cols
	for _, it := range items {
		b.repeat = append(b.repeat, it.e.sql)
	}
	distinct := ""
	if keys := f.sc.keys(); want == nil && keys != nil && g.chance(0.04) {
		return g.distinctOn(b, list, f, keys, where)
	}
	if b.comparable() && b.key == nil && g.chance(0.25) && !texts && !slices.ContainsFunc(items, untyped) {
		g.use("distinct")
		distinct = "DISTINCT "
		b.repeat = nil
		for i := range cols {
			b.key = append(b.key, i)
		}
	}
	b.sql = fmt.Sprintf("SELECT %s%s FROM %s%s", distinct, list, f.sql, where)
	return b
}

// distinctOn shows the first row, by the order of the keys, for each value of an expression.
func (g *gen) distinctOn(b built, list string, f fromClause, keys []expr, where string) built {
	c := ctx{sc: f.sc, plain: true}
	on := g.expr(c, g.familyOf(c, keyFamilies), g.weighted(5, 3))
	if isConstant(on.sql) || !on.t.canonical() || !on.t.orderable() {
		on = keys[0]
	}
	g.use("distinct on")
	order := on.sql + g.direction()
	for _, k := range keys {
		order += ", " + k.sql + g.direction()
	}
	b.sql = fmt.Sprintf("SELECT DISTINCT ON (%s) %s FROM %s%s ORDER BY %s", on.sql, list, f.sql, where, order)
	b.key, b.sorted = nil, true
	return b
}

// untyped finds json, which has no equality.
func untyped(it item) bool { return it.e.t.kind == JSON }

// exact makes an expression fit for a set operation: equal values must print alike.
func (g *gen) exact(e expr) expr {
	switch {
	case e.t.kind == Numeric && (e.t.special || e.t.max > 1e15):
		return expr{sql: "12.50", t: numType(2, 13)}
	case e.t.kind == Numeric:
		return expr{sql: fmt.Sprintf("CAST(%s AS numeric(20,2))", e.sql), t: numType(2, e.t.max+1)}
	case e.t.kind == Bpchar:
		return expr{sql: e.sql + "::text", t: typ{kind: Text}}
	default:
		return e
	}
}

// groupedSelect aggregates, by no key or by some.
func (g *gen) groupedSelect(want []family, inner bool) built {
	f, ok := fromClause{}, false
	if g.chance(0.25) {
		f, ok = g.star()
	}
	if !ok {
		f = g.from(g.weighted(8, 8, 5, 1), nil, maxRows)
	}
	where := g.where(f)
	keys := g.groupKeys(f)
	c := ctx{sc: f.sc, grouped: true, keys: keys}
	if f.measured != nil && g.chance(0.7) {
		c.sc = f.measured
	}
	b := built{rows: 1, key: []int{}}
	if len(keys) > 0 {
		b.rows = min(f.rows/2, 50)
	}
	var items []item
	shown, sets := true, false
	for i, k := range keys {
		if want == nil && g.chance(0.85) {
			b.key = append(b.key, len(items))
			items = append(items, item{e: k, alias: fmt.Sprintf("g%d_%d", i, g.aliases)})
		} else {
			shown = false
		}
	}
	for _, fam := range want {
		items = append(items, item{e: g.exact(g.expr(c, fam, 1))})
	}
	if want == nil {
		for range 1 + g.weighted(4, 4, 2) {
			items = append(items, item{e: g.expr(c, g.familyOf(c, measureFamilies), g.weighted(5, 3, 1))})
		}
		switch {
		case len(keys) > 0 && g.chance(0.07): // its rows are not told apart by the keys
			sets, shown = true, false
			if g.chance(0.5) {
				items = append(items, item{e: g.grouping(keys)})
			}
		case len(keys) > 0 && g.chance(0.08):
			if e, ok := g.window(c); ok {
				items = append(items, item{e: e})
			}
		}
	}
	list, cols := g.output(items, inner)
	b.cols = cols
	for _, it := range items {
		b.repeat = append(b.repeat, it.e.sql)
	}
	b.sql = fmt.Sprintf("SELECT %s FROM %s%s%s", list, f.sql, where, g.groupBy(keys, items, sets))
	if !shown {
		b.key = nil
	}
	if g.chance(0.16) {
		g.use("having")
		b.sql += " HAVING " + g.predicate(ctx{sc: c.sc, grouped: true, keys: keys}, 1+g.weighted(3, 1))
	}
	return b
}

// groupKeys picks the expressions to group by; none for an aggregate over everything.
func (g *gen) groupKeys(f fromClause) []expr {
	var keys []expr
	if n := g.weighted(3, 6, 4, 1); n > 0 {
		g.use("group by")
		if f.measured != nil && g.chance(0.5) {
			master := f.sc.rels[1]
			keys = append(keys, f.sc.ref(master, master.key[0]))
		}
		for range n {
			in := ctx{sc: f.sc, plain: true}
			k := g.expr(in, g.familyOf(in, keyFamilies), g.weighted(7, 3))
			if k.t.canonical() && !isConstant(k.sql) && !strings.HasPrefix(k.sql, "DATE ") {
				keys = append(keys, k)
			}
		}
	} else {
		g.use("aggregate without group by")
	}
	return keys
}

// groupBy writes the keys by expression, position or alias, in grouping sets if wanted.
func (g *gen) groupBy(keys []expr, items []item, sets bool) string {
	if len(keys) == 0 {
		return ""
	}
	var parts []string
	for _, k := range keys {
		at := slices.IndexFunc(items, func(it item) bool { return it.e.sql == k.sql && it.alias != "" })
		switch {
		case at >= 0 && g.chance(0.15):
			g.use("group by position")
			parts = append(parts, fmt.Sprint(at+1))
		case at >= 0 && g.chance(0.15):
			g.use("group by alias")
			parts = append(parts, items[at].alias)
		default:
			parts = append(parts, k.sql)
		}
	}
	list := strings.Join(parts, ", ")
	if sets {
		list = g.groupingSets(parts)
	}
	return " GROUP BY " + list
}
