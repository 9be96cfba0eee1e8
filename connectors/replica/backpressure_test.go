package replica

import (
	"context"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// The stream waits, inside a transaction, until the publisher has written what is staged. What a copy that completes meanwhile adds to
// that is written as well: nothing else would end the wait.
func TestSession_spillsWhatACopyAddsMeanwhile(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, first := handling(t)
	p := s.publisher
	p.s = s
	def := *first.def
	def.ID, def.Name = 2, "u"
	s.copy(&def, 0)
	second := s.tables[2]
	if err := second.prepare(&def); err != nil {
		t.Fatal(err)
	}
	complete := func(tab *table) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.complete(tab, copied{base: &object{}})
	}
	complete(first)
	s.cfg.StageBytes = 1
	insert := func(tab *table) cdc.Change {
		return cdc.Change{Table: tab.def, Op: cdc.Insert, New: cdc.Row{{Kind: cdc.Text, Data: []byte("a")}}}
	}
	handed := make(chan error, 1)
	go func() { handed <- s.Changes(ctx, []cdc.Change{insert(first), insert(second)}) }()

	written := map[cdc.TableID]int{}
	for {
		select {
		case err := <-handed:
			if err != nil {
				t.Fatalf("the stream waited in vain: %v", err)
			}
			if written[1] != 1 || written[2] != 1 {
				t.Errorf("the publisher wrote %v, want a row of each table", written)
			}
			return
		case <-p.wake:
			b, _ := p.next()
			if b == nil {
				continue
			}
			for _, tb := range b.tables {
				written[tb.table.def.ID] += tb.rows.Len()
			}
			if second.progress == copying {
				complete(second) // while the publisher writes
			}
			p.giveBack(b)
		}
	}
}
