package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/bench/rig"
)

// neighbour is an engine that works beside transactions without any part of Freshet: what they lose to it they lose to the caches and the memory
// that both cores share.
type neighbour struct {
	statements []string
}

// makeNeighbour copies the data to plain tables in the engine, and asks the gateway what it makes of the analysts' queries.
func makeNeighbour(ctx context.Context, o Options, r *rig.Rig) (*neighbour, error) {
	if err := makePlainTables(ctx, r); err != nil {
		return nil, err
	}
	queries, err := o.Queries.Queries(rand.New(rand.NewPCG(o.Rig.Seed, 0)))
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, r.Endpoint())
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	n := &neighbour{}
	for _, q := range queries {
		statement, reason, err := engineStatement(ctx, conn, q)
		if err != nil {
			return nil, fmt.Errorf("explain %s: %w", q.Name, err)
		}
		if reason == "" {
			n.statements = append(n.statements, statement)
		}
	}
	if len(n.statements) == 0 {
		return nil, errors.New("none of the queries runs on the replica")
	}
	return n, nil
}

// start lets so many clients run the statements in the engine itself, one after the other, until the returned function is called.
func (n *neighbour) start(ctx context.Context, r *rig.Rig, clients int) (stop func() error) {
	running, cancel := context.WithCancel(ctx)
	g, running := errgroup.WithContext(running)
	for c := range clients {
		g.Go(func() error {
			for i := c; running.Err() == nil; i++ {
				statement := n.statements[i%len(n.statements)]
				if _, err := r.Query(running, statement, map[string]string{"default_format": "Native"}); err != nil && running.Err() == nil {
					return fmt.Errorf("run a query on plain tables: %w", err)
				}
			}
			return nil
		})
	}
	return func() error {
		cancel()
		return g.Wait()
	}
}
