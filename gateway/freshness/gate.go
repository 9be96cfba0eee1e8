package freshness

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

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

// callTimeout bounds one call of Current, which is shared and so must not end with any one caller.
const callTimeout = 10 * time.Second

// Gate waits until the newest snapshot satisfies a requirement. It is safe for concurrent use.
type Gate struct {
	source  Source
	replica Replica

	calling chan struct{} // held during a call of Current

	mu   sync.Mutex
	next *fence // the call that has not begun
}

// fence is one call of Current, shared by all who came before it began.
type fence struct {
	done     chan struct{}
	position cdc.Position
	err      error
}

// NewGate returns a gate between a source and its replica.
func NewGate(source Source, replica Replica) *Gate {
	return &Gate{source: source, replica: replica, calling: make(chan struct{}, 1)}
}

// Wait returns when a snapshot taken afterwards satisfies r, but for r's bound on staleness, which
// the dispatcher checks at the query's start.
func (g *Gate) Wait(ctx context.Context, r Requirement) error {
	target := r.Min
	if r.Mode == Strong || r.OwnWrites && r.Mode != Eventual {
		now, err := g.current(ctx)
		if err != nil {
			return fmt.Errorf("ask the source for its position: %w", err)
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

// current shares calls of Current: who comes while one is under way must have the next,
// since the one under way may have read its position before their commit.
func (g *Gate) current(ctx context.Context) (cdc.Position, error) {
	f := g.join()
	select {
	case <-f.done:
	case <-ctx.Done():
		return cdc.Position{}, context.Cause(ctx)
	case g.calling <- struct{}{}:
		g.call(ctx, f)
		<-g.calling
	}
	return f.position, f.err
}

// join returns the next call.
func (g *Gate) join() *fence {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		g.next = &fence{done: make(chan struct{})}
	}
	return g.next
}

// call makes f's call unless somebody else has. The caller holds g.calling.
func (g *Gate) call(ctx context.Context, f *fence) {
	g.mu.Lock()
	if g.next != f {
		g.mu.Unlock()
		return
	}
	g.next = nil // who comes from now on needs a later call
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	f.position, f.err = g.source.Current(ctx)
	close(f.done)
}
