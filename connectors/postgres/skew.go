package postgres

import (
	"slices"
	"sync/atomic"
	"time"
)

// Skew translates the server's times into this machine's: how old a snapshot is, is told by this machine's clock, and however far that is behind the
// server's, no snapshot may pass for younger than it is.
//
// Invariant: a translated time is never later than the instant that was meant, but for clocks that were set since the last measurements.
type Skew struct {
	measured [8]time.Duration // by one goroutine at a time
	n        int
	offset   atomic.Int64 // of this machine's clock from the server's
}

// Measure takes a time of the server's that was asked for at one of this machine's, and came at another: it is of an
// instant between, so that each measurement is too small, by what the question took at most. The largest one is nearest.
// One that is smaller by more than that shows that a clock was set: those before it are of no use any more.
func (k *Skew) Measure(asked, server, answered time.Time) {
	if k.n > 0 && answered.Sub(server) < time.Duration(k.offset.Load()) {
		k.n = 0
	}
	k.measured[k.n%len(k.measured)] = asked.Sub(server)
	k.n++
	k.offset.Store(int64(slices.Max(k.measured[:min(k.n, len(k.measured))])))
}

// Local translates a time of the server's that has been by now; zero: a clock was set since the last measurement.
func (k *Skew) Local(server, now time.Time) time.Time {
	at := server.Add(time.Duration(k.offset.Load()))
	if at.After(now) {
		return time.Time{}
	}
	return at
}
