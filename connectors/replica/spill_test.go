package replica_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/chengine"
)

// smallMemory is what the engine may use where its memory is to be short.
const smallMemory = 1 << 30

func startSmallGateway(t *testing.T, src cdc.Source) (*gateway, context.Context) {
	t.Helper()
	server := stand.Engine(t, func(c *chengine.Config) { c.User, c.Password, c.MaxMemory = "freshet", testPassword, smallMemory })
	g, _ := startGatewayOn(t, server, src, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	t.Cleanup(cancel)
	return g, ctx
}

// flood is a source whose stream is one transaction that is too large to be kept: it gives each of the first table's rows a long note.
type flood struct {
	*script
	begin chan struct{} // the stream waits for it
	rows  int
	note  []byte
}

// end is the transaction's position.
func (f *flood) end() cdc.Position { return cdc.Position{Major: f.position.Major + 1} }

func (f *flood) Stream(ctx context.Context, from cdc.Position, h cdc.Handler) error {
	select {
	case <-f.begin:
	case <-ctx.Done():
		return ctx.Err()
	}
	if from.Before(f.end()) {
		const scatter = 7919 // the order of the rows is not that of their keys
		for i := range f.rows {
			c := cdc.Change{Table: f.tables[1], Op: cdc.Update, New: datums(row{fmt.Sprint(i * scatter % f.rows), "2.25", ""})}
			c.New[2].Data = f.note
			if err := h.Changes(ctx, []cdc.Change{c}); err != nil {
				return err
			}
		}
		if err := h.Commit(ctx, cdc.Commit{Position: f.end(), Time: time.Now()}); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

// A transaction is larger than the engine's memory. It is published all the same, then compacted.
func TestReplica_takesATransactionThatTheEnginesMemoryCannotHold(t *testing.T) {
	src := &flood{script: newScript(accounts()), begin: make(chan struct{}), rows: 60_000, note: bytes.Repeat([]byte("large "), 3000)}
	if total := src.rows * len(src.note); total < smallMemory {
		t.Fatalf("the transaction has %d bytes only", total)
	}
	src.commit(func(x *tx) {
		for i := range src.rows {
			x.insert(1, row{fmt.Sprint(i), "1.25", null})
		}
	})
	g, ctx := startSmallGateway(t, src)
	before := expect(ctx, t, g, src.script, src.position)
	defer before.Release()
	close(src.begin)
	g.awaitCompaction(ctx, t, src.end(), fmt.Sprintf("%d %d", src.rows, src.rows*len(src.note)))
	if got, want := g.notes(ctx, t, before), fmt.Sprintf("%d 0", src.rows); got != want {
		t.Errorf("in the snapshot from before the table has %s rows and bytes, want %s", got, want)
	}
}

// A small transaction leaves long values alone, which are larger than the engine's memory.
func TestReplica_takesAnUpdateOfRowsThatTheEnginesMemoryCannotHold(t *testing.T) {
	src := newScript(accounts())
	rows, note := 3600, strings.Repeat("large ", 50_000)
	if total := rows * len(note); total < smallMemory {
		t.Fatalf("the rows have %d bytes only", total)
	}
	src.commit(func(x *tx) {
		for i := range rows {
			r := row{fmt.Sprint(i), "1.25", note}
			x.s.now[1][key(accounts(), r)] = r
		}
		x.s.add(event{}) // it comes by the copy
	})
	g, ctx := startSmallGateway(t, src)
	s, err := g.acquire(ctx, replica.Request{Min: src.position})
	if err != nil {
		t.Fatal(err)
	}
	s.Release()
	p := src.commit(func(x *tx) {
		for i := range rows {
			x.update(1, key(accounts(), row{fmt.Sprint(i)}), row{fmt.Sprint(i), "2.25", ""}, 2)
		}
	})
	g.awaitCompaction(ctx, t, p, fmt.Sprintf("%d %d", rows, rows*len(note)))
}

// What is fetched for an epoch comes in several pieces; the rows also change again, or die, in the same transaction.
func TestReplica_completesAnUpdateOfManyRowsInPieces(t *testing.T) {
	src := newScript(accounts())
	const rows = 700
	src.commit(func(x *tx) {
		for i := range rows {
			x.insert(1, row{fmt.Sprint(i), "1.25", fmt.Sprint("note ", i)})
		}
	})
	g, ctx := startGateway(t, src, nil)
	expect(ctx, t, g, src, src.position).Release()
	id := func(i int) string { return key(accounts(), row{fmt.Sprint(i)}) }
	p := src.commit(func(x *tx) {
		for i := range rows {
			x.update(1, id(i), row{fmt.Sprint(i), "2.25", ""}, 2)
		}
		for i := 0; i < rows; i += 7 {
			x.update(1, id(i), row{fmt.Sprint(i), "3.75", "changed"})
			x.update(1, id(i+1), row{fmt.Sprint(i + 1), "3.75", ""}, 2)
			x.update(1, id(i+2), row{fmt.Sprint(i + 2 + rows), "3.75", ""}, 2)
			x.delete(1, id(i+3))
			x.insert(1, row{fmt.Sprint(i + 3), "3.75", "again"})
			x.delete(1, id(i+4))
		}
	})
	s := expect(ctx, t, g, src, p)
	defer s.Release()
	p = src.commit(func(x *tx) {
		for i := range rows {
			if i%7 < 2 {
				x.update(1, id(i), row{fmt.Sprint(i), "4.25", ""}, 2)
			}
		}
	})
	expect(ctx, t, g, src, p).Release()
	if err := g.check(ctx, s, src); err != nil {
		t.Error(err)
	}
}

// awaitCompaction waits until all rows of the first table are in its base. The snapshots before and after have the notes that they should.
func (g *gateway) awaitCompaction(ctx context.Context, t *testing.T, p cdc.Position, want string) {
	t.Helper()
	for first := true; ; first = false {
		changed := g.r.Changed()
		s, err := g.acquire(ctx, replica.Request{Min: p})
		if err != nil {
			t.Fatal(err)
		}
		relation, _ := s.Relation(1, []string{"id"})
		compacted := !strings.HasPrefix(relation, "(")
		if first || compacted {
			if got := g.notes(ctx, t, s); got != want {
				t.Errorf("the table has %s rows and bytes, want %s", got, want)
			}
		}
		s.Release()
		if compacted {
			break
		}
		await(ctx, t, changed)
	}
	if n := g.counter(t, "freshet_replica_compaction_errors_total"); n > 0 {
		t.Errorf("compaction was refused %d times", n)
	}
}

// notes returns how many rows the first table has, and how many bytes their notes.
func (g *gateway) notes(ctx context.Context, t *testing.T, s *replica.Snapshot) string {
	t.Helper()
	relation, ok := s.Relation(1, []string{"note"})
	if !ok {
		t.Fatal("the table is not there")
	}
	counts, err := g.strings(ctx, "SELECT concat(toString(count()), ' ', toString(sum(length(ifNull(note, ''))))) AS n FROM "+relation)
	if err != nil {
		t.Fatal(err)
	}
	return counts[0]
}
