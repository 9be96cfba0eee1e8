package trial

import (
	"context"
	"sync"
	"time"

	"github.com/freshet-io/freshet/local/platform"
)

const (
	// mostBehind is how far the replica may fall behind before writers wait. What is written at full rate while a part of the
	// platform is away has to be caught up before the next fault: without a bound that would be as much as the machine's other
	// users make of it.
	mostBehind = 5 * time.Second
	// littleBehind is how near the replica must have come before they go on.
	littleBehind = time.Second
)

// backlog lets writers wait while the replica is far behind. Make it by newBacklog, and run watch.
type backlog struct {
	mu     sync.Mutex
	gate   chan struct{} // closed: writers may go on
	shut   time.Time     // since when they wait; zero: they do not
	waited time.Duration // in all, but for the present wait
}

func newBacklog() *backlog {
	b := &backlog{gate: make(chan struct{})}
	close(b.gate)
	return b
}

// pass waits until writers may go on.
func (b *backlog) pass(ctx context.Context) error {
	b.mu.Lock()
	gate := b.gate
	b.mu.Unlock()
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watch follows the replica's staleness at the gateway's monitor until ctx ends. A gateway that does not answer gets no fresher.
func (b *backlog) watch(ctx context.Context, monitor string) {
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	watermark := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-look.C:
			if r, err := platform.ReadReplica(ctx, monitor); err == nil && r.StalenessMS >= 0 {
				watermark = now.Add(-time.Duration(r.StalenessMS * float64(time.Millisecond)))
			}
			b.set(now, now.Sub(watermark))
		}
	}
}

func (b *backlog) set(now time.Time, behind time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch waiting := !b.shut.IsZero(); {
	case !waiting && behind > mostBehind:
		b.gate, b.shut = make(chan struct{}), now
	case waiting && behind < littleBehind:
		close(b.gate)
		b.waited, b.shut = b.waited+now.Sub(b.shut), time.Time{}
	}
}

// total returns how long writers have waited.
func (b *backlog) total() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waited
}
