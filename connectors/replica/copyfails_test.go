package replica

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// uncopyable is a source that gives no copies, as one that has no replication slot left.
type uncopyable struct{ cdc.Source }

func (uncopyable) Copy(context.Context, []cdc.TableID, cdc.CopySink) (cdc.Position, error) {
	return cdc.Position{}, errors.New("all replication slots are in use")
}

// late is a source whose copies wait for a transaction that never ends.
type late struct {
	cdc.Source
	s     *session
	begun bool // they have their snapshot, and wait for something else
	asked int
}

func (l *late) Copy(ctx context.Context, _ []cdc.TableID, _ cdc.CopySink) (cdc.Position, error) {
	l.asked++
	if l.begun {
		l.s.copier.begun()
	}
	<-ctx.Done()
	return cdc.Position{}, ctx.Err()
}

// copyingWhile has a session take copies from a source, and hand over transactions of a table that is to be copied, until ctx ends or an error.
func copyingWhile(ctx context.Context, t *testing.T, source func(*session) cdc.Source) error {
	ctx, cancel := context.WithCancel(ctx)
	s, table := handling(t)
	s.src, s.r.log, s.mostDeferred = source(s), slog.New(slog.DiscardHandler), 1000
	s.copier.s, s.copier.busy = s, make(chan struct{}, 1)
	s.copier.busy <- struct{}{}
	var copying sync.WaitGroup
	copying.Go(func() { _ = s.copier.run(ctx) })
	defer copying.Wait()
	defer cancel()
	for n := range uint64(100) {
		row := cdc.Row{{Kind: cdc.Text, Data: make([]byte, 100)}}
		if err := s.Changes(ctx, []cdc.Change{{Table: table.def, Op: cdc.Insert, New: row}}); err != nil {
			return err
		}
		if err := s.Commit(ctx, cdc.Commit{Position: cdc.Position{Major: n + 1}}); err != nil {
			return err
		}
		s.mu.Lock()
		if s.deferredBytes != table.deferred.bytes() {
			t.Errorf("%d bytes are counted, %d deferred", s.deferredBytes, table.deferred.bytes())
		}
		s.mu.Unlock()
	}
	return nil
}

// A table whose copy fails again and again holds nobody up: what was deferred for it before a copy begins is in that copy.
func TestSession_goesOnThoughATableCannotBeCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := copyingWhile(ctx, t, func(*session) cdc.Source { return uncopyable{} }); err != nil {
			t.Errorf("the stream waited in vain: %v", err)
		}
	})
}

// Nor does one whose copy waits for a transaction: it holds the stream for a while only. A copy that has begun comes to an end, and is not given up.
func TestSession_isHeldForAWhileByACopyThatWaits(t *testing.T) {
	for _, begun := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			var source *late
			err := copyingWhile(ctx, t, func(s *session) cdc.Source {
				source = &late{s: s, begun: begun}
				return source
			})
			if goesOn := err == nil; goesOn == begun || begun && source.asked != 1 {
				t.Errorf("begun: %t: asked for %d copies, then: %v", begun, source.asked, err)
			}
		})
	}
}
