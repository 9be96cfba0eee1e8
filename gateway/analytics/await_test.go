package analytics

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/freshness"
	"github.com/freshet-io/freshet/gateway/pgwire"
)

// stuck is a replica that never catches up.
type stuck struct{}

func (stuck) Current(context.Context) (cdc.Position, error) { return cdc.Position{Major: 1}, nil }

func (stuck) Await(ctx context.Context, _ cdc.Position) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestAwait_leavesALaggingReplicaUnlessTheSessionInsists(t *testing.T) {
	r := &Router{cfg: Config{LagLimit: time.Millisecond}, gate: freshness.NewGate(stuck{}, stuck{})}
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

// closed is the source of a replica that has just stopped: its connections end under the statements that use them.
type closed struct{}

func (closed) Current(context.Context) (cdc.Position, error) {
	return cdc.Position{}, fmt.Errorf("read log position: %w", context.Canceled)
}

func TestRefusal_leavesAStatementToPostgreSQLWhenTheSourceIsClosed(t *testing.T) {
	r := &Router{
		cfg: Config{LagLimit: time.Minute}, gate: freshness.NewGate(closed{}, stuck{}), metrics: newMetrics(prometheus.NewRegistry()),
	}
	for _, route := range []pgwire.Route{pgwire.RouteAuto, pgwire.RouteColumnar} {
		s := &pgwire.SessionInfo{Settings: pgwire.Settings{Route: route}}
		err := r.refusal(t.Context(), r.await(t.Context(), s, freshness.Requirement{Mode: freshness.Strong}))
		if relay, ok := errors.AsType[*pgwire.RelayError](err); !ok || relay.Code != "55000" {
			t.Errorf("route %v: %v, want a relay with SQLSTATE 55000", route, err)
		}
	}
}
