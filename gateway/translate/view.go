package translate

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/syntax"
)

// View is a view with its query parsed. It is immutable.
type View struct {
	*cdc.View
	query *syntax.Tree
}

// ParseView parses a view's query. The error is an [*Unsupported] when the grammar does not know it.
func ParseView(v *cdc.View) (*View, error) {
	t, err := syntax.Parse(v.Query)
	if err != nil || t.Query() == nil {
		return nil, unsupported("view %s: its query does not parse", v.FullName())
	}
	return &View{v, t}, nil
}

// AsksTime reports whether its translation needs [Env.Clock].
func (v *View) AsksTime() bool { return v.query.AsksTime() }

// Names are those of its query.
func (v *View) Names() syntax.Names { return v.query.PrintedNames() }

// searchPath is where names without a schema are looked for: in a view's query they are built in.
func (t *translator) searchPath() []string {
	if t.inside != nil {
		return nil
	}
	return t.env.SearchPath
}

// read notes that a relation is read. In a view it must be what the view's query was printed for.
func (t *translator) read(id cdc.TableID, version string) {
	if v := t.inside; v != nil && (version == "" || v.Reads[id] != version) {
		panic(&Unsupported{Reason: "a relation of a view was defined anew just now", Outdated: true})
	}
	if a := (Access{id, t.as}); !slices.Contains(t.accesses, a) {
		t.accesses = append(t.accesses, a)
	}
}

// viewRef makes a FROM item of a view's query.
func (q *query) viewRef(ref *pg.RangeVar) (*tree, namespace) {
	t := q.t
	if ref.Schemaname == "" && t.inside != nil {
		fail("a relation that is built in")
	}
	name := AbsentTable{ref.Schemaname, ref.Relname}
	v, ok := t.env.Views[name]
	if !ok {
		panic(&Unsupported{Reason: "table that is not replicated", Absent: &name})
	}
	t.read(v.ID, v.Version)
	leaf, names := q.subselect(q.viewRows(v), ref.Alias, v.Name)
	for i, c := range names.visible {
		c.e.table, c.e.attr = v.ID, v.Columns[i].Attr
	}
	it := names.items[0]
	if ref.Alias == nil {
		it.schema = v.Schema
	}
	it.whole = len(ref.GetAlias().GetColnames()) == 0 // else PostgreSQL has the view's own names in it
	return leaf, names
}

// viewRows translates a view's query, which sees nothing of what is around the view.
func (q *query) viewRows(v *View) *rows {
	t, stmt := q.t, v.query.Query()
	inside, as := t.inside, t.as
	defer func() {
		t.inside, t.as = inside, as
		r := recover()
		if u, ok := r.(*Unsupported); ok && *u == (Unsupported{Reason: u.Reason}) { // the others ask for something
			r = &Unsupported{Reason: "view " + v.FullName() + ": " + u.Reason}
		}
		if r != nil {
			panic(r)
		}
	}()
	switch class := v.query.Classify(v.Query); {
	case v.Barrier:
		fail("security_barrier")
	case v.Owner == 0 && inside != nil && as != 0:
		fail("security_invoker below a view that is read as its owner")
	case class.Reason != "":
		fail("%s", class.Reason)
	case len(stmt.SortClause) > 0 && t.unsorted:
		fail("its order, which the statement shows without asking for one")
	}
	t.inside = v
	if v.Owner != 0 {
		t.as = v.Owner
	}
	r := t.selectStmt(stmt, nil, readByFrom)
	if len(r.columns) != len(v.Columns) {
		fail("columns that are not those described")
	}
	for i, c := range r.columns {
		if c.e.oid != v.Columns[i].Type {
			fail("columns that are not those described")
		}
		r.columns[i].name = v.Columns[i].Name
	}
	return r
}
