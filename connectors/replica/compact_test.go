package replica

import (
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// While a session catches up with what was published before a restart there is no snapshot to build a base from. Tables that are due would
// be tried again without end, each time with a new delta.
func TestCompactor_picksNothingBeforeASnapshotIsPublished(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	dirty := &table{def: &cdc.Table{ID: 1}, stored: stored{since: now.Add(-time.Minute), at: 1}}
	settled := &table{def: &cdc.Table{ID: 2}, stored: stored{mergeable: true}}
	for _, tc := range []struct {
		name      string
		published bool
		due       int
		mergeable bool
		idle      bool
	}{
		{name: "catching up"},
		{"published", true, 1, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &session{r: &Replica{clock: func() time.Time { return now }}, cfg: Config{CompactRows: 1000, CompactInterval: time.Second, SettleInterval: time.Second}}
			s.publisher = &publisher{s: s, requests: make(chan func()), published: tc.published, position: cdc.Position{Major: 1},
				tables: map[cdc.TableID]*table{1: dirty, 2: settled}}
			served := make(chan struct{})
			go func() {
				defer close(served)
				(<-s.publisher.requests)()
			}()
			due, mergeable, idle, err := (&compactor{s: s}).pick(t.Context())
			<-served
			if err != nil || len(due) != tc.due || (mergeable == settled) != tc.mergeable || idle != tc.idle {
				t.Errorf("%d tables are due, one is mergeable: %t, idle: %t, error: %v; want %d, %t, %t", len(due), mergeable == settled, idle, err, tc.due, tc.mergeable, tc.idle)
			}
		})
	}
}
