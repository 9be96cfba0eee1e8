package trial

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/workload/bank"
	"github.com/freshet-io/freshet/workload/ch"
	"github.com/freshet-io/freshet/workload/driver"
	"github.com/freshet-io/freshet/workload/invariant"
)

const accounts = 500

// Load fills the database and waits until all of it is on the replica.
func (p *Platform) Load(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	if err := bank.Create(ctx, connect(t, p.URL), accounts); err != nil {
		t.Fatal(err)
	}
	if err := ch.Load(ctx, ch.LoadConfig{DSN: p.URL, Warehouses: 1, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	p.Eventually(t, "the initial copy", p.ColumnarAnswer)
}

// ColumnarAnswer asks the replica for something that all tables take part in.
func (p *Platform) ColumnarAnswer(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, p.URL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, sql := range []string{
		"SET freshet.freshness = 'strong'", "SET freshet.route = 'columnar'", "SET statement_timeout = '5s'",
		"SELECT count(*) FROM bank_checking", "SELECT count(*) FROM bank_savings", "SELECT count(*) FROM order_line", "SELECT count(*) FROM stock",
		"SELECT count(*) FROM customer", "SELECT count(*) FROM history",
	} {
		if _, err := conn.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// findings are what the clients saw.
type findings struct {
	bank      invariant.Counts
	transfers int64
	ch        *driver.Report
	// waited is the share of the time in which writers waited for the replica.
	waited float64
}

// require fails the test if a snapshot broke a promise.
func (f findings) require(t *testing.T) {
	t.Helper()
	t.Logf("%d transfers and %.0f transactions/s, %.0f %% of the time writers waited for the replica; snapshots checked: %d of the bank, %d of CH-benCHmark",
		f.transfers, f.ch.TransactionsPerSecond, 100*f.waited, f.bank.Snapshots, f.ch.SnapshotsChecked)
	if f.bank.Violations+f.ch.Violations > 0 {
		t.Errorf("snapshots broke promises: bank %v, CH-benCHmark %s", f.bank.First, f.ch.FirstViolation)
	}
}

// StartLoad runs transactions and consistency checks beside them, all through the endpoint, until stop: that waits until at least so many
// snapshots of the bank, and some of CH-benCHmark, were looked at beside transactions, and fails the test if one of them broke a promise. The transactions
// come at full rate but while the replica is more than [mostBehind] behind, when they wait.
func (p *Platform) StartLoad(t *testing.T, seed uint64) (stop func(least int)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var transfers atomic.Int64
	keep := func(client func(ctx context.Context, conn *pgx.Conn) error, settings ...string) {
		wg.Go(func() {
			for ctx.Err() == nil {
				// A client that lost its connection comes again: what it must never lose is a promise.
				_ = reconnected(ctx, p.URL, client, settings...)
			}
		})
	}
	behind := newBacklog()
	wg.Go(func() { behind.watch(ctx, append([]string{p.Monitor}, p.Others...)) })
	for i := range uint64(2) {
		keep(bank.Transferrer{Accounts: accounts, Rand: rand.New(rand.NewPCG(seed, 1+i)), Done: &transfers, Pace: behind.pass}.Loop)
	}
	checker := invariant.NewChecker(bank.Checks(accounts))
	keep(func(ctx context.Context, conn *pgx.Conn) error {
		for ctx.Err() == nil {
			if _, err := checker.Snapshot(ctx, conn); err != nil {
				return err
			}
		}
		return nil
	}, "SET freshet.route = 'columnar'", "SET statement_timeout = '10s'")
	clients, err := driver.New(driver.Config{
		OLTP: p.URL, Endpoint: p.URL, Postgres: p.DirectURL, Warehouses: 1, Seed: seed, TransactionClients: 2,
		Check: true, CheckEvery: time.Second, AnalyticalSetup: "SET freshet.route = 'columnar'", Reconnect: true,
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})), Pace: behind.pass,
	})
	if err != nil {
		t.Fatal(err)
	}
	var report *driver.Report
	wg.Go(func() {
		var err error
		if report, err = clients.Run(ctx); err != nil {
			t.Errorf("CH-benCHmark clients: %v", err)
		}
	})
	began := time.Now()
	return func(least int) {
		t.Helper()
		p.Eventually(t, "enough of transactions and of snapshots", func(context.Context) error {
			bank, ch, moved := checker.Counts().Snapshots, clients.Progress(), transfers.Load()
			if bank < least || ch.SnapshotsChecked == 0 || ch.Transactions == 0 || moved == 0 {
				return fmt.Errorf("%d snapshots of the bank, want %d; %d of CH-benCHmark; %d transfers, %d transactions", bank, least, ch.SnapshotsChecked, moved, ch.Transactions)
			}
			return nil
		})
		cancel()
		wg.Wait()
		findings{
			bank: checker.Counts(), transfers: transfers.Load(), ch: report, waited: behind.total().Seconds() / time.Since(began).Seconds(),
		}.require(t)
	}
}

func reconnected(ctx context.Context, url string, client func(context.Context, *pgx.Conn) error, settings ...string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		pause(ctx, 50*time.Millisecond)
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, s := range settings {
		if _, err := conn.Exec(ctx, s); err != nil {
			return err
		}
	}
	err = client(ctx, conn)
	pause(ctx, 20*time.Millisecond)
	return err
}

// pause lets a random time pass between kills; it orders nothing.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func connect(t *testing.T, url string, settings ...string) *pgx.Conn {
	t.Helper()
	conn := stand.Connect(t, url)
	for _, s := range settings {
		stand.Exec(t, conn, s)
	}
	return conn
}
