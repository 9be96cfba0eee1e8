package replica_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cdc/sourcetest"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/connectors/replica"
	"github.com/freshet-io/freshet/e2e/stand"
)

// awaitEnd waits until a replica gives up, and returns why.
func (g *gateway) awaitEnd(ctx context.Context) error {
	g.t.Helper()
	select {
	case err := <-g.done:
		g.cancel()
		g.cancel = nil
		return err
	case <-ctx.Done():
		g.t.Fatal("the replica goes on")
		return nil
	}
}

// A gateway takes over from another one, dead or not, which then says who did, and keeps off the slot.
func TestReplica_hasOneOwner(t *testing.T) {
	pg := stand.Postgres(t)
	db := connect(t.Context(), t, pg.URL("postgres"))
	exec(t.Context(), t, db, "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 100)")
	open := func() *postgres.Source {
		src, err := postgres.New(postgres.Config{URL: pg.URL("postgres"), SlotWait: 2 * time.Second, StatusInterval: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(src.Close)
		return src
	}
	owner := func(c *replica.Config) { c.Owner, c.CompactInterval = replica.NewOwner(), 10*time.Millisecond }
	src := open()
	first, ctx := startGateway(t, src, owner)
	awaitTables(ctx, t, first, src, "t")

	for round := range 3 { // the last one follows one that is gone
		second := &gateway{t: t, cfg: first.cfg, src: open(), clock: time.Now}
		owner(&second.cfg)
		copies := fmt.Sprint(100 + 10*round)
		if round == 2 {
			if err := first.stop(); err != nil {
				t.Fatal(err)
			}
		}
		if err := second.start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := second.stop(); err != nil {
				t.Error(err)
			}
		})
		if round < 2 {
			err := first.awaitEnd(ctx)
			sourcetest.WantTerminal(t, err, cdc.CodeSuperseded)
			if !strings.Contains(err.Error(), second.cfg.Owner.Who) {
				t.Errorf("error %q, want one that names %s", err, second.cfg.Owner.Who)
			}
			sourcetest.WantTerminal(t, first.start(), cdc.CodeSuperseded)
		}
		awaitTables(ctx, t, second, second.src.(*postgres.Source), "t")
		if got := scalar(ctx, t, second, "t", []string{"id"}, "SELECT toString(count()) AS n FROM %s"); got != copies {
			t.Errorf("%s rows, want %s", got, copies)
		}
		exec(ctx, t, db, fmt.Sprintf("INSERT INTO t SELECT generate_series(%d, %d)", 1001+10*round, 1010+10*round))
		awaitTables(ctx, t, second, second.src.(*postgres.Source), "t")
		first = second
	}
}
