package syntax

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// findings is what inspect found in one SELECT.
type findings struct {
	tables   int // but for catalogs
	catalogs int
	// unqualified are those of tables that are catalogs unless the search path has others before.
	unqualified int
	locking     bool
	modifies    bool
	// parameters are named ($1).
	parameters bool
	writes     string // why it may write
}

// withQueries are the names of WITH queries that a part of a statement may read; nil: none.
type withQueries struct {
	name  string
	outer *withQueries
}

func (w *withQueries) has(name string) bool {
	for ; w != nil; w = w.outer {
		if w.name == name {
			return true
		}
	}
	return false
}

func inspect(s *pg.SelectStmt) findings {
	var q findings
	Walk(&pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: s}}, q.visitor(nil))
	if q.modifies {
		q.writes = "data-modifying WITH"
	}
	return q
}

// visitor looks at what may read the given WITH queries.
func (q *findings) visitor(with *withQueries) func(*pg.Node) bool {
	return func(n *pg.Node) bool {
		switch v := n.Node.(type) {
		case *pg.Node_SelectStmt:
			q.locking = q.locking || len(v.SelectStmt.LockingClause) > 0
			if v.SelectStmt.WithClause != nil {
				walkBody(v.SelectStmt, q.visitor(q.with(v.SelectStmt.WithClause, with)))
				return false
			}
		case *pg.Node_RangeVar:
			q.relation(v.RangeVar, with)
		case *pg.Node_ParamRef:
			q.parameters = true
		case *pg.Node_FuncCall:
			if !harmless[FunctionName(v.FuncCall)] && !ofInformationSchema(v.FuncCall) {
				q.writes = "function " + KnownName("")
			}
		}
		return true
	}
}

// with looks at WITH queries, and returns them behind those that are there. Each may read those before it: of its own
// name it reads a table, unless they are RECURSIVE.
func (q *findings) with(clause *pg.WithClause, there *withQueries) *withQueries {
	all := there
	for _, n := range clause.Ctes {
		all = &withQueries{n.GetCommonTableExpr().GetCtename(), all}
	}
	for _, n := range clause.Ctes {
		c := n.GetCommonTableExpr()
		q.modifies = q.modifies || c.GetCtequery().GetSelectStmt() == nil
		if clause.Recursive {
			Walk(c.GetCtequery(), q.visitor(all))
			continue
		}
		Walk(c.GetCtequery(), q.visitor(there))
		there = &withQueries{c.GetCtename(), there}
	}
	return all
}

func (q *findings) relation(r *pg.RangeVar, with *withQueries) {
	switch {
	case isCatalog(r):
		q.catalogs++
	case r.Schemaname == "" && with.has(r.Relname):
	case r.Schemaname == "" && catalogs[r.Relname]:
		q.unqualified++
		q.tables++
	default:
		q.tables++
	}
}

// catalogs are system catalogs of every version of PostgreSQL, which drivers and tools ask for without their schema.
var catalogs = func() map[string]bool {
	named := map[string]bool{}
	for _, name := range strings.Fields(`am attrdef attribute auth_members cast class collation constraint conversion database
		depend description enum event_trigger extension foreign_data_wrapper foreign_server foreign_table index indexes inherits
		language locks matviews namespace opclass operator opfamily partitioned_table policies policy proc publication range
		rewrite roles rules sequence sequences settings shdescription stat_activity stat_user_tables tables tablespace
		timezone_abbrevs timezone_names trigger type user views`) {
		named["pg_"+name] = true
	}
	return named
}()

// isCatalog reports whether a relation is a system catalog, named with its schema. That of large objects holds data.
func isCatalog(r *pg.RangeVar) bool {
	switch r.Schemaname {
	case "pg_catalog":
		return r.Relname != "pg_largeobject"
	case "information_schema":
		return true
	}
	return false
}

// ofInformationSchema reports whether a function is one of those that the views of the information schema, and drivers like them, call.
func ofInformationSchema(f *pg.FuncCall) bool {
	names := Strings(f.Funcname)
	return len(names) == 2 && names[0] == "information_schema" && strings.HasPrefix(names[1], "_pg_")
}
