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

// Measure takes a time of the server's that was asked for at one of this machine's: the server's is of a later instant, so that each measurement is too
// small by what the question took. The largest one is nearest.
func (k *Skew) Measure(asked, server time.Time) {
	k.measured[k.n%len(k.measured)] = asked.Sub(server)
	k.n++
	k.offset.Store(int64(slices.Max(k.measured[:min(k.n, len(k.measured))])))
}

// Local translates a time of the server's.
func (k *Skew) Local(server time.Time) time.Time { return server.Add(time.Duration(k.offset.Load())) }
