package analytics

import (
	"context"
	"errors"
	"testing"
	"time"

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
