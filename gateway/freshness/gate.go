package freshness

import (
	"context"
	"errors"
	"fmt"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// ErrSource says that the source did not tell its position, such as when it is down or replication from it has just
// been given up.
var ErrSource = errors.New("the source does not tell its position")

// Source tells how far the source database is.
type Source interface {
	// Current returns a position at or after every transaction acknowledged before the call.
	Current(ctx context.Context) (cdc.Position, error)
}

// Replica waits for its watermark.
type Replica interface {
	// Await returns when snapshots taken from now on have reached p.
	Await(ctx context.Context, p cdc.Position) error
}

// Gate waits until the newest snapshot satisfies a requirement. It is safe for concurrent use.
type Gate struct {
	source  Source
	replica Replica
}

// NewGate returns a gate between a source and its replica.
func NewGate(source Source, replica Replica) *Gate { return &Gate{source: source, replica: replica} }

// Wait returns when a snapshot taken afterwards satisfies r, but for r's bound on staleness, which
// the dispatcher checks at the query's start. An error of the source wraps [ErrSource].
func (g *Gate) Wait(ctx context.Context, r Requirement) error {
	target := r.Min
	if r.asksSource() {
		now, err := g.source.Current(ctx)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrSource, err)
		}
		if target.Before(now) {
			target = now
		}
	}
	if target.IsZero() {
		return nil
	}
	if err := g.replica.Await(ctx, target); err != nil {
		return fmt.Errorf("wait for position %v: %w", target, err)
	}
	return nil
}
