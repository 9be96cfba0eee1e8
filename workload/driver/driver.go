package driver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/workload/ch"
	"github.com/freshet-io/freshet/workload/ch/compare"
	"github.com/freshet-io/freshet/workload/ch/consistency"
	"github.com/freshet-io/freshet/workload/invariant"
)

// Driver runs one workload. Make it by [New], run it once by Run; Progress may be called at any time from anywhere.
type Driver struct {
	cfg     Config
	rec     *recorder
	checker *invariant.Checker

	mu         sync.Mutex
	phase      Phase
	comparison *compare.Report
	// unchecked is what the checker had found when counting began.
	unchecked invariant.Counts

	// floor is the position from which on snapshots are checked; check's goroutine owns it.
	floor string
}

// Phase is what a [Driver] is at.
type Phase string

// The phases, in order.
const (
	Connecting Phase = "connecting"
	WarmingUp  Phase = "warming up"
	Measuring  Phase = "measuring"
	Comparing  Phase = "comparing answers"
	Finished   Phase = "finished"
)

// New returns a driver for the configuration.
func New(cfg Config) (*Driver, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Driver{
		cfg: cfg, rec: newRecorder(), phase: Connecting,
		checker: invariant.NewChecker(consistency.Conditions(cfg.ConstantSize)),
	}, nil
}

// Run runs the workload to its end, or until ctx ends. The report is valid, as far as it got, beside an error too.
func (d *Driver) Run(ctx context.Context) (*Report, error) {
	clients, stop := context.WithCancel(ctx)
	defer stop()
	transactions, stopTransactions := context.WithCancel(clients)
	analytics, stopAnalytics := context.WithCancel(clients)
	defer stopTransactions()
	defer stopAnalytics()

	// 1. Start the clients. The first to fail ends the run.
	failed := make(chan struct{})
	var group errgroup.Group
	var once sync.Once
	start := func(ctx context.Context, client func(context.Context) error) {
		group.Go(func() error {
			err := d.keep(ctx, client)
			if err != nil {
				once.Do(func() { close(failed) })
			}
			return err
		})
	}
	for i := range d.cfg.TransactionClients {
		start(transactions, func(ctx context.Context) error { return d.terminal(ctx, i) })
	}
	for i := range d.cfg.AnalyticalClients {
		start(analytics, func(ctx context.Context) error { return d.analyst(ctx, i) })
	}
	if d.cfg.Check {
		start(analytics, d.check)
	}
	// 2. Warm up, then measure.
	d.enter(WarmingUp)
	ok := wait(ctx, failed, d.cfg.Warmup)
	if ok {
		d.enter(Measuring)
		d.beginCounting()
		duration := d.cfg.Duration
		if duration == 0 {
			duration = endless
		}
		ok = wait(ctx, failed, duration)
		d.rec.stop()
	}
	// 3. Compare answers while transactions go on.
	stopAnalytics()
	var compareErr error
	if ok && d.cfg.CompareAtEnd {
		d.enter(Comparing)
		compareErr = d.compare(ctx)
	}
	// 4. End.
	stop()
	err := errors.Join(group.Wait(), compareErr)
	d.enter(Finished)
	return d.report(), err
}

// endless is longer than any run.
const endless = time.Duration(1<<63 - 1)

// wait waits for d; false if ctx ended or a client failed before.
func wait(ctx context.Context, failed <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-failed:
		return false
	case <-ctx.Done():
		return false
	}
}

// keep runs a client until ctx ends. Where reconnecting is asked for, failures are counted and the client begins anew.
func (d *Driver) keep(ctx context.Context, client func(context.Context) error) error {
	const backoff = 100 * time.Millisecond
	for {
		err := client(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !d.cfg.Reconnect {
			return err
		}
		if err != nil {
			d.rec.failure(err)
			d.cfg.Logger.Info("client failed and connects again", "error", err)
			wait(ctx, nil, backoff)
		}
	}
}

// terminal runs transactions on one connection.
func (d *Driver) terminal(ctx context.Context, number int) error {
	conn, err := pgx.Connect(ctx, d.cfg.OLTP)
	if err != nil {
		return fmt.Errorf("connect terminal %d: %w", number, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	t, err := ch.NewTerminal(ctx, conn, ch.TerminalConfig{
		Warehouses: d.cfg.Warehouses, Number: number, Seed: d.cfg.Seed, Mix: d.cfg.Mix,
		ConstantSize: d.cfg.ConstantSize, Now: time.Now,
	})
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if d.cfg.Pace != nil {
			if err := d.cfg.Pace(ctx); err != nil {
				return err
			}
		}
		outcome, err := t.Run(ctx)
		if err != nil {
			return err
		}
		d.rec.transaction(outcome)
	}
	return nil
}

func (d *Driver) compare(ctx context.Context) error {
	queries, err := AllQueries.Queries(chRand(d.cfg.Seed))
	if err != nil {
		return err
	}
	report, err := compare.Run(ctx, compare.Config{
		OLTP: d.cfg.Postgres, Endpoint: d.cfg.Endpoint, Tables: ch.WriteOrder, Queries: queries,
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.comparison = report
	return err
}

func (d *Driver) enter(p Phase) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.phase = p
}

func (d *Driver) beginCounting() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unchecked = d.checker.Counts()
	d.rec.start()
}
