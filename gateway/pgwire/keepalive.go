package pgwire

import (
	"context"
	"sync"
	"time"
)

// stillHere is a statement that neither reads nor takes a snapshot.
const stillHere = "SHOW transaction_read_only"

// backend is PostgreSQL's side of a session while a statement runs on the columnar replica, for whoever has something to ask.
type backend struct {
	mu sync.Mutex
	s  *session
}

// ask implements [SessionInfo.Ask].
func (b *backend) ask(ctx context.Context, sql string) ([][][]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.s.ask(ctx, sql)
}

// keepAlive makes itself heard until stop is called. PostgreSQL knows nothing of the statement, and would end the session as an idle one
// (idle_in_transaction_session_timeout, idle_session_timeout).
func (b *backend) keepAlive(ctx context.Context, status byte) (stop func()) {
	limit := b.s.idleTimeout
	if status == 'T' {
		limit = b.s.idleInTransactionTimeout
	}
	if limit == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(max(limit/3, time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if _, err := b.ask(ctx, stillHere); err != nil {
				return // whoever needs the connection next will say so
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
