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
)

func TestReplica_stopsOnlyTheTableThatCannotBeHeld(t *testing.T) {
	src := newScript(accounts(), tags())
	g, ctx := startGateway(t, src, nil)
	p := src.commit(func(x *tx) {
		x.insert(1, row{"1", "1.25", null})
		x.insert(3, row{"red"})
	})
	before := expect(ctx, t, g, src, p)
	defer before.Release()
	p = src.commit(func(x *tx) {
		x.insert(1, row{"2", "NaN", null})
		x.insert(3, row{"blue"})
	})
	s, err := g.acquire(ctx, replica.Request{Min: p})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if _, ok := s.Table(1); ok {
		t.Error("a snapshot has the table with the value that cannot be held")
	}
	if err := errors.Join(g.check(ctx, s, src), g.check(ctx, before, src)); err != nil {
		t.Error(err)
	}
	if _, ok := g.r.Table("public", "accounts"); ok {
		t.Error("the stopped table is offered to queries")
	}
	for _, st := range g.r.Tables() {
		if st.ID == 1 && (st.Phase != replica.PhaseStopped || st.Stopped.Code != cdc.CodeUnrepresentable) {
			t.Errorf("status %+v", st)
		}
	}
}

func TestReplica_copiesTablesWhileTheStreamGoesOn(t *testing.T) {
	src := newScript(tags())
	g, ctx := startGateway(t, src, nil)
	expect(ctx, t, g, src, src.commit(func(x *tx) { x.insert(3, row{"red"}) })).Release()

	gate := make(chan struct{})
	src.mu.Lock()
	src.copyGate = gate
	src.tables[1] = accounts()
	src.now[1] = content{}
	for i := range 500 {
		r := row{fmt.Sprint(i), "1.25", "copied"}
		src.now[1][key(accounts(), r)] = r
	}
	src.add(event{discovered: &cdc.Discovered{Table: src.tables[1]}})
	src.mu.Unlock()
	for i := range 50 {
		p := src.commit(func(x *tx) {
			x.insert(3, row{fmt.Sprint("tag", i)})
			x.delete(1, key(accounts(), row{fmt.Sprint(i)}))
			x.update(1, key(accounts(), row{fmt.Sprint(i + 100)}), row{fmt.Sprint(i + 100), "2.25", "x"}, 2)
		})
		s, err := g.acquire(ctx, replica.Request{Min: p})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := s.Table(1); ok {
			t.Error("the table is ready before its copy is complete")
		}
		if err := g.check(ctx, s, src); err != nil {
			t.Error(err)
		}
		s.Release()
	}
	close(gate)
	expect(ctx, t, g, src, src.watermark()).Release()
	p := src.drop(3)
	s := expect(ctx, t, g, src, p)
	defer s.Release()
	if _, ok := s.Table(3); ok {
		t.Error("the dropped table is still there")
	}
}

// The copy finds the old definition gone only after the new one was announced.
func TestReplica_copiesATableThatWasAnnouncedAnewBeforeItsCopyGaveUp(t *testing.T) {
	src := newScript(tags())
	g, ctx := startGateway(t, src, nil)
	expect(ctx, t, g, src, src.commit(func(x *tx) { x.insert(3, row{"red"}) })).Release()
	gate := make(chan struct{})
	before := src.counted(&src.copies)
	src.mu.Lock()
	src.copyGate = gate
	src.tables[1], src.now[1] = accounts(), content{}
	src.add(event{discovered: &cdc.Discovered{Table: src.tables[1]}})
	src.mu.Unlock()
	src.commit(func(x *tx) { x.insert(1, row{"1", "1.25", null}) })
	src.awaitAsked(ctx, t, func() bool { return src.copies > before })
	wider := accounts()
	wider.Columns = append(wider.Columns, cdc.Column{Name: "more", Type: 25, Modifier: -1, Attr: 4})
	p := src.redefine(wider, func(r row) row { return append(slices.Clone(r), null) })
	s, err := g.acquire(ctx, replica.Request{Min: p})
	if err != nil {
		t.Fatal(err)
	}
	s.Release()
	close(gate)
	s = expect(ctx, t, g, src, src.watermark())
	defer s.Release()
	if def, ok := s.Table(1); !ok || len(def.Columns) != len(wider.Columns) {
		t.Errorf("the snapshot has %+v", def)
	}
}

// What keeps copies from being taken is told as long as it does, though the stream goes on all the while.
func TestReplica_tellsOfAFailedCopyUntilOneSucceeds(t *testing.T) {
	src := newScript(tags())
	g, ctx := startGateway(t, src, nil)
	expect(ctx, t, g, src, src.commit(func(x *tx) { x.insert(3, row{"red"}) })).Release()
	failing := func() {
		t.Helper()
		src.mu.Lock()
		src.copyFails = errors.New("no slot is free")
		copies := src.copies
		src.mu.Unlock()
		src.redefine(accounts(), func(r row) row { return r })
		src.awaitAsked(ctx, t, func() bool { return src.copies > copies+1 }) // the first has failed
		if got := g.r.Status().SourceError; !strings.Contains(got, "no slot is free") {
			t.Errorf("while copies fail, the status tells of %q", got)
		}
	}
	failing()
	src.mu.Lock()
	src.copyFails = nil
	src.mu.Unlock()
	expect(ctx, t, g, src, src.watermark()).Release()
	if got := g.r.Status().SourceError; got != "" {
		t.Errorf("the table is copied, and the status tells of %q", got)
	}
	failing()
	src.drop(1)
	for g.r.Status().SourceError != "" { // until the copier has seen it
		expect(ctx, t, g, src, src.watermark()).Release()
	}
}

func TestReplica_refusesDataOfAnotherSource(t *testing.T) {
	src := newScript(accounts())
	g, ctx := startGateway(t, src, func(c *replica.Config) { c.CompactInterval = time.Millisecond })
	src.awaitConfirm(ctx, t, func() {
		expect(ctx, t, g, src, src.commit(func(x *tx) { x.insert(1, row{"1", "1.25", null}) })).Release()
	})
	if err := g.stop(); err != nil {
		t.Fatal(err)
	}
	g.cfg.SourceID = "another"
	var terminal *cdc.TerminalError
	if err := g.start(); !errors.As(err, &terminal) || terminal.Code != cdc.CodeSourceMismatch || terminal.Remedy == "" {
		t.Errorf("open on another source's data: %v", err)
	}
	g.cfg.SourceID = "test"
	copies := src.copies
	if err := g.start(); err != nil {
		t.Fatal(err)
	}
	expect(ctx, t, g, src, src.watermark()).Release()
	if src.copies != copies {
		t.Error("a restart copied the tables again")
	}
}

func TestReplica_isUnavailableWithoutItsEngine(t *testing.T) {
	src := newScript(accounts())
	server := testEngine(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	g := newGateway(t, server, "freshet", testPassword, src, nil)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := g.start(); err != nil {
		t.Fatalf("open without the engine: %v", err)
	}
	defer g.stop()
	var unavailable *replica.UnavailableError
	if _, err := g.r.Acquire(ctx, replica.Request{}); !errors.As(err, &unavailable) || !errors.Is(err, replica.ErrUnavailable) {
		t.Errorf("acquire without the engine: %v", err)
	}
	if err := server.Start(ctx); err != nil {
		t.Fatal(err)
	}
	expect(ctx, t, g, src, src.commit(func(x *tx) { x.insert(1, row{"1", "1.25", null}) })).Release()
}
