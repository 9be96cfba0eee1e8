package analytics

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/syntax"
	"github.com/freshet-io/freshet/gateway/translate"
)

// hidden is what PostgreSQL last said of hidden effects: what the database makes queries do that their text does not show.
type hidden struct {
	at time.Time
	// any says that a query may have hidden effects, if only on the session's settings; writes says that it may write.
	any, writes bool
	// changes is how many changes of definitions were known before PostgreSQL was asked (see [Router.Defined]).
	changes uint64
}

// hiddenSQL asks for [hidden]: whether a query may do more than read though it names nothing but built-in functions that only read, and
// whether it may write. It may where the database defines a function by such a name, or one that views, operators, casts, domains or policies
// call: these are the reached functions, which run without being named, or by the name of a built-in one. One that is declared to be stable or
// immutable changes no row itself, but it may change settings, and call another that writes. Aggregates are always declared immutable, even if
// their transition functions write. An event trigger on login may have written before the session's first query. What extensions define is
// left out: pg_stat_statements would be found in every other database.
var hiddenSQL = "WITH reached AS MATERIALIZED (SELECT p.provolatile OPERATOR(pg_catalog.=) 'v' OR p.prokind OPERATOR(pg_catalog.=) 'a' AS writes FROM " + ownFunctions +
	" AND (" + among("p.proname", syntax.HarmlessFunctions()) + ` OR EXISTS (SELECT FROM pg_catalog.pg_depend d
 WHERE d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.refobjid OPERATOR(pg_catalog.=) p.oid AND d.classid OPERATOR(pg_catalog.=) ANY (
 '{pg_catalog.pg_rewrite,pg_catalog.pg_operator,pg_catalog.pg_cast,pg_catalog.pg_constraint,pg_catalog.pg_type,pg_catalog.pg_policy}'::pg_catalog.regclass[])))),
 login AS MATERIALIZED (SELECT FROM pg_catalog.pg_event_trigger l WHERE l.evtevent OPERATOR(pg_catalog.=) 'login' AND l.evtenabled OPERATOR(pg_catalog.<>) 'D')
SELECT EXISTS (SELECT FROM reached) OR EXISTS (SELECT FROM login), EXISTS (SELECT FROM reached WHERE writes) OR EXISTS (SELECT FROM login)
 OR EXISTS (SELECT FROM reached) AND EXISTS (SELECT FROM ` + ownFunctions + " AND p.provolatile OPERATOR(pg_catalog.=) 'v' AND p.prokind OPERATOR(pg_catalog.=) 'f')"

// ownFunctions are those that a query can call and no extension defines.
const ownFunctions = `pg_catalog.pg_proc p WHERE p.oid` + later + `
 AND p.prorettype OPERATOR(pg_catalog.<>) ALL ('{pg_catalog.trigger,pg_catalog.event_trigger}'::pg_catalog.regtype[])
 AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e WHERE e.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
  AND e.objid OPERATOR(pg_catalog.=) p.oid AND e.deptype OPERATOR(pg_catalog.=) 'e')`

// Defined is to be called when a session may have changed definitions, before its client is told: what PostgreSQL said of hidden effects before is
// void. What others define, past the gateway, is noticed within [checkLife].
func (r *Router) Defined() { r.changes.Add(1) }

// knownHidden is what PostgreSQL last said of hidden effects; nil: it is to be asked.
func (r *Router) knownHidden() *hidden {
	last := r.hidden.Load()
	if last == nil || last.changes != r.changes.Load() || r.clock().Sub(last.at) >= checkLife {
		return nil
	}
	return last
}

// HiddenEffects implements [pgwire.Analytics].
func (r *Router) HiddenEffects() bool {
	if r.cfg.Dialect != translate.PostgreSQL {
		return false
	}
	last := r.knownHidden()
	return last == nil || last.any
}

// noticeHidden counts the queries that PostgreSQL has run for the session since its last columnar answer as writes, if they may have had
// hidden ones.
func (r *Router) noticeHidden(ctx context.Context, s *pgwire.SessionInfo) error {
	if s.WroteSince || !s.ReadSince || r.cfg.Dialect != translate.PostgreSQL {
		return nil
	}
	last := r.knownHidden()
	if last == nil {
		now, changes := r.clock(), r.changes.Load()
		rows, err := s.Ask(ctx, hiddenSQL)
		if err != nil {
			return fmt.Errorf("ask for effects that no statement tells: %w", err)
		}
		if len(rows) != 1 || len(rows[0]) != 2 {
			return fmt.Errorf("ask for effects that no statement tells: PostgreSQL's answer is not one row of 2 values")
		}
		last = &hidden{at: now, any: string(rows[0][0]) != "f", writes: string(rows[0][1]) != "f", changes: changes}
		if seesPresent(s) {
			r.hidden.Store(last)
		}
	}
	s.WroteSince = last.writes
	return nil
}
