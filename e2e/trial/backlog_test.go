package trial

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestBacklog_letsWritersWaitWhileTheReplicaIsFarBehind(t *testing.T) {
	b := newBacklog()
	now := time.Unix(1_000_000, 0)
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	for i, step := range []struct {
		behind time.Duration
		waits  bool
	}{
		{0, false},
		{mostBehind, false},
		{mostBehind + 1, true},
		{2 * mostBehind, true},
		{littleBehind, true}, // not near enough yet
		{littleBehind - 1, false},
		{mostBehind, false},
	} {
		now = now.Add(time.Second)
		b.set(now, step.behind)
		ctx := t.Context()
		if step.waits {
			ctx = expired
		}
		if err := b.pass(ctx); errors.Is(err, context.Canceled) != step.waits {
			t.Errorf("step %d, %v behind: got %v, want waiting: %v", i, step.behind, err, step.waits)
		}
	}
	if got := b.total(); got != 3*time.Second {
		t.Errorf("writers waited for %v, want 3 s", got)
	}
}
