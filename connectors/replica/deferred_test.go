package replica

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/rowindex"
)

// handling is a session of which only the handler works, with one table that is being copied.
func handling(tb interface{ Fatal(...any) }) (*session, *table) {
	s := &session{
		r: &Replica{clock: time.Now}, cfg: Config{StageBytes: 1 << 40}, rids: &rowindex.Allocator{}, publisher: &publisher{wake: make(chan struct{}, 1)},
		copier: &copier{wake: make(chan struct{}, 1)}, tables: map[cdc.TableID]*table{}, stopped: map[cdc.TableID]stoppedTable{},
		deferring: map[*table]struct{}{}, waiting: map[*table]struct{}{}, largeTx: 1 << 30, mostDeferred: maxDeferred, started: true,
	}
	s.changed.L = &s.mu
	s.resume.again = -1
	def := &cdc.Table{ID: 1, Schema: "public", Name: "t", Key: []int{0}, Columns: []cdc.Column{{Name: "a", Type: 25, Modifier: -1, NotNull: true}}}
	s.copy(def, 0)
	t := s.tables[1]
	if err := t.prepare(def); err != nil {
		tb.Fatal(err)
	}
	return s, t
}

// A copy becomes complete at any time in a stream, also inside a transaction. Nothing stays deferred from then on, unless it is not known whether
// the base has it, and exactly the changes after the copy's position are staged.
func TestSession_defersNothingOnceTheCopyIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, table := handling(t)
		ctx := context.Background()
		opens := rapid.Bool().Draw(t, "opens transactions")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 6).Draw(t, "changes of each transaction")
		base := cdc.Position{Major: uint64(rapid.IntRange(0, 10*len(sizes)).Draw(t, "position of the copy"))}
		total := 0
		for _, n := range sizes {
			total += n
		}
		completeAfter := rapid.IntRange(0, total).Draw(t, "changes before the copy is complete")
		given, after := 0, 0
		complete := func() {
			if given == completeAfter && table.progress == copying {
				s.mu.Lock()
				s.complete(table, copied{base: &object{}, upTo: cdc.Watermark{Position: base}})
				s.mu.Unlock()
			}
		}
		check := func(inTx bool) {
			if s.deferredBytes != table.deferred.bytes() {
				t.Fatalf("%d bytes are counted, %d deferred", s.deferredBytes, table.deferred.bytes())
			}
			if table.progress != copying && s.deferredBytes > 0 && (opens || !inTx) {
				t.Fatalf("%d bytes stay deferred", s.deferredBytes)
			}
		}
		complete()
		for i, n := range sizes {
			end := cdc.Position{Major: uint64(10 * (i + 1))}
			if opens {
				s.Open(end)
			}
			for range n {
				given++
				if base.Before(end) {
					after++
				}
				row := cdc.Row{{Kind: cdc.Text, Data: []byte{byte('a' + given)}}}
				if err := s.Changes(ctx, []cdc.Change{{Table: table.def, Op: cdc.Insert, New: row}}); err != nil {
					t.Fatal(err)
				}
				check(true)
				complete()
				check(true)
			}
			if err := s.Commit(ctx, cdc.Commit{Position: end}); err != nil {
				t.Fatal(err)
			}
			check(false)
		}
		if err := s.Watermark(ctx, cdc.Watermark{Position: cdc.Position{Major: uint64(10*len(sizes) + 1)}}); err != nil {
			t.Fatal(err)
		}
		if table.progress != live || table.rows.Len() != after {
			t.Fatalf("%d rows are staged, want %d", table.rows.Len(), after)
		}
	})
}
