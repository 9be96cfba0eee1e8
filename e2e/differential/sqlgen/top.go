package sqlgen

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// top generates a whole statement.
func (g *gen) top() Query {
	with := ""
	if g.chance(0.12) {
		with = g.with()
	}
	var b built
	switch g.weighted(48, 38, 14) {
	case 0:
		b = g.plainSelect(nil, false)
	case 1:
		b = g.groupedSelect(nil, false)
	default:
		b = g.setOperation()
	}
	q := Query{SQL: with + b.sql}
	if b.sorted {
		return q
	}
	if g.chance(0.7) {
		limit := g.chance(0.4)
		clause, keys, total := g.orderBy(b, limit)
		q.SQL += clause
		q.OrderBy, q.Total = keys, total
		if clause != "" {
			g.use("order by")
		}
		switch {
		case limit && total:
			q.SQL += g.limit()
		case !limit && clause != "" && g.chance(0.05):
			g.use("with ties")
			q.SQL += fmt.Sprintf(" FETCH FIRST %d ROWS WITH TIES", 1+g.r.IntN(20))
		}
	} else if g.chance(0.02) {
		q.SQL += " LIMIT 0"
	}
	if len(q.OrderBy) > 0 && g.chance(0.05) {
		g.wrap(&q)
	}
	return q
}

// wrap writes around an ordered query what tools do, which shows its rows in the same order.
func (g *gen) wrap(q *Query) {
	g.use("order of a subquery")
	shape := "SELECT * FROM (%s) wrapped"
	if g.chance(0.3) {
		shape = "WITH wrapped AS (%s) SELECT * FROM wrapped"
	}
	q.SQL = fmt.Sprintf(shape, q.SQL)
	if q.Total && g.chance(0.6) {
		q.SQL += g.limit()
	}
}

func (g *gen) with() string {
	n := 1 + g.weighted(3, 1)
	var parts []string
	var made []*relation
	for range n {
		name := g.alias("w")
		if g.chance(0.04) {
			g.use("recursive cte")
			made = append(made, &relation{alias: name, rows: 10, key: []int{0}, cols: []column{{name: "n", t: intType(Int4, 10), distinct: 10, domain: "key"}}})
			parts = append(parts, fmt.Sprintf("%s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM %s WHERE n < 10)", name, name))
			continue
		}
		b := g.subquery()
		made = append(made, b.relation(name))
		parts = append(parts, fmt.Sprintf("%s AS %s(%s)", name, g.one("", "", "MATERIALIZED "), b.sql))
		g.ctes = made[:len(made):len(made)]
	}
	g.ctes = made
	g.use("cte")
	word := "WITH "
	if g.feats["recursive cte"] {
		word = "WITH RECURSIVE "
	}
	return word + strings.Join(parts, ", ") + " "
}

// subquery is a query for FROM or WITH: unique column names, perhaps cut off by LIMIT.
func (g *gen) subquery() built {
	var b built
	switch g.weighted(5, 5, 2) {
	case 0:
		b = g.plainSelect(nil, true)
	case 1:
		b = g.groupedSelect(nil, true)
	default:
		b = g.setOperation()
	}
	if !b.sorted && g.chance(0.12) {
		if clause, _, total := g.orderBy(b, true); total {
			g.use("limit in a subquery")
			b.sql += clause + g.limit()
			b.rows = min(b.rows, 20)
		}
	}
	return b
}

// setOperation combines selects of the same column types.
func (g *gen) setOperation() built {
	want := make([]family, 1+g.r.IntN(3))
	for i := range want {
		want[i] = []family{famInt, famInt, famNum, famStr, famStr, famDate, famBool, famTS}[g.r.IntN(8)]
	}
	branch := func() built {
		if g.chance(0.6) {
			return g.plainSelect(want, true)
		}
		return g.groupedSelect(want, true)
	}
	b := branch()
	b.repeat = nil
	if clause, _, total := g.orderBy(b, true); total && !b.sorted && clause != "" && g.chance(0.06) {
		g.use("limit in an arm")
		b.sql = "(" + b.sql + clause + g.limit() + ")"
	}
	for range 1 + g.weighted(4, 1) {
		other := branch()
		op := g.one("UNION ALL", "UNION", "UNION ALL", "EXCEPT", "INTERSECT", "UNION", "EXCEPT ALL", "INTERSECT ALL")
		g.use(strings.ToLower(op))
		b.sql = fmt.Sprintf("%s %s %s", parenthesised(b.sql), op, other.sql)
		b.key = nil
		b.rows += other.rows
		for i := range b.cols {
			b.cols[i].t = unify(b.cols[i].t, other.cols[i].t)
			b.cols[i].pool, b.cols[i].domain = nil, ""
		}
		if !strings.HasSuffix(op, "ALL") {
			b.key = nil
			for i := range b.cols {
				b.key = append(b.key, i)
			}
		}
	}
	return b
}

// parenthesised keeps INTERSECT from binding tighter than what stands before it.
func parenthesised(sql string) string {
	for _, op := range []string{" UNION ", " EXCEPT ", " INTERSECT "} {
		if strings.Contains(sql, op) {
			return "(" + sql + ")"
		}
	}
	return sql
}

// orderBy sorts by some output columns; all asks for a total order, if there is one. It returns
// the columns by which the sequence is known and whether it is known entirely.
func (g *gen) orderBy(b built, all bool) (string, []int, bool) {
	var order []int
	for range 1 + g.weighted(4, 3) {
		i := g.r.IntN(len(b.cols))
		if b.cols[i].t.orderable() && b.cols[i].t.canonical() {
			order = append(order, i)
		}
	}
	total := false
	if all {
		switch {
		case b.key != nil:
			order = append(order, b.key...)
			total = true
		case b.comparable():
			for i := range b.cols {
				order = append(order, i)
			}
			total = true
		}
	}
	if len(order) == 0 {
		return "", nil, total && len(b.key) == 0 && b.key != nil
	}
	var parts []string
	for _, i := range order {
		name := fmt.Sprint(i + 1)
		switch {
		case b.cols[i].name != "" && g.chance(0.5):
			name = b.cols[i].name
		case i < len(b.repeat) && !isConstant(b.repeat[i]) && !b.shadowed(i) && g.chance(0.4):
			g.use("order by expression")
			name = b.repeat[i]
		}
		parts = append(parts, name+g.direction())
	}
	return " ORDER BY " + strings.Join(parts, ", "), order, total
}

// shadowed says that ORDER BY may take an output expression, which is a bare name, for the name that PostgreSQL gives another column.
func (b built) shadowed(i int) bool {
	unnamed := func(c column) bool { return c.name == "" }
	return bareName.MatchString(b.repeat[i]) && (slices.ContainsFunc(b.cols[:i], unnamed) || slices.ContainsFunc(b.cols[i+1:], unnamed))
}

var bareName = regexp.MustCompile(`^([a-z_][a-z0-9_]*|"([^"]|"")*")$`)

func (g *gen) limit() string {
	g.use("limit")
	s := fmt.Sprintf(g.one(" LIMIT %d", " LIMIT %d", " FETCH FIRST %d ROWS ONLY"), 1+g.r.IntN(20))
	if g.chance(0.35) && !strings.Contains(s, "FETCH") {
		g.use("offset")
		s += fmt.Sprintf(" OFFSET %d", g.r.IntN(8))
	}
	return s
}
