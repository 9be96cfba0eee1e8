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

// A table whose copy fails again and again holds nobody up: what was deferred for it before a copy begins is in that copy.
func TestSession_goesOnThoughATableCannotBeCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		s, table := handling(t)
		s.src, s.r.log, s.mostDeferred = uncopyable{}, slog.New(slog.DiscardHandler), 1000
		s.copier.s, s.copier.busy = s, make(chan struct{}, 1)
		s.copier.busy <- struct{}{}
		var copying sync.WaitGroup
		copying.Go(func() { _ = s.copier.run(ctx) })
		defer copying.Wait()
		defer cancel()
		for n := range uint64(100) {
			row := cdc.Row{{Kind: cdc.Text, Data: make([]byte, 100)}}
			if err := s.Changes(ctx, []cdc.Change{{Table: table.def, Op: cdc.Insert, New: row}}); err != nil {
				t.Fatalf("transaction %d: the stream waited in vain: %v", n, err)
			}
			if err := s.Commit(ctx, cdc.Commit{Position: cdc.Position{Major: n + 1}}); err != nil {
				t.Fatalf("transaction %d: the stream waited in vain: %v", n, err)
			}
			if s.deferredBytes != table.deferred.bytes() {
				t.Fatalf("%d bytes are counted, %d deferred", s.deferredBytes, table.deferred.bytes())
			}
		}
	})
}
