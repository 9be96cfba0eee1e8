package replica_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica"
)

// While a copy comes in many parts the engine merges them. What it merges by itself must end with the copy: what is published does not change.
func TestReplica_leavesACopyOfManyPartsAsOneThatStaysAsItIs(t *testing.T) {
	src := newScript(accounts())
	for i := range 30_000 {
		r := row{fmt.Sprint(i), "1.25", "copied"}
		src.now[1][key(accounts(), r)] = r
	}
	src.states[src.position] = src.now.clone()
	g, ctx := startGateway(t, src, func(c *replica.Config) { c.CopyRows = 300 })
	expect(ctx, t, g, src, src.commit(func(x *tx) { x.insert(1, row{"-1", "2.25", "inserted"}) })).Release()
	bases, err := g.strings(ctx, fmt.Sprintf(`SELECT concat(toString(assumeNotNull(active_parts)), ' ', create_table_query) AS n
		FROM system.tables WHERE database = '%s' AND name LIKE 'b\\_%%'`, g.cfg.Database))
	if err != nil || len(bases) != 1 {
		t.Fatalf("bases %q, error %v", bases, err)
	}
	for _, want := range []string{"1 CREATE", "max_bytes_to_merge_at_max_space_in_pool = 1", "max_bytes_to_merge_at_min_space_in_pool = 1"} {
		if !strings.Contains(bases[0], want) {
			t.Errorf("the base is %q, want %q in it", bases[0], want)
		}
	}
}

// halting is a source whose copies wait before they end.
type halting struct {
	*script
	halted, end chan struct{}
}

func (h *halting) Copy(ctx context.Context, ids []cdc.TableID, sink cdc.CopySink) (cdc.Position, error) {
	return h.script.Copy(ctx, ids, haltingSink{sink, h})
}

type haltingSink struct {
	cdc.CopySink
	h *halting
}

func (k haltingSink) Done(ctx context.Context, t *cdc.Table) error {
	close(k.h.halted)
	select {
	case <-k.h.end:
	case <-ctx.Done():
		return ctx.Err()
	}
	return k.CopySink.Done(ctx, t)
}

// A copy may take hours: whoever waits for it sees it grow.
func TestReplica_tellsHowManyRowsACopyHasTaken(t *testing.T) {
	const rows, part = 1050, 100
	src := &halting{newScript(accounts()), make(chan struct{}), make(chan struct{})}
	for i := range rows {
		r := row{fmt.Sprint(i), "1.25", null}
		src.now[1][key(accounts(), r)] = r
	}
	g, ctx := startGateway(t, src, func(c *replica.Config) { c.CopyRows = part })
	await(ctx, t, src.halted)
	// Two goroutines hand over rows, and each may keep a part that is not full.
	if got := g.r.Tables(); len(got) != 1 || got[0].Phase != replica.PhaseCopying || got[0].Rows <= rows-2*part || got[0].Rows > rows {
		t.Errorf("while the copy is under way: %+v, want more than %d rows", got, rows-2*part)
	}
	close(src.end)
	s, err := g.acquire(ctx, replica.Request{Min: src.position})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if got := g.r.Tables(); len(got) != 1 || got[0].Phase != replica.PhaseReady || got[0].Rows != rows {
		t.Errorf("after the copy: %+v, want %d rows", got, rows)
	}
}

// copyRows hands over a table's rows on two goroutines.
func copyRows(ctx context.Context, sink cdc.CopySink, t *cdc.Table, rows content) error {
	g, gctx := errgroup.WithContext(ctx)
	next := make(chan row)
	for range 2 {
		g.Go(func() error {
			for r := range next {
				if err := sink.Rows(gctx, t, []cdc.Row{datums(r)}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		defer close(next)
		for _, r := range rows {
			select {
			case next <- r:
			case <-gctx.Done():
				return gctx.Err()
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return sink.Done(ctx, t)
}
