package analytics

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/translate"
)

// facts is what PostgreSQL says of the relations that a statement reads and of the names that it uses, for the session
// that asks.
type facts struct {
	relations map[cdc.TableID]relationFact
	obstacles []obstacle
	enums     map[int]enumFact // by the number of the reference
	askers    []asker
}

// relationFact is what PostgreSQL says of a table or a view.
type relationFact struct {
	mayRead     bool // the user, or the owner of the view through which it is read
	rowSecurity bool
	children    bool   // tables inherit from it
	visible     bool   // its name alone means it in the search path
	columns     string // as [definition] prints them
}

// obstacle is a name that keeps the statement from the replica: of what the database defines, or of a function.
type obstacle struct {
	name      string
	forbidden bool // the user may not execute it
}

// asker is for whom an answer holds.
type asker struct{ role, path string }

// factKind is what a row of the answer tells of.
type factKind string

const (
	isRelation  factKind = "relation"
	isDefined   factKind = "defined"   // by the database
	isForbidden factKind = "forbidden" // to the user
	isEnum      factKind = "enum"
)

// factColumns are SQL expressions for a row of the answer. text is a relation's columns, an obstacle's name, or an enumeration's version.
type factColumns struct{ id, mayRead, rowSecurity, children, visible, text string }

// obstacleColumns is a row that tells of no relation.
func obstacleColumns(name string) factColumns {
	return factColumns{id: "0", mayRead: "false", rowSecurity: "false", children: "false", visible: "false", text: name}
}

// sql selects a row, with the role and the search path for which it holds. [readFacts] reads it.
func (c factColumns) sql(kind factKind) string {
	return "SELECT '" + string(kind) + "', " + strings.Join([]string{c.id, c.mayRead, c.rowSecurity, c.children, c.visible, c.text}, ", ") +
		", current_user::pg_catalog.text, " + pgwire.PathSQL
}

// factWidth is how many columns [factColumns.sql] selects.
const factWidth = 9

// readFacts reads the answer to [checkSQL], with what [overloadSQL] and [enumsSQL] add.
func readFacts(rows [][][]byte) (*facts, error) {
	f := &facts{relations: map[cdc.TableID]relationFact{}, enums: map[int]enumFact{}}
	for _, row := range rows {
		if len(row) != factWidth {
			return nil, fmt.Errorf("read what PostgreSQL says of relations: a row of %d values, want %d", len(row), factWidth)
		}
		text := func(i int) string { return string(row[i]) }
		is := func(i int) bool { return text(i) == "t" }
		id, err := strconv.ParseUint(text(1), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read what PostgreSQL says of relations: %w", err)
		}
		switch kind := factKind(text(0)); kind {
		case isRelation:
			f.relations[cdc.TableID(id)] = relationFact{mayRead: is(2), rowSecurity: is(3), children: is(4), visible: is(5), columns: text(6)}
		case isDefined, isForbidden:
			f.obstacles = append(f.obstacles, obstacle{name: text(6), forbidden: kind == isForbidden})
		case isEnum:
			if err := f.addEnum(uint32(id), text(6)); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("read what PostgreSQL says of relations: a row of kind %q", kind)
		}
		f.askers = append(f.askers, asker{role: text(7), path: text(8)})
	}
	return f, nil
}

// sameSession returns an error if PostgreSQL's answer is for another role or search path than the session is known to
// have: a trigger may have changed them, and somebody else which schemas there are, and which of them the user may use.
func sameSession(s *pgwire.SessionInfo, askers []asker) error {
	path := strings.Join(s.SearchPath, "\x01")
	for _, a := range askers {
		switch {
		case a.role != s.User:
			return &pgwire.RelayError{Reason: fmt.Sprintf("the session's role is %q by now", a.role), Stale: true}
		case a.path != path:
			return &pgwire.RelayError{Reason: "the session's search path has other schemas by now", Stale: true}
		}
	}
	return nil
}

// checkSQL asks for the facts of relations. It keeps to what CockroachDB documents too, but for views, which it has
// none of. As all that is asked on the session's connection, it names nothing that is looked up in the session's search
// path, which may begin with the user's own operators.
func checkSQL(accesses []translate.Access) string {
	var ids []string
	privileges := map[string][]string{}
	for _, a := range accesses {
		id, role := strconv.FormatUint(uint64(a.ID), 10), ""
		if a.As != 0 {
			role = strconv.FormatUint(uint64(a.As), 10) + "::pg_catalog.oid, "
		}
		if privileges[id] == nil {
			ids = append(ids, id)
		}
		privileges[id] = append(privileges[id], "pg_catalog.has_table_privilege("+role+"c.oid, 'SELECT')")
		if a.As == 0 {
			privileges[id] = append(privileges[id], "pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE')")
		}
	}
	may, which := "CASE", make([]string, len(ids))
	for i, id := range ids {
		which[i] = "c.oid OPERATOR(pg_catalog.=) " + id + "::pg_catalog.oid"
		may += " WHEN " + which[i] + " THEN " + strings.Join(privileges[id], " AND ")
	}
	return factColumns{
		id: "c.oid", mayRead: may + " END", rowSecurity: "c.relrowsecurity",
		children: `c.relhassubclass AND c.relkind OPERATOR(pg_catalog.<>) 'p'
 AND EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhparent OPERATOR(pg_catalog.=) c.oid)`,
		visible: "pg_catalog.pg_table_is_visible(c.oid)",
		text: `(SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.attnum::pg_catalog.text, a.atttypid::pg_catalog.text,
   a.atttypmod::pg_catalog.text, a.attname::pg_catalog.text), E'\n' ORDER BY a.attnum)
  FROM pg_catalog.pg_attribute a
  WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped)`,
	}.sql(isRelation) + " FROM pg_catalog.pg_class c WHERE " + strings.Join(which, " OR ")
}
