package freshness

import (
	"testing"
	"time"
)

func TestRequire_isStrongWhereTheBoundIsZero(t *testing.T) {
	for _, c := range []struct {
		mode      Mode
		bound     time.Duration
		want      Mode
		wantBound time.Duration
	}{
		{Bounded, time.Minute, Bounded, time.Minute},
		{Bounded, 0, Strong, 0},
		{Strong, time.Minute, Strong, 0},
		{Eventual, 0, Eventual, 0},
	} {
		if got := Require(c.mode, c.bound); got.Mode != c.want || got.Bound() != c.wantBound {
			t.Errorf("%v by %v: %v by %v, want %v by %v", c.mode, c.bound, got.Mode, got.Bound(), c.want, c.wantBound)
		}
	}
}
