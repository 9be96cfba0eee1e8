package translate

import (
	"slices"
	"strconv"
	"strings"
)

// early is an aggregation that begins before its joins: details are aggregated by the key of their master before they
// meet it, and the joined aggregates are aggregated again. The inner joins neither see nor multiply what is aggregated,
// since all that is read of the details elsewhere is among the keys, and all else hangs off them.
type early struct {
	t *translator
	// details are aggregated, joined from the first one on, by the conditions within; the others are joined by beyond.
	details, others []*tree
	within, beyond  []expr
	master          *tree
	// ties equate columns of details and master.
	ties []tie
	// columns are what is read of the details elsewhere.
	columns []reference
	// merges has, for each aggregate of the group, the function over its partial results; empty for one that stays
	// where it is.
	merges []string
}

// earliness says how many details a master must have, on average, for the additional aggregation to be worth it.
const earliness = 4

// aggregateEarly finds the fewest details that can be aggregated before the rest is joined; nil if there are none.
func (t *translator) aggregateEarly(parts []*tree, conds []expr, keys []string, aggs []engineCall) *early {
	root := largest(parts)
	parents := hangOff(root, parts, conds)
	if len(parents) != len(parts)-1 || root.source == 0 || root.rows == 0 {
		return nil
	}
	details := []*tree{root}
	for {
		masters := slices.DeleteFunc(slices.Clone(parts), func(p *tree) bool {
			return !slices.Contains(details, parents[p]) || slices.Contains(details, p)
		})
		if len(masters) != 1 {
			return nil
		}
		e := &early{t: t, details: details, master: masters[0]}
		e.others = slices.DeleteFunc(slices.Clone(parts), func(p *tree) bool { return slices.Contains(details, p) })
		e.within, e.beyond = within(e.mask(), conds)
		if float64(earliness*e.master.rows) <= root.expected(conds) && e.split(aggs) && e.readsKeysOnly(keys, aggs) {
			return e
		}
		details = append(slices.Clone(details), e.master)
	}
}

func (e *early) mask() uint64 { return (&tree{parts: e.details}).mask() }

// split finds the partial aggregates, if the rest of the query does without what they read.
func (e *early) split(aggs []engineCall) bool {
	if slices.ContainsFunc(e.beyond, func(c expr) bool { return c.keys == nil && c.refs != 0 && !c.lenient }) {
		return false // it may leave few of the aggregates
	}
	others := (&tree{parts: e.others}).mask()
	e.merges = make([]string, len(aggs))
	for i, a := range aggs {
		switch {
		case relations(a.args)&others != 0:
			if !a.ignoresRepetition() {
				return false
			}
		case a.merge() == "":
			return false
		default:
			e.merges[i] = a.merge()
		}
	}
	return true
}

// readsKeysOnly reports whether all that is read of the details elsewhere is equated with the master's key. There are no
// more partial results than rows of the master then, of those that find one.
func (e *early) readsKeysOnly(keys []string, aggs []engineCall) bool {
	text := all(e.beyond) + strings.Join(keys, " ")
	for i, a := range aggs {
		if e.merges[i] == "" {
			text += a.args
		}
	}
	e.ties = e.findTies()
	for _, r := range references(text) {
		switch {
		case e.mask()&bit(r.leaf) == 0 || slices.Contains(e.columns, r):
		case slices.ContainsFunc(e.ties, func(t tie) bool { return t.detail == r }):
			e.columns = append(e.columns, r)
		default:
			return false
		}
	}
	return len(e.columns) > 0
}

// tie is a column of the master and the details' column that it is equated with.
type tie struct {
	master, detail reference
	exact          bool // one value of the master equals one value of the details at most
}

func (e *early) findTies() []tie {
	var out []tie
	for _, c := range e.beyond {
		if c.keys == nil {
			continue // a constant
		}
		own, other, ok := c.keys.from(e.master.mask())
		if !ok {
			continue
		}
		m, d := references(own.sql), references(other.sql)
		if len(m) == 1 && len(d) == 1 && own.sql == m[0].sql() && other.sql == d[0].sql() {
			out = append(out, tie{m[0], d[0], sameEngineType(own, other)})
		}
	}
	return out
}

// isUnique reports whether the keys tell apart all rows of the join, which are those of the master.
func (e *early) isUnique(keys []string) bool {
	exact := func(is func(tie) bool) bool {
		return slices.ContainsFunc(e.ties, func(t tie) bool { return t.exact && is(t) })
	}
	for _, c := range e.columns {
		if !exact(func(t tie) bool { return t.detail == c }) {
			return false
		}
	}
	table := e.t.sources[e.master.source-1].table
	return !slices.ContainsFunc(e.master.key, func(k int) bool {
		column := reference{e.master.id, ident(table.Columns[k].Name)}
		return !exact(func(t tie) bool {
			return t.master == column && (slices.Contains(keys, t.master.sql()) || slices.Contains(keys, t.detail.sql()))
		})
	})
}

// text writes the aggregation over the join: k1, k2, … and a1, a2, ….
func (e *early) text(keys []string, aggs []engineCall) string {
	var columns, partial []string
	for _, c := range e.columns {
		columns, partial = append(columns, c.sql()), append(partial, c.export())
	}
	merged := slices.Clone(aggs)
	for i, merge := range e.merges {
		if merge != "" {
			name := "p" + strconv.Itoa(i+1)
			partial = append(partial, aggs[i].partial()+" AS "+name)
			merged[i].function, merged[i].args = merge, e.details[0].alias()+"."+name
		}
	}
	sums := &tree{parts: e.details, rows: e.master.rows, wrapped: func(t *translator) string {
		return "(" + t.selectFrom(e.details, e.within, partial) + " GROUP BY " + strings.Join(columns, ", ") + ")"
	}}
	grouped := !e.isUnique(keys) || slices.ContainsFunc(merged, func(a engineCall) bool { return a.ofOne() == "" })
	list := keyItems(keys)
	for i, a := range merged {
		text := a.sql()
		if !grouped {
			text = a.ofOne()
		}
		list = append(list, text+" AS a"+strconv.Itoa(i+1))
	}
	text := e.t.selectFrom(append([]*tree{sums}, e.others...), e.beyond, list)
	if grouped && len(keys) > 0 {
		text += " GROUP BY " + strings.Join(keyNames(keys), ", ")
	}
	return text
}
