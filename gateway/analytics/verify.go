package analytics

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
		sql += overloadSQL(p.names) + classSQL + enumsSQL(p.enums)
	}
	rows, err := s.Ask(ctx, sql)
	if err != nil {
		return fmt.Errorf("check privileges and table definitions: %w", err)
	}
	facts, err := readFacts(rows)
	if err != nil {
		return fmt.Errorf("check privileges and table definitions: %w", err)
	}
	if err := sameSession(s, facts.askers); err != nil {
		return err
	}
	verdict := judge(facts, p)
	if verdict != nil { // it may be due to what a view was
		if err := r.review(ctx, s, p.views); err != nil {
			return err
		}
	}
	if seesPresent(s) {
		r.checks.Add(key, check{at: now, err: verdict})
	}
	return verdict
}

// seesPresent reports whether PostgreSQL answers the session by the catalog as it is now. In a block that keeps its snapshot the answer may be
// long outdated: other sessions must not rely on it.
func seesPresent(s *pgwire.SessionInfo) bool {
	inBlock := s.AskPlan == nil
	return !inBlock || s.Isolation == readCommitted
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
	for _, u := range p.enums {
		fmt.Fprintf(&b, "^%d%q%q:%d%s", u.ref.OID, u.ref.Schema, u.ref.Name, u.enum.OID, u.enum.Version)
	}
	fmt.Fprintf(&b, "%q%q%t%q%q%q", p.names.Functions, p.names.Operators, p.names.Casts, p.names.Called, p.names.Applied, p.names.Bound)
	return b.String()
}

// judge compares PostgreSQL's answer with what the plan assumes.
func judge(f *facts, p *planned) error {
	refuse := func(what, reason string) error { return &pgwire.RelayError{Reason: what + " " + reason} }
	if len(f.obstacles) > 0 {
		h := f.obstacles[0]
		if h.forbidden {
			return refuse("function "+h.name, "needs PostgreSQL to check the user's privileges on it")
		}
		return refuse(h.name, "may mean what the database defines by this name")
	}
	if name := f.renamed(p.enums); name != "" {
		p.overtaken.Store(true)
		return refuse("type "+name, "means another one by now, or has other labels")
	}
	for _, a := range p.plan.Accesses {
		rel, ok := f.relations[a.ID]
		switch what := p.describe(a.ID); {
		case !ok:
			return refuse(what, "was dropped")
		case !rel.mayRead:
			return refuse(what, "needs PostgreSQL to check the user's privileges on it")
		case rel.rowSecurity:
			return refuse(what, "has row-level security")
		case rel.children:
			return refuse(what, "has inheritance children")
		case p.unqualified[a.ID] && !rel.visible:
			return refuse(what, "is hidden by another relation in the search path")
		}
	}
	for _, rel := range p.plan.Relations {
		if have, ok := f.relations[rel.Table.ID]; !ok || have.columns != definition(rel.Table) {
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

// definition prints a table as checkSQL does, with the columns that are not replicated: which names there are decides
// what a statement means.
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
