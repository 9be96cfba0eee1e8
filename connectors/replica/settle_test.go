package replica_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/replica"
)

// startExtending starts a gateway whose only table has a base of a hundred rows, which every commit extends.
func startExtending(t *testing.T) (*script, *gateway, context.Context) {
	src := newScript(accounts())
	g, ctx := startGateway(t, src, compactAtOnce)
	src.commit(func(x *tx) {
		for i := range 100 {
			x.insert(1, row{fmt.Sprint(i), "1.25", null})
		}
	})
	awaitParts(ctx, t, g, src, func(parts, masked int) bool { return parts > 0 })
	return src, g, ctx
}

// updateAccount commits another version of an account, and waits until it is seen.
func updateAccount(ctx context.Context, t *testing.T, g *gateway, src *script, id int) {
	t.Helper()
	p := src.commit(func(x *tx) { x.update(1, key(accounts(), row{fmt.Sprint(id)}), row{fmt.Sprint(id), "2.75", "changed"}) })
	expect(ctx, t, g, src, p).Release()
}

// A base that was extended has several parts and masked rows, until its table is quiet.
func TestReplica_mergesTheBaseOfAQuietTable(t *testing.T) {
	src, g, ctx := startExtending(t)
	for i := range 3 {
		updateAccount(ctx, t, g, src, i)
	}
	awaitParts(ctx, t, g, src, func(parts, masked int) bool { return parts > 1 && masked > 0 })
	if err := g.stop(); err != nil {
		t.Fatal(err)
	}

	g.cfg.SettleInterval = time.Millisecond
	if err := g.start(); err != nil {
		t.Fatal(err)
	}
	awaitParts(ctx, t, g, src, func(parts, masked int) bool { return parts == 1 && masked == 0 })
	// It goes on like any base, also through another restart.
	p := src.commit(func(x *tx) { x.delete(1, key(accounts(), row{"7"})) })
	expect(ctx, t, g, src, p).Release()
	if err := g.stop(); err != nil {
		t.Fatal(err)
	}
	if err := g.start(); err != nil {
		t.Fatal(err)
	}
	s := expect(ctx, t, g, src, p)
	defer s.Release()
	if err := g.check(ctx, s, src); err != nil {
		t.Error(err)
	}
}

// A base that was extended is merged at the next compaction once scans of it have lost as much as that takes.
func TestReplica_mergesABaseThatIsRead(t *testing.T) {
	src, g, ctx := startExtending(t)
	updateAccount(ctx, t, g, src, 0)
	awaitParts(ctx, t, g, src, func(parts, masked int) bool { return parts > 1 && masked == 1 })
	updateAccount(ctx, t, g, src, 1)
	awaitParts(ctx, t, g, src, func(parts, masked int) bool { return parts > 1 && masked == 2 })

	s, err := g.acquire(ctx, replica.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for range 50_000 { // each loses a microsecond, and merging takes 20 ms
		s.Relation(1, []string{"id"})
	}
	s.Release()
	updateAccount(ctx, t, g, src, 2)
	awaitParts(ctx, t, g, src, func(parts, masked int) bool { return parts == 1 && masked == 0 })
	updateAccount(ctx, t, g, src, 3)
	awaitParts(ctx, t, g, src, func(parts, masked int) bool { return parts > 1 && masked == 1 })
}

// awaitParts waits until all rows of the first table are in its base, whose parts and masked rows are as they should be. The rows
// of every snapshot in between are compared.
func awaitParts(ctx context.Context, t *testing.T, g *gateway, src *script, good func(parts, masked int) bool) {
	t.Helper()
	for {
		changed := g.r.Changed()
		s, err := g.acquire(ctx, replica.Request{})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.check(ctx, s, src); err != nil {
			t.Fatal(err)
		}
		relation, ready := s.Relation(1, []string{"id"})
		if ready && !strings.HasPrefix(relation, "(") {
			_, name, _ := strings.Cut(strings.ReplaceAll(relation, "`", ""), ".")
			list, err := g.reader.Strings(ctx, "SELECT concat(toString(rows), '') AS n FROM system.parts WHERE active AND table = '"+name+"'")
			if err != nil {
				t.Fatal(err)
			}
			physical := 0
			for _, rows := range list {
				var n int
				if _, err := fmt.Sscan(rows, &n); err != nil {
					t.Fatal(err)
				}
				physical += n
			}
			live := len(src.at(s.Position())[1])
			if good(len(list), physical-live) {
				s.Release()
				return
			}
		}
		s.Release()
		await(ctx, t, changed)
	}
}
