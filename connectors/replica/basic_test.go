package replica_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/chengine"
)

const testPassword = `se"cret'\`

func testEngine(t testing.TB) *chengine.Server {
	return stand.Engine(t, func(c *chengine.Config) { c.User, c.Password = "freshet", testPassword })
}

// compactAtOnce compacts every change, by extending the base, which it never merges.
func compactAtOnce(c *replica.Config) {
	c.CompactInterval, c.RewriteRows, c.SettleInterval = time.Millisecond, 1, time.Hour
}

func startGateway(t *testing.T, src cdc.Source, change func(*replica.Config)) (*gateway, context.Context) {
	t.Helper()
	return startGatewayOn(t, testEngine(t), src, change)
}

func startGatewayOn(t *testing.T, server *chengine.Server, src cdc.Source, change func(*replica.Config)) (*gateway, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	g := newGateway(t, server, "freshet", testPassword, src, change)
	if err := g.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.stop(); err != nil {
			t.Error(err)
		}
	})
	return g, ctx
}

// expect checks the first snapshot that has a position and all tables.
func expect(ctx context.Context, t *testing.T, g *gateway, src *script, p cdc.Position) *replica.Snapshot {
	t.Helper()
	for {
		changed := g.r.Changed()
		s, err := g.acquire(ctx, replica.Request{Min: p})
		if err != nil {
			t.Fatal(err)
		}
		missing := false
		for id := range src.at(s.Position()) {
			if _, ok := s.Table(id); !ok {
				missing = true
			}
		}
		if missing {
			s.Release()
			await(ctx, t, changed)
			continue
		}
		if err := g.check(ctx, s, src); err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func TestReplica_followsTheStream(t *testing.T) {
	src := newScript(accounts(), orders(), tags())
	src.commit(func(x *tx) {
		for i := range 1000 {
			x.insert(1, row{fmt.Sprint(i), "1.25", "copied"})
		}
	})
	g, ctx := startGateway(t, src, nil)
	first := expect(ctx, t, g, src, src.commit(func(x *tx) {
		x.insert(2, row{"1", "ab", "7.77", null})
		x.insert(3, row{"red"})
	}))
	defer first.Release()
	p := src.commit(func(x *tx) {
		x.update(1, key(accounts(), row{"5"}), row{"5", "2.25", null})
		x.update(1, key(accounts(), row{"6"}), row{"6006", "3.25", "key changed"})
		x.update(1, key(accounts(), row{"6006"}), row{"6006", "9.25", ""}, 2)
		x.delete(1, key(accounts(), row{"7"}))
		x.insert(1, row{"7", "4.25", "again"})
		x.insert(1, row{"8000", "4.25", "short-lived"})
		x.delete(1, key(accounts(), row{"8000"}))
		x.delete(3, key(tags(), row{"red"}))
	})
	expect(ctx, t, g, src, p).Release()
	p = src.commit(func(x *tx) {
		x.update(1, key(accounts(), row{"8"}), row{"8", "2.25", ""}, 2)
		x.truncate(2)
		x.insert(2, row{"2", "ab", "8.88", "new"})
	})
	expect(ctx, t, g, src, p).Release()
	if err := g.check(ctx, first, src); err != nil {
		t.Errorf("pinned snapshot: %v", err)
	}
}
