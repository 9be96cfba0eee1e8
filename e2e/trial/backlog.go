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

// watch follows the staleness of units at their monitors until ctx ends: writers wait for the one that is the farthest behind. A gateway that
// does not answer gets no fresher; but for the first one, those that never answered do not count.
func (b *backlog) watch(ctx context.Context, monitors []string) {
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	watermarks := make([]time.Time, len(monitors))
	watermarks[0] = time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-look.C:
			var behind time.Duration
			for i, monitor := range monitors {
				if r, err := platform.ReadReplica(ctx, monitor); err == nil && r.StalenessMS >= 0 {
					watermarks[i] = now.Add(-time.Duration(r.StalenessMS * float64(time.Millisecond)))
				}
				if !watermarks[i].IsZero() {
					behind = max(behind, now.Sub(watermarks[i]))
				}
			}
			b.set(now, behind)
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
