package translate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/finish"
)

// sortKey is an item of ORDER BY.
type sortKey struct {
	e  expr
	by *pg.SortBy
}

// ranked reports whether the order of the client's rows is one that PostgreSQL has to tell: text under a collation that is not bytewise.
func (w *writer) ranked(keys []sortKey) bool {
	return w.q.reader == readByClient && w.q.t.env.Dialect == PostgreSQL &&
		slices.ContainsFunc(keys, func(k sortKey) bool { return w.q.t.isRanked(k.e) })
}

func (t *translator) isRanked(e expr) bool { return isString(e.oid) && !t.bytewise(e.collation) }

// writeRanked writes a SELECT whose rows package finish sorts and cuts off. Beside the output it yields what to sort by: strings as they are, and the
// ranks of all else.
func (w *writer) writeRanked(verb string, items []string, columns []outColumn, keys []sortKey, distinct bool) *rows {
	t := w.q.t
	sort := &finish.Sort{Ties: w.stmt.LimitOption == pg.LimitOption_LIMIT_OPTION_WITH_TIES}
	sort.Limit, sort.Limited = w.q.rowCount(w.stmt.LimitCount)
	sort.Offset, _ = w.q.rowCount(w.stmt.LimitOffset)
	outer := w.topNames()
	for i, k := range keys {
		name := "s" + strconv.Itoa(i+1)
		if distinct {
			name = w.distinctOrder(k.e)
		} else {
			items = append(items, t.rankable(k.e)+" AS "+name)
		}
		value := "CAST(dense_rank() OVER (ORDER BY " + name + direction(k.by) + "), 'Nullable(Int64)')"
		key := finish.SortKey{}
		if t.isRanked(k.e) {
			key = finish.SortKey{Collation: t.named(k.e.collation), Descending: isDescending(k.by), NullsFirst: isNullsFirst(k.by)}
			value = "CAST(" + name + ", 'Nullable(String)')"
		}
		sort.Keys = append(sort.Keys, key)
		outer = append(outer, value+" AS o"+strconv.Itoa(i+1))
	}
	list := selectList(items)
	inner := verb + list + t.fromText(w.q.from, w.q.where, w.q.joins, list)
	t.sort = sort
	return &rows{columns: columns, sql: fmt.Sprintf("SELECT %s FROM (%s LIMIT %d)", strings.Join(outer, ", "), inner, finish.MostSorted+1)}
}

// rankable is the text of a sort key whose strings PostgreSQL ranks.
func (t *translator) rankable(e expr) string {
	if t.isRanked(e) {
		return e.sql
	}
	return t.sortable(e)
}

// topNames are the engine's columns that the output is made of.
func (w *writer) topNames() []string {
	var names []string
	for i, x := range w.targets {
		for j := range finishColumn(x.e, w.q.t.env.Fields[i]).EngineTypes() {
			names = append(names, w.q.t.topName(i)+suffixes[j])
		}
	}
	return names
}

// named is the collation's name for PostgreSQL.
func (t *translator) named(c collation) string {
	switch c.name {
	case "":
		return cdc.DefaultCollation
	case unknownCollation:
		fail("text order under a collation that is not known")
	}
	return c.name
}
