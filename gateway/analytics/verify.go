package analytics

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/freshness"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/translate"
)

// checkLife is the longest time that a check of privileges and definitions is relied on.
// It is never longer than the staleness that the session allows its data.
const checkLife = time.Second

// check is what PostgreSQL said of a user and a set of tables.
type check struct {
	at  time.Time
	err error
}

// verify asks PostgreSQL, as the session's user, whether tables and views may be read, and whether tables are still
// defined as the replica has them. PostgreSQL checks privileges when it executes, not when it
// describes, and a definition may change without a row that tells the stream.
func (r *Router) verify(ctx context.Context, s *pgwire.SessionInfo, p *planned) error {
	key := checkKey(s, p)
	now := r.clock()
	if c, ok := r.checks.Get(key); ok && now.Sub(c.at) < checkBound(s) {
		return c.err
	}
	sql := checkSQL(p.plan.Accesses)
	if r.cfg.Dialect == translate.PostgreSQL {
		sql += overloadSQL(p.names)
	}
	rows, err := s.Ask(ctx, sql)
	if err != nil {
		return fmt.Errorf("check privileges and table definitions: %w", err)
	}
	if err := sameSession(s, rows); err != nil {
		return err
	}
	verdict := judge(rows, p)
	if verdict != nil { // it may be due to what a view was
		limited, cancel := r.withinLag(ctx, s)
		defer cancel()
		if err := r.views.review(limited, p.views); err != nil {
			return unanswered(ctx, "the definition of a view could not be read", err)
		}
	}
	r.checks.Add(key, check{at: now, err: verdict})
	return verdict
}

// checkBound is how old a check may be for this session's next answer.
func checkBound(s *pgwire.SessionInfo) time.Duration {
	need := requirement(s)
	switch {
	case s.WroteSince || need.Mode == freshness.Strong:
		return 0
	case need.Mode == freshness.Eventual:
		return checkLife
	}
	return min(checkLife, need.Bound())
}

func checkKey(s *pgwire.SessionInfo, p *planned) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:%s%q", len(s.User), s.User, s.SearchPath)
	for _, a := range p.plan.Accesses {
		fmt.Fprintf(&b, ",%d:%d%t", a.ID, a.As, p.unqualified[a.ID])
	}
	for _, rel := range p.plan.Relations {
		fmt.Fprintf(&b, "@%d:%s", rel.Table.ID, rel.Table.Version)
	}
	fmt.Fprintf(&b, "%q%q%t%q%q%q", p.names.Functions, p.names.Operators, p.names.Casts, p.names.Called, p.names.Applied, p.names.Bound)
	return b.String()
}

// checkSQL keeps to what CockroachDB documents too, but for views, which it has none of. As all that is asked on the session's connection, it names
// nothing that is looked up in the session's search path, which may begin with the user's own operators.
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
	return `SELECT c.oid, ` + may + ` END, c.relrowsecurity,
 c.relhassubclass AND c.relkind OPERATOR(pg_catalog.<>) 'p' AND EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhparent OPERATOR(pg_catalog.=) c.oid),
 (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.attnum::pg_catalog.text, a.atttypid::pg_catalog.text, a.atttypmod::pg_catalog.text,
   a.attname::pg_catalog.text), E'\n' ORDER BY a.attnum)
  FROM pg_catalog.pg_attribute a WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped),
 pg_catalog.pg_table_is_visible(c.oid), ` + sessionSQL + `
 FROM pg_catalog.pg_class c WHERE ` + strings.Join(which, " OR ")
}

// sessionSQL are the columns by which an answer tells for which role and search path it holds.
const sessionSQL = "current_user::pg_catalog.text, " + pgwire.PathSQL

// sameSession returns an error if PostgreSQL's answer is for another role or search path than the session is known to have: a trigger may have changed
// them, and somebody else which schemas there are, and which of them the user may use.
func sameSession(s *pgwire.SessionInfo, rows [][][]byte) error {
	path := strings.Join(s.SearchPath, "\x01")
	for _, row := range rows {
		if role := string(row[6]); role != s.User {
			return &pgwire.RelayError{Reason: fmt.Sprintf("the session's role is %q by now", role), Stale: true}
		}
		if string(row[7]) != path {
			return &pgwire.RelayError{Reason: "the session's search path has other schemas by now", Stale: true}
		}
	}
	return nil
}

// judge compares PostgreSQL's answer with what the plan assumes.
func judge(rows [][][]byte, p *planned) error {
	found := map[string][][]byte{}
	for _, row := range rows {
		found[string(row[0])] = row
	}
	refuse := func(what, reason string) error { return &pgwire.RelayError{Reason: what + " " + reason} }
	if row := found[noRelation]; row != nil {
		if string(row[1]) == "t" {
			return refuse("function "+string(row[4]), "needs PostgreSQL to check the user's privileges on it")
		}
		return refuse(string(row[4]), "may mean what the database defines by this name")
	}
	for _, a := range p.plan.Accesses {
		row, ok := found[strconv.FormatUint(uint64(a.ID), 10)]
		switch what := p.describe(a.ID); {
		case !ok:
			return refuse(what, "was dropped")
		case string(row[1]) != "t":
			return refuse(what, "needs PostgreSQL to check the user's privileges on it")
		case string(row[2]) == "t":
			return refuse(what, "has row-level security")
		case string(row[3]) == "t":
			return refuse(what, "has inheritance children")
		case p.unqualified[a.ID] && string(row[5]) != "t":
			return refuse(what, "is hidden by another relation in the search path")
		}
	}
	for _, rel := range p.plan.Relations {
		row := found[strconv.FormatUint(uint64(rel.Table.ID), 10)]
		if len(row) == 0 || string(row[4]) != definition(rel.Table) {
			return refuse(p.describe(rel.Table.ID), "has a definition that the replica does not have yet")
		}
	}
	return nil
}

// describe names a table or a view that the plan reads.
func (p *planned) describe(id cdc.TableID) string {
	for _, rel := range p.plan.Relations {
		if rel.Table.ID == id {
			return "table " + rel.Table.FullName()
		}
	}
	for _, v := range p.views {
		if v.ID == id {
			return "view " + v.FullName()
		}
	}
	return fmt.Sprintf("relation %d", id)
}

// definition prints a table as checkSQL does, with the columns that are not replicated: which names there are decides what a statement means.
func definition(t *cdc.Table) string {
	columns := slices.Clone(t.Columns)
	for _, c := range t.Omitted {
		columns = append(columns, c.Column)
	}
	slices.SortFunc(columns, func(a, b cdc.Column) int { return cmp.Compare(a.Attr, b.Attr) })
	lines := make([]string, len(columns))
	for i, c := range columns {
		declared, modifier := c.Type, c.Modifier
		if c.Domain != 0 {
			declared, modifier = c.Domain, -1 // a domain takes no modifier; what it is over never changes
		}
		lines[i] = fmt.Sprintf("%d %d %d %s", c.Attr, declared, modifier, c.Name)
	}
	return strings.Join(lines, "\n")
}
