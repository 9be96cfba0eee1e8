package postgres

import (
	"sync/atomic"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// skew translates the server's times into this machine's: how old a snapshot is, is told by this machine's clock, and however far that is behind the
// server's, no snapshot may pass for younger than it is.
//
// Invariant: a translated time is never later than the instant that was meant, but for clocks that were set since the last measurements.
type skew struct {
	measured [8]time.Duration // by one goroutine at a time
	n        int
	offset   atomic.Int64 // of this machine's clock from the server's
}

// measure takes a time of the server's that was asked for at one of this machine's: the server's is of a later instant, so that each measurement is too
// small by what the question took. The largest one is nearest.
func (k *skew) measure(asked, server time.Time) {
	k.measured[k.n%len(k.measured)] = asked.Sub(server)
	k.n++
	offset := k.measured[0]
	for _, m := range k.measured[1:min(k.n, len(k.measured))] {
		offset = max(offset, m)
	}
	k.offset.Store(int64(offset))
}

// local translates a time of the server's.
func (k *skew) local(server time.Time) time.Time { return server.Add(time.Duration(k.offset.Load())) }

// committedBy is a time until which nothing was committed that comes after a transaction; zero: not known. One that was replicated to the server
// bears the time of its first commit, by another server's clock.
func (st *stream) committedBy(c cdc.Commit) time.Time {
	if st.replicated {
		return time.Time{}
	}
	return st.skew.local(c.Time)
}
