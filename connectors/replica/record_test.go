package replica_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica"
	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// due is how many changes make a table be compacted in these tests, and a record be written.
const due = 20

// What is confirmed while a copy is being taken must not be after the copy: a restart begins from there.
func TestReplica_restartsAfterACopyBesideTheStream(t *testing.T) {
	src := newScript(accounts(), tags())
	g, ctx := startGateway(t, src, func(c *replica.Config) { c.CompactRows, c.CompactInterval = due, time.Hour })
	expect(ctx, t, g, src, src.commit(func(x *tx) { x.insert(3, row{"red"}) })).Release()
	awaitRecord := func(name string) {
		src.awaitConfirm(ctx, t, func() {
			src.commit(func(x *tx) {
				for i := range due {
					x.insert(3, row{fmt.Sprint(name, i)})
				}
			})
		})
	}

	gate := make(chan struct{})
	src.mu.Lock()
	src.copyGate = gate
	src.mu.Unlock()
	wide := accounts()
	wide.Columns = append(wide.Columns, cdc.Column{Name: "more", Type: text, Modifier: -1, Attr: 4})
	before := src.counted(&src.copies)
	src.redefine(wide, func(r row) row { return append(r, null) })
	src.awaitAsked(ctx, t, func() bool { return src.copies > before })
	src.commit(func(x *tx) { x.insert(1, row{"1", "1.25", null, "deferred"}) })
	for i := range 3 {
		awaitRecord(fmt.Sprint("during", i))
	}
	close(gate)
	expect(ctx, t, g, src, src.watermark()).Release()
	for i := range 2 { // the first may have been under way before
		awaitRecord(fmt.Sprint("after", i))
	}
	restart(ctx, t, g, src)
}

// Records that are written while restored tables wait for the stream name these too.
func TestReplica_keepsRestoredTablesThatTheStreamHasNotReached(t *testing.T) {
	src := newScript(accounts(), tags())
	g, ctx := startGateway(t, src, func(c *replica.Config) { c.CompactRows, c.CompactInterval = due, time.Hour })
	expect(ctx, t, g, src, src.watermark()).Release()
	src.commit(func(x *tx) { x.insert(3, row{"red"}) }) // stays in memory
	src.commit(func(x *tx) {
		for i := range due {
			x.insert(1, row{fmt.Sprint(i), "1.25", null})
		}
	})
	awaitParts(ctx, t, g, src, func(parts, masked int) bool { return parts > 0 })
	if err := g.stop(); err != nil {
		t.Fatal(err)
	}

	gate := make(chan struct{})
	src.mu.Lock()
	src.gate = gate
	src.mu.Unlock()
	src.awaitConfirm(ctx, t, func() {
		if err := g.start(); err != nil {
			t.Fatal(err)
		}
	})
	if err := g.stop(); err != nil {
		t.Fatal(err)
	}
	close(gate)
	restart(ctx, t, g, src)
}

// The record names every table with all that is known of it. The engine reads no statement that is longer than 256 KiB.
func TestReplica_recordsMoreThanAStatementHolds(t *testing.T) {
	known := tags()
	for i := range 2000 {
		known.Omitted = append(known.Omitted, cdc.OmittedColumn{Column: cdc.Column{Name: fmt.Sprint("left out ", i), Type: 600, Attr: int16(i + 10)},
			Code: cdc.CodeUnsupportedType, Detail: strings.Repeat("has a type of somebody's ", 5)})
	}
	src := newScript(accounts(), known)
	g, ctx := startGateway(t, src, func(c *replica.Config) { c.CompactRows, c.CompactInterval = due, time.Hour })
	expect(ctx, t, g, src, src.watermark()).Release()
	awaitTwoRecords(ctx, t, src, func(x *tx, name string) { x.insert(3, row{name}) })
	restart(ctx, t, g, src)
}

// What a former version stored in a form of its own is copied anew, and nothing else.
func TestReplica_takesOverWhatAFormerVersionStored(t *testing.T) {
	documents := &cdc.Table{ID: 4, Schema: "app", Name: "documents", Key: []int{0}, Columns: []cdc.Column{
		{Name: "name", Type: text, Modifier: -1, NotNull: true, Attr: 1}, {Name: "document", Type: jsonb, Modifier: -1, Attr: 2},
	}}
	src := newScript(tags(), documents)
	g, ctx := startGateway(t, src, func(c *replica.Config) { c.CompactRows, c.CompactInterval = due, time.Hour })
	expect(ctx, t, g, src, src.watermark()).Release()
	awaitTwoRecords(ctx, t, src, func(x *tx, name string) {
		x.insert(3, row{name})
		x.insert(4, row{name, "[1, 2]"})
	})
	if err := g.stop(); err != nil {
		t.Fatal(err)
	}
	c, err := engine.Dial(ctx, engine.Config{Addr: g.cfg.Addr, User: g.cfg.User, Password: g.cfg.Password})
	if err != nil {
		t.Fatal(err)
	}
	records := engine.Quote(g.cfg.Database) + ".epochs"
	err = c.Exec(ctx, "INSERT INTO "+records+" SELECT serial + 1, position, commit_time, replaceOne(record, '{\"format\":2,', '{\"format\":1,') FROM "+records+" ORDER BY serial DESC LIMIT 1")
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	copies := src.counted(&src.copies)
	if err := g.start(); err != nil {
		t.Fatal(err)
	}
	expect(ctx, t, g, src, src.watermark()).Release()
	src.mu.Lock()
	again, copied := src.copies-copies, src.copied
	src.mu.Unlock()
	if want := []cdc.TableID{documents.ID}; again != 1 || !slices.Equal(copied, want) {
		t.Errorf("%d copies, the last of tables %v, want one of %v", again, copied, want)
	}
}

// awaitTwoRecords has as many changes made as lead to two records.
func awaitTwoRecords(ctx context.Context, t *testing.T, src *script, change func(x *tx, name string)) {
	t.Helper()
	for n := range 2 {
		src.awaitConfirm(ctx, t, func() {
			src.commit(func(x *tx) {
				for i := range due {
					change(x, fmt.Sprint(n, " ", i))
				}
			})
		})
	}
}

// restart restarts the gateway, if it runs, and expects that it goes on without a copy.
func restart(ctx context.Context, t *testing.T, g *gateway, src *script) {
	t.Helper()
	copies := src.counted(&src.copies)
	if err := g.stop(); err != nil {
		t.Fatal(err)
	}
	if err := g.start(); err != nil {
		t.Fatal(err)
	}
	expect(ctx, t, g, src, src.watermark()).Release()
	if again := src.counted(&src.copies) - copies; again != 0 {
		t.Errorf("the restart took %d copies", again)
	}
}
