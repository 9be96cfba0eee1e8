package analytics

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/translate"
)

// hidden is what PostgreSQL said last of effects that no statement's text tells.
type hidden struct {
	at    time.Time
	found bool
}

// hiddenSQL asks whether a query may do more than read though it names nothing but built-in functions that only read: where the
// database defines a function by such a name, or one that views, operators, casts, domains or policies call. One that is declared to be
// stable or immutable does not write. Aggregates are always declared immutable, even if their transition functions write: they count, too. An event trigger on login may have
// written before the session's first query.
// What extensions define is left out: pg_stat_statements would be found in every other database.
var hiddenSQL = fmt.Sprintf(`SELECT EXISTS (SELECT FROM pg_catalog.pg_proc p WHERE p.oid OPERATOR(pg_catalog.>=) %s
 AND (p.provolatile OPERATOR(pg_catalog.=) 'v' OR p.prokind OPERATOR(pg_catalog.=) 'a') AND p.prorettype OPERATOR(pg_catalog.<>) 'pg_catalog.trigger'::pg_catalog.regtype
 AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e WHERE e.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
  AND e.objid OPERATOR(pg_catalog.=) p.oid AND e.deptype OPERATOR(pg_catalog.=) 'e')
 AND (%s OR EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
  AND d.refobjid OPERATOR(pg_catalog.=) p.oid AND d.classid OPERATOR(pg_catalog.=) ANY (
  '{pg_catalog.pg_rewrite,pg_catalog.pg_operator,pg_catalog.pg_cast,pg_catalog.pg_constraint,pg_catalog.pg_type,pg_catalog.pg_policy}'::pg_catalog.regclass[]))))
 OR EXISTS (SELECT FROM pg_catalog.pg_event_trigger l WHERE l.evtevent OPERATOR(pg_catalog.=) 'login' AND l.evtenabled OPERATOR(pg_catalog.<>) 'D')`,
	firstUserOID, among("p.proname", translate.HarmlessFunctions()))

// HiddenEffects implements [pgwire.Analytics].
func (r *Router) HiddenEffects() bool {
	if r.cfg.Dialect != translate.PostgreSQL {
		return false
	}
	last := r.hidden.Load()
	return last == nil || last.found || r.clock().Sub(last.at) >= checkLife
}

// noticeHidden takes queries that PostgreSQL ran for the session for writes where they may have been.
func (r *Router) noticeHidden(ctx context.Context, s *pgwire.SessionInfo) error {
	if s.WroteSince || !s.ReadSince || r.cfg.Dialect != translate.PostgreSQL {
		return nil
	}
	last := r.hidden.Load()
	if now := r.clock(); last == nil || now.Sub(last.at) >= checkLife {
		rows, err := s.Ask(ctx, hiddenSQL)
		if err != nil {
			return fmt.Errorf("ask for effects that no statement tells: %w", err)
		}
		last = &hidden{at: now, found: len(rows) != 1 || string(rows[0][0]) != "f"}
		if s.Isolation == readCommitted { // else it is what a snapshot shows that may be from long ago: nothing for other sessions
			r.hidden.Store(last)
		}
	}
	s.WroteSince = last.found
	return nil
}
