package replica_test

import (
	"context"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica"
)

// says has a source say what time it is where it has arrived.
func (s *script) says(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event{position: s.position, time: at})
	close(s.more)
	s.more = make(chan struct{})
}

// awaitTime waits for a snapshot from a position on that is of a time.
func awaitTime(ctx context.Context, t *testing.T, g *gateway, p cdc.Position, want time.Time) {
	t.Helper()
	for {
		changed := g.r.Changed()
		s, err := g.acquire(ctx, replica.Request{Min: p})
		if err != nil {
			t.Fatal(err)
		}
		got := s.Time()
		s.Release()
		if got.Equal(want) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("the snapshot claims to be of %v, want %v", got.UTC(), want.UTC())
		}
	}
}

// A source's clock that was put forward, and is set back, makes no snapshot younger than it is: not for as long as it was ahead.
func TestReplica_believesAClockThatIsSetBack(t *testing.T) {
	src, g, ctx := startDated(t, nil, accounts())
	if err := g.start(); err != nil {
		t.Fatal(err)
	}
	expect(ctx, t, g, src, src.watermark()).Release() // the stream goes on from here, or before
	p := src.watermark()
	right := time.Unix(int64(p.Major), 0)
	awaitTime(ctx, t, g, p, right)

	ahead := right.Add(24 * time.Hour)
	src.says(ahead)
	awaitTime(ctx, t, g, p, ahead)
	src.says(right)
	awaitTime(ctx, t, g, p, right)

	src.says(ahead)
	awaitTime(ctx, t, g, p, ahead)
	p = src.commit(func(x *tx) { x.insert(1, row{"1", "1.25", null}) })
	awaitTime(ctx, t, g, p, time.Unix(int64(p.Major), 0))
}
