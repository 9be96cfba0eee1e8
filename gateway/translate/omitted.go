package translate

import (
	"fmt"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/syntax"
)

// omittedValue stands for a column that the replica does not have. What reads it is refused; a subquery may hand it on unread, as a
// view does that lists all columns of its table.
func omittedValue(c cdc.OmittedColumn) expr {
	return noValue(c.Type, fmt.Sprintf("column %q %s, and is not on the replica", c.Name, c.Detail))
}

func noValue(oid uint32, why string) expr {
	return expr{sql: engineNull("String"), oid: oid, null: true, opaque: true, pad: -1, omitted: why}
}

// requirePresent refuses values that the replica does not have.
func requirePresent(e expr) {
	if e.omitted != "" {
		fail("%s", e.omitted)
	}
}

// handedOn returns the column that an output is, if it is one that the replica does not have and whoever reads the result of the query
// decides what becomes of it.
func (q *query) handedOn(n *pg.Node) (expr, bool) {
	ref := n.GetColumnRef()
	if ref == nil || q.reader != readByFrom || q.grouped {
		return expr{}, false
	}
	c, ok := q.stars[ref]
	if !ok {
		c = q.scope.resolve(syntax.Strings(ref.Fields))
	}
	if c == nil || c.e.omitted == "" {
		return expr{}, false
	}
	return noValue(c.e.oid, c.e.omitted), true
}

// columnsOf lists a table's columns as the source has them, and those that are replicated by themselves.
func (t *translator) columnsOf(table *cdc.Table, id, number int) (all, replicated []*column) {
	src := t.sources[number]
	omitted := table.Omitted
	for i, c := range table.Columns {
		for ; len(omitted) > 0 && omitted[0].Attr < c.Attr; omitted = omitted[1:] {
			all = append(all, &column{name: omitted[0].Name, e: omittedValue(omitted[0])})
		}
		e := columnType(c)
		e.sql = leafName(id) + "." + ident(c.Name)
		e.refs = bit(id)
		e.table, e.attr, e.source, e.index = table.ID, c.Attr, number+1, i
		e.origin = columnID{number + 1, i}
		replicated = append(replicated, &column{name: c.Name, e: e, onUse: func() { src.used[i] = true }})
		all = append(all, replicated[i])
	}
	for _, c := range omitted {
		all = append(all, &column{name: c.Name, e: omittedValue(c)})
	}
	return all, replicated
}
