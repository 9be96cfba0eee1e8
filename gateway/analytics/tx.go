package analytics

import (
	"context"
	"time"

	"github.com/freshet-io/freshet/gateway/batch"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/translate"
)

// pinned is the snapshot of a READ ONLY transaction block.
type pinned struct{ snapshot batch.Snapshot }

// End implements [pgwire.Tx].
func (p *pinned) End() { p.snapshot.Release() }

// Begin implements [pgwire.Analytics]: the block's snapshot is as fresh as the session asks at its first statement.
func (r *Router) Begin(ctx context.Context, s *pgwire.SessionInfo) (pgwire.Tx, error) {
	if err := r.sessionFit(s); err != nil {
		return nil, r.relay(err)
	}
	if r.cfg.Dialect == translate.CockroachDB {
		return nil, r.relay(&pgwire.RelayError{Reason: "a transaction block of CockroachDB may read AS OF another time"})
	}
	if err := r.noticeHidden(ctx, s); err != nil {
		return nil, r.relay(err)
	}
	snapshot, staleness, err := r.acquire(ctx, s)
	if err != nil {
		return nil, r.refusal(ctx, err)
	}
	if s.Isolation != readCommitted && s.Settings.Route != pgwire.RouteColumnar { // other tables could not be read at all once one of them was
		if err := r.replica.Whole(); err != nil {
			snapshot.Release()
			return nil, r.relay(&pgwire.RelayError{Reason: err.Error()})
		}
	}
	r.record(s, snapshot, staleness)
	return &pinned{snapshot}, nil
}

// acquire returns the newest snapshot, retained, and its staleness, as soon as it is as fresh as the session asks.
func (r *Router) acquire(ctx context.Context, s *pgwire.SessionInfo) (snapshot batch.Snapshot, staleness time.Duration, err error) {
	err = r.freshly(ctx, s, requirement(s), func(bound time.Duration) error {
		newest, err := r.replica.Acquire(ctx)
		if err != nil {
			return err
		}
		staleness = r.clock().Sub(newest.Time())
		if bound > 0 && staleness > bound {
			newest.Release()
			return &batch.StaleError{Staleness: staleness, Max: bound}
		}
		snapshot = newest
		return nil
	})
	return snapshot, staleness, err
}

func (r *Router) record(s *pgwire.SessionInfo, snapshot batch.Snapshot, staleness time.Duration) {
	s.Record(pgwire.LastRun{
		Route: pgwire.RouteColumnar.String(), Reason: "READ ONLY transaction", Snapshot: snapshot.Position().String(), Staleness: staleness,
	})
}
