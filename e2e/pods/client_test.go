//go:build e2e

package pods

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/freshet-io/freshet/workload/bank"
)

const accounts = 200

// customers are clients that never stop and forgive no error: their pool renews connections as pools do, and more often than a unit's time
// to drain.
type customers struct {
	queries, transfers atomic.Int64
	violations         atomic.Int64

	mu     sync.Mutex
	errors []error

	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// startCustomers creates a bank, and lets money be moved and counted by several clients.
func (w *world) startCustomers(url string) *customers {
	w.t.Helper()
	if err := bank.Create(w.t.Context(), w.connect(url), accounts); err != nil {
		w.t.Fatal(err)
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		w.t.Fatal(err)
	}
	cfg.MaxConns, cfg.MaxConnLifetime = 6, 8*time.Second
	ctx, cancel := context.WithCancel(context.Background())
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		cancel()
		w.t.Fatal(err)
	}
	c := &customers{cancel: cancel}
	check := bank.Checks(accounts)[0].SQL
	for range 3 {
		c.loop(ctx, func() error { return c.count(ctx, pool, check) })
	}
	c.loop(ctx, func() error { return c.transfer(ctx, pool) })
	w.t.Cleanup(func() {
		cancel()
		c.wg.Wait()
		pool.Close()
	})
	return c
}

// loop runs a client that does something thirty times a second or so: the machine has other things to do, too.
func (c *customers) loop(ctx context.Context, do func() error) {
	c.wg.Go(func() {
		tick := time.NewTicker(30 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := do(); err != nil && ctx.Err() == nil {
				c.fail(err)
			}
		}
	})
}

// count counts all money, which is always the same. The query returns a row otherwise.
func (c *customers) count(ctx context.Context, pool *pgxpool.Pool, check string) error {
	rows, err := pool.Query(ctx, check)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	for rows.Next() {
		c.violations.Add(1)
	}
	if rows.Err() != nil {
		return fmt.Errorf("query: %w", rows.Err())
	}
	c.queries.Add(1)
	return nil
}

// transfer moves money between two tables in one transaction.
func (c *customers) transfer(ctx context.Context, pool *pgxpool.Pool) error {
	tx, err := pool.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	from, to, amount := 1+rand.IntN(accounts), 1+rand.IntN(accounts), rand.IntN(100)
	for _, sql := range []string{
		fmt.Sprintf("UPDATE bank_checking SET balance = balance - %d WHERE id = %d", amount, from),
		fmt.Sprintf("UPDATE bank_savings SET balance = balance + %d WHERE id = %d", amount, to),
	} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return errors.Join(fmt.Errorf("transfer: %w", err), tx.Rollback(context.WithoutCancel(ctx)))
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	c.transfers.Add(1)
	return nil
}

func (c *customers) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errors = append(c.errors, err)
}

// stop ends the clients and returns their errors.
func (c *customers) stop() []error {
	c.cancel()
	c.wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.errors
}
