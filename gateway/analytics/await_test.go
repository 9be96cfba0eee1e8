package analytics

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/batch"
	"github.com/freshet-io/freshet/gateway/freshness"
	"github.com/freshet-io/freshet/gateway/pgwire"
)

// stuck is a replica that never catches up: whoever waits for it waits in vain.
type stuck struct{ Replica }

func (stuck) Acquire(context.Context) (batch.Snapshot, error) { return bare{}, nil }

// bare is a snapshot without tables.
type bare struct {
	batch.Snapshot
	at cdc.Position
}

func (b bare) Position() cdc.Position { return b.at }
func (bare) Release()                 {}

func (stuck) Current(context.Context) (cdc.Position, error) { return cdc.Position{Major: 9}, nil }

func (stuck) Await(ctx context.Context, _ cdc.Position) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestAwait_leavesALaggingReplicaUnlessTheSessionInsists(t *testing.T) {
	r := &Router{cfg: Config{LagLimit: time.Millisecond}, replica: stuck{}, gate: freshness.NewGate(stuck{}, stuck{})}
	need := freshness.Requirement{Mode: freshness.Strong}
	if err := r.await(t.Context(), &pgwire.SessionInfo{}, need); !errors.Is(err, errLag) {
		t.Errorf("route auto: %v, want errLag", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	insists := &pgwire.SessionInfo{Settings: pgwire.Settings{Route: pgwire.RouteColumnar}}
	if err := r.await(ctx, insists, need); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("route columnar: %v, want the statement's own end", err)
	}
}

// slow is a replica whose snapshots, one after the other, are at these positions.
type slow struct {
	stuck
	majors []uint64
}

func (s *slow) Acquire(context.Context) (batch.Snapshot, error) {
	at := cdc.Position{Major: s.majors[0]}
	s.majors = s.majors[1:]
	return bare{at: at}, nil
}

func TestAwait_isBriefWhileTheReplicaStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Router{
			cfg: Config{LagLimit: time.Second}, gate: freshness.NewGate(stuck{}, stuck{}),
			replica: &slow{majors: []uint64{1, 1, 1, 1, 2, 3, 3, 3, 3, 3}}, // before and after each wait
		}
		waits := func(want time.Duration) {
			t.Helper()
			began := time.Now()
			err := r.await(t.Context(), &pgwire.SessionInfo{}, freshness.Requirement{Mode: freshness.Strong})
			if waited := time.Since(began); !errors.Is(err, errLag) || waited != want {
				t.Errorf("%v after %v, want errLag after %v", err, waited, want)
			}
		}
		waits(time.Second)
		waits(50 * time.Millisecond)
		waits(time.Second)
		waits(time.Second)
		waits(50 * time.Millisecond)
	})
}

// closed is the source of a replica that has just stopped: its connections end under the statements that use them.
type closed struct{}

func (closed) Current(context.Context) (cdc.Position, error) {
	return cdc.Position{}, fmt.Errorf("read log position: %w", context.Canceled)
}

func TestRefusal_leavesAStatementToPostgreSQLWhenTheSourceIsClosed(t *testing.T) {
	r := &Router{
		cfg: Config{LagLimit: time.Minute}, replica: stuck{}, gate: freshness.NewGate(closed{}, stuck{}), metrics: newMetrics(prometheus.NewRegistry()),
	}
	for _, route := range []pgwire.Route{pgwire.RouteAuto, pgwire.RouteColumnar} {
		s := &pgwire.SessionInfo{Settings: pgwire.Settings{Route: route}}
		err := r.refusal(t.Context(), r.await(t.Context(), s, freshness.Requirement{Mode: freshness.Strong}))
		if relay, ok := errors.AsType[*pgwire.RelayError](err); !ok || relay.Code != "55000" {
			t.Errorf("route %v: %v, want a relay with SQLSTATE 55000", route, err)
		}
	}
}
