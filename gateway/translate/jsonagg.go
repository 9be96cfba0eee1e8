package translate

import (
	pg "github.com/pganalyze/pg_query_go/v6"
)

// jsonAggregates make a json or a jsonb of values, and which of them.
var jsonAggregates = map[string]uint32{"json_agg": oidJSON, "jsonb_agg": oidJSONB, "json_object_agg": oidJSON, "jsonb_object_agg": oidJSONB}

// jsonAgg translates json_agg(value ORDER BY …) and jsonb_agg(value ORDER BY …).
func (q *query) jsonAgg(f *pg.FuncCall, w jsonWriter) expr {
	l := q.listingOf(f, w.value)
	if len(l.args) != 1 {
		fail("%s of another form", l.name)
	}
	value := l.args[0]
	if l.distinct && !isInteger(value.oid) && !isString(value.oid) {
		fail("%s of distinct values of this type", l.name)
	}
	comma := "', '"
	if value.oid == oidRecord && w.oid == oidJSON { // which PostgreSQL writes one to a line
		comma = `', \n '`
	}
	out := w.listed(l.of(value, w.inside(value), with(oidText, "", value)))
	out.sql = "if(empty(" + out.sql + "), NULL, concat('[', arrayStringConcat(" + out.sql + ", " + comma + "), ']'))"
	return out
}

// listed describes what is made of a list.
func (w jsonWriter) listed(list expr) expr {
	list.oid, list.opaque, list.null, list.pad, list.collation = w.oid, true, true, -1, collation{}
	return list
}

// jsonObjectAgg translates json_object_agg(key, value ORDER BY …), and jsonb_object_agg(key, value), which has its keys in an order of its own. Of
// several values of a key a jsonb has the last that PostgreSQL finds, which is its own.
func (q *query) jsonObjectAgg(f *pg.FuncCall, w jsonWriter) expr {
	if f.AggDistinct || len(f.Args) != 2 || w.oid == oidJSONB && len(f.AggOrder) > 0 {
		fail("json object of values in this form")
	}
	if w.oid == oidJSONB { // any order will do
		f = &pg.FuncCall{Funcname: f.Funcname, Args: f.Args, AggFilter: f.AggFilter, AggOrder: []*pg.Node{{Node: &pg.Node_SortBy{SortBy: &pg.SortBy{Node: f.Args[0]}}}}}
	}
	l := q.listingOf(f, w.value)
	key, value := l.args[0], l.args[1]
	if !isText(key.oid) || key.opaque || key.lit != nil {
		fail("json object with keys of this type")
	}
	colon, start, end := "' : '", "'{ '", "' }'"
	if w.oid == oidJSONB {
		colon, start, end = "':'", "'{'", "'}'"
	}
	quoted := w.quoted(key.sql)
	if key.null {
		quoted = guarded(quoted, "isNull("+key.sql+")", "key of a json object that is NULL")
	}
	column := with(oidText, "", key, value)
	column.fails = column.fails || key.null || w.oid == oidJSONB
	text := "concat(assumeNotNull(" + quoted + "), " + colon + ", " + w.inside(value) + ")"
	var out expr
	var members string
	if w.oid == oidJSON {
		out = w.listed(l.of(value, text, column))
		members = "arrayStringConcat(" + out.sql + ", ', ')"
	} else {
		collect := aggregation{q: q, some: true, filter: l.filter}
		tuples := collect.call("groupArray", "tuple(length("+key.sql+"), assumeNotNull("+key.sql+"), "+text+")").plain()
		out = w.listed(q.aggregated(engineCall{args: "arraySort(" + tuples + ")"}, column))
		twice := "length(arrayDistinct(arrayMap(m -> m.2, " + out.sql + "))) < length(" + out.sql + ")"
		members = guarded("arrayStringConcat(arrayMap(m -> m.3, "+out.sql+"), ', ')", twice, "jsonb object with a key twice")
	}
	out.sql = "if(empty(" + out.sql + "), NULL, concat(" + start + ", " + members + ", " + end + "))"
	return out
}
