package consistency

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/bench/rig"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/toolchain"
	"github.com/freshet-io/freshet/workload/bank"
	"github.com/freshet-io/freshet/workload/ch"
	"github.com/freshet-io/freshet/workload/ch/compare"
	"github.com/freshet-io/freshet/workload/ch/consistency"
	"github.com/freshet-io/freshet/workload/driver"
	"github.com/freshet-io/freshet/workload/invariant"
)

var (
	snapshots = flag.Int("snapshots", 200, "snapshots to check")
	sessions  = flag.Int("sessions", 4, "sessions that check them")
)

// accounts is the bank's size.
const accounts = 100

func TestSnapshots_keepEveryPromise(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 17*time.Minute)
	defer cancel()
	r := start(ctx, t)
	load := runLoad(ctx, t, r)

	began := time.Now()
	checker := check(ctx, t, r)
	t.Logf("%d snapshots took %v", checker.Counts().Snapshots, time.Since(began).Round(time.Second))
	if c := checker.Counts(); c.Violations > 0 {
		t.Errorf("%d violations on %d snapshots; the first: %s", c.Violations, c.Snapshots, c.First)
	}
	queries, err := driver.AllQueries.Queries(rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	compared, err := compare.Run(ctx, compare.Config{
		OLTP: r.OLTP(), Endpoint: r.Endpoint(), Tables: ch.WriteOrder, Queries: queries,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range compared.Differences {
		t.Errorf("an answer differs: %s", d)
	}
	for name, route := range compared.OtherRoutes {
		t.Errorf("%s took the route %s", name, route)
	}
	if compared.Compared != len(queries) {
		t.Errorf("%d of %d answers were compared", compared.Compared, len(queries))
	}
	load.stop(t)
	t.Logf("%d snapshots checked beside %d transactions and %d transfers; writers were held off for %v to compare",
		checker.Counts().Snapshots, load.driver.Progress().Transactions, load.transfers.Load(), compared.Pause)
}

// check checks snapshots in several sessions side by side: one alone would wait for the load most of the time.
func check(ctx context.Context, t *testing.T, r *rig.Rig) *invariant.Checker {
	t.Helper()
	checker := invariant.NewChecker(append(consistency.Conditions(false), bank.Checks(accounts)...))
	var conns []*pgx.Conn
	for range *sessions {
		conn := connect(ctx, t, r)
		// A check that went to PostgreSQL would prove nothing, and consistency does not depend on age.
		if _, err := conn.PgConn().Exec(ctx, "SET freshet.route = 'columnar'; SET freshet.freshness = 'eventual'").ReadAll(); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, conn := range conns {
		group.Go(func() error {
			for checker.Counts().Snapshots < *snapshots {
				if _, err := checker.Snapshot(ctx, conn); err != nil {
					return fmt.Errorf("after %d snapshots: %w", checker.Counts().Snapshots, err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return checker
}

func start(ctx context.Context, t *testing.T) *rig.Rig {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := stand.BuildEngine(ctx, cache)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rig.Start(ctx, rig.Config{
		Cache: cache, GatewayExecutable: stand.BuildFreshet(t), EngineExecutable: engine, Warehouses: 1, Seed: 1,
		Prepare:  func(ctx context.Context, conn *pgx.Conn) error { return bank.Create(ctx, conn, accounts) },
		Progress: func(step string) { t.Log(step) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	return r
}

func connect(ctx context.Context, t *testing.T, r *rig.Rig) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(ctx, r.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
	return conn
}

// running is the load: TPC-C and the bank's transfers, through the endpoint.
type running struct {
	driver    *driver.Driver
	transfers atomic.Int64
	cancel    context.CancelFunc
	ended     chan error
}

func runLoad(ctx context.Context, t *testing.T, r *rig.Rig) *running {
	t.Helper()
	d, err := driver.New(driver.Config{OLTP: r.Endpoint(), Warehouses: 1, Seed: 1, TransactionClients: 4})
	if err != nil {
		t.Fatal(err)
	}
	l := &running{driver: d, ended: make(chan error, 2)}
	client := connect(ctx, t, r)
	ctx, l.cancel = context.WithCancel(ctx)
	go func() {
		_, err := d.Run(ctx)
		l.ended <- err
	}()
	go func() {
		transferrer := bank.Transferrer{Accounts: accounts, Rand: rand.New(rand.NewPCG(1, 1)), Done: &l.transfers}
		l.ended <- transferrer.Loop(ctx, client)
	}()
	return l
}

// stop ends the load, which must not have failed before.
func (l *running) stop(t *testing.T) {
	t.Helper()
	if l.transfers.Load() == 0 || l.driver.Progress().Transactions == 0 {
		t.Error("there was no load")
	}
	l.cancel()
	if err := errors.Join(<-l.ended, <-l.ended); err != nil {
		t.Errorf("the load failed: %v", err)
	}
}
