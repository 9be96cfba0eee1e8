package replica

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// pauses are the pauses between attempts, each about twice as long as the one before.
type pauses struct{ *backoff.ExponentialBackOff }

func newPauses(least, most time.Duration) pauses {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.MaxInterval = least, 2, most
	return pauses{b}
}

// sleep waits for the next pause, or until ctx ends.
func (p pauses) sleep(ctx context.Context) error {
	timer := time.NewTimer(p.NextBackOff())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
