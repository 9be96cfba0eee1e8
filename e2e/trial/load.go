package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/workload/bank"
	"github.com/freshet-io/freshet/workload/ch"
	"github.com/freshet-io/freshet/workload/driver"
	"github.com/freshet-io/freshet/workload/invariant"
)

var (
	killCount = flag.Int("kills", 21, "processes to kill")
	faultSeed = flag.Uint64("seed", 0, "seed of the kills; 0 for a random one")
)

const (
	accounts = 500
	recovery = 90 * time.Second // the longest time that any restart may take
)

var components = []string{"gateway", "engine", "postgresql"}

func TestPlatform_survivesKillsAtAnyInstant(t *testing.T) {
	seed := *faultSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("kills by seed %d", seed)
	ctx := t.Context()
	p := startPlatform(t)
	load(ctx, t, p)
	stop := startLoad(t, p, seed)
	killAll(ctx, t, p, rand.New(rand.NewPCG(seed, 0)))
	found := stop()

	t.Logf("%d transfers and %.0f transactions/s; snapshots checked: %d of the bank, %d of CH-benCHmark", found.transfers,
		found.chbench.TransactionsPerSecond, found.bank.Snapshots, found.chbench.SnapshotsChecked)
	if found.bank.Violations+found.chbench.Violations > 0 {
		t.Errorf("snapshots broke promises: bank %v, CH-benCHmark %s", found.bank.First, found.chbench.FirstViolation)
	}
	if found.bank.Snapshots < *killCount || found.chbench.SnapshotsChecked == 0 || found.transfers == 0 || found.chbench.TransactionsPerSecond == 0 {
		t.Errorf("too little happened between the kills to show anything")
	}
	eventually(t, recovery, "a columnar answer after the last kill", p.columnarAnswer)
	requireEqualTables(ctx, t, connect(t, p.DirectURL), connect(t, p.URL, "SET freshet.freshness = 'strong'", "SET freshet.route = 'columnar'"))
}

// load fills the database and waits until all of it is on the replica.
func load(ctx context.Context, t *testing.T, p *local) {
	t.Helper()
	if err := bank.Create(ctx, connect(t, p.URL), accounts); err != nil {
		t.Fatal(err)
	}
	if err := ch.Load(ctx, ch.LoadConfig{DSN: p.URL, Warehouses: 1, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 2*recovery, "the initial copy", p.columnarAnswer)
}

// columnarAnswer asks the replica for something that all tables take part in.
func (p *local) columnarAnswer(ctx context.Context) error {
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
	chbench   *driver.Report
}

// startLoad runs transactions at full rate and consistency checks beside them, all through the endpoint, until stop.
func startLoad(t *testing.T, p *local, seed uint64) (stop func() findings) {
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
	for i := range uint64(2) {
		keep(bank.Transferrer{Accounts: accounts, Rand: rand.New(rand.NewPCG(seed, 1+i)), Done: &transfers}.Loop)
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
		Logger: slog.New(slog.DiscardHandler),
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
	return func() findings {
		cancel()
		wg.Wait()
		return findings{bank: checker.Counts(), transfers: transfers.Load(), chbench: report}
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

// killAll kills processes at random instants: most of them while everything works, some while another one recovers.
func killAll(ctx context.Context, t *testing.T, p *local, r *rand.Rand) {
	t.Helper()
	killed := map[string]int{}
	for i := range *killCount {
		if i < len(components) || r.IntN(3) > 0 {
			eventually(t, recovery, "recovery", p.columnarAnswer)
		}
		pause(ctx, time.Duration(r.IntN(2500))*time.Millisecond)
		name := components[i%len(components)]
		if i >= 2*len(components) {
			name = components[r.IntN(len(components))]
		}
		var victim = p.component(ctx, t, name)
		eventually(t, recovery, name+" up", func(ctx context.Context) error {
			if victim = p.component(ctx, t, name); !victim.Up {
				return fmt.Errorf("%s is down: %s", name, victim.Problem)
			}
			return nil
		})
		if err := victim.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatalf("kill %s: %v", name, err)
		}
		killed[name]++
		t.Logf("kill %d: %s (pid %d)", i+1, name, victim.Process.PID)
		eventually(t, recovery, name+" restarted", func(ctx context.Context) error {
			if c := p.component(ctx, t, name); !c.Up || c.Process.PID == victim.Process.PID {
				return errors.New("not yet")
			}
			return nil
		})
	}
	eventually(t, recovery, "recovery", p.columnarAnswer)
	t.Logf("killed %v", killed)
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
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for _, s := range settings {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return conn
}
