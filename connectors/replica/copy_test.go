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
