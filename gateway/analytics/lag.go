package analytics

import (
	"context"
	"errors"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/batch"
	"github.com/freshet-io/freshet/gateway/freshness"
	"github.com/freshet-io/freshet/gateway/pgwire"
)

// withinLag returns a context that ends with the time for which a statement may wait for the replica, or for what the source says of it. A
// session that insists on the replica waits as long as it takes; any other gets PostgreSQL's answer, which is fresh by nature, where the
// replica lags for long.
func (r *Router) withinLag(ctx context.Context, s *pgwire.SessionInfo) (context.Context, context.CancelFunc) {
	if s.Settings.Route == pgwire.RouteColumnar {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, r.cfg.LagLimit)
}

// freshly waits for what the session asks of a snapshot and calls take, which fails with [*batch.StaleError] if the
// newest is older than the bound. Then the source is late, and its next watermark may be enough: take is called again
// once a position has come that only a newer one can have, until LagLimit has passed, or, for a session that insists on
// the replica, as long as each wait for one takes longer than the bound.
func (r *Router) freshly(ctx context.Context, s *pgwire.SessionInfo, need freshness.Requirement, take func(bound time.Duration) error) error {
	deadline := r.clock().Add(r.cfg.LagLimit)
	for {
		began := r.clock()
		if err := r.await(ctx, s, need); err != nil {
			return err
		}
		lags := r.clock().Sub(began) > need.Bound()
		err := take(need.Bound())
		if _, stale := errors.AsType[*batch.StaleError](err); !stale {
			return err
		}
		if !r.clock().Before(deadline) && !(lags && s.Settings.Route == pgwire.RouteColumnar) {
			return err
		}
		need.OwnWrites = true
	}
}

// await waits for the session's freshness.
func (r *Router) await(ctx context.Context, s *pgwire.SessionInfo, need freshness.Requirement) error {
	if s.Settings.Route == pgwire.RouteColumnar || !need.Waits() {
		return r.gate.Wait(ctx, need)
	}
	before, limit := r.reached(ctx), r.cfg.LagLimit
	if stalled := r.stalledAt.Load(); stalled != nil && *stalled == before {
		limit /= stalledShare
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := r.gate.Wait(limited, need)
	if err == nil || limited.Err() == nil || ctx.Err() != nil {
		return err
	}
	if before == r.reached(ctx) {
		r.stalledAt.Store(&before)
	}
	return errLag
}

// stalledShare divides LagLimit for statements that come while the replica has not moved since a wait that was in vain: its stream hangs, or a
// large transaction is on its way. That ends with the next snapshot.
const stalledShare = 20

// reached is the position of the newest snapshot; zero: there is none.
func (r *Router) reached(ctx context.Context) cdc.Position {
	snapshot, err := r.replica.Acquire(ctx)
	if err != nil {
		return cdc.Position{}
	}
	defer snapshot.Release()
	return snapshot.Position()
}

var errLag = errors.New("the replica lags behind PostgreSQL")
