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
func (r *Router) acquire(ctx context.Context, s *pgwire.SessionInfo) (batch.Snapshot, time.Duration, error) {
	need := requirement(s)
	deadline := r.clock().Add(r.cfg.LagLimit)
	for {
		if err := r.await(ctx, s, need); err != nil {
			return nil, 0, err
		}
		snapshot, err := r.replica.Acquire(ctx)
		if err != nil {
			return nil, 0, err
		}
		staleness := r.clock().Sub(snapshot.Time())
		if bound := need.Bound(); bound == 0 || staleness <= bound {
			return snapshot, staleness, nil
		}
		snapshot.Release()
		if !r.clock().Before(deadline) {
			return nil, 0, &batch.StaleError{Staleness: staleness, Max: need.Bound()}
		}
		need.OwnWrites = true // wait for a newer watermark
	}
}

func (r *Router) record(s *pgwire.SessionInfo, snapshot batch.Snapshot, staleness time.Duration) {
	s.Record(pgwire.LastRun{
		Route: "columnar", Reason: "READ ONLY transaction", Snapshot: snapshot.Position().String(), Staleness: staleness,
	})
}
