package replica

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The follower hands over what it has read while the engine waits for it to read on, which may be in the middle of a transaction that is written in
// pieces. That may take as long as the source is away.
func TestFollower_findsDigestsWithinALargeTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		s, _ := handling(t)
		p := s.publisher
		p.s, p.requests, p.asides = s, make(chan func()), make(chan func())
		s.inTx, p.spilled = true, true
		var running sync.WaitGroup
		running.Go(func() { _ = p.run(ctx) })
		defer running.Wait()
		defer cancel()
		f := &follower{s: s}
		if err := f.found(ctx, []uint32{3}, []uint64{7}); err != nil {
			t.Fatalf("the follower waited in vain: %v", err)
		}
		limited, giveUp := context.WithTimeout(ctx, time.Minute)
		defer giveUp()
		if err := p.do(limited, func() { t.Error("the epoch's state changed between its pieces") }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if err := p.doAside(ctx, func() {
			if !p.digests.Same(3, 7) {
				t.Error("the digest is not known")
			}
		}); err != nil {
			t.Error(err)
		}
	})
}
