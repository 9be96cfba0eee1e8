package translate

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// readsColumns reports whether a call reads a column, but for those that its subqueries read.
func readsColumns(f *pg.FuncCall) bool {
	found := false
	syntax.WalkAll(f.Args, func(n *pg.Node) bool {
		found = found || n.GetColumnRef() != nil
		return n.GetSubLink() == nil
	})
	return found
}

// constantElements are the rows that unnest(…) makes of an array which the statement spells out, or of a parameter.
func (q *query) constantElements(f *pg.FuncCall, numbered bool) (*rows, int64) {
	a := q.array(f.Args[0])
	e := with(a.oid, "c1", a.elements...)
	e.null = true
	if !isInteger(a.oid) && !isMoment(a.oid) && !isText(a.oid) && a.oid != oidBool && a.oid != oidUUID {
		fail("unnest of an array of this type")
	}
	texts := make([]string, len(a.elements))
	for i, element := range a.elements {
		texts[i] = element.sql
	}
	sql := selectElements("CAST(["+strings.Join(texts, ", ")+"], 'Array(Nullable("+e.engineType()+"))')", numbered)
	return &rows{sql: sql, columns: []outColumn{{name: "unnest", e: e}}, repeats: true}, int64(len(texts))
}

// selectElements selects the elements of an array, and their numbers if they are asked for.
func selectElements(array string, numbered bool) string {
	if !numbered {
		return "SELECT arrayJoin(" + array + ") AS c1"
	}
	return "SELECT x AS c1, toInt64(n) AS c2 FROM (SELECT " + array + " AS xs) ARRAY JOIN xs AS x, arrayEnumerate(xs) AS n"
}
