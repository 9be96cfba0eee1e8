package batch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-io/freshet/gateway/shares"
)

// Config bounds the dispatcher.
type Config struct {
	// Slots is how many queries may run in the engine at once; zero means four.
	Slots int
	// Budget is how long a batch waits for its own queries before the next one
	// starts; a longer query goes on beside it. Zero means 50 ms.
	Budget time.Duration
	// ShareBytes is how much of a result is kept for identical queries; zero means 8 MiB.
	ShareBytes int
	// Stalled is how many queries may be in the engine beyond Slots because their clients do not read on; zero means
	// [DefaultStalled]. One more ends that which has waited longest, with [ErrStalled].
	Stalled int
	// Tenants says whose turn it is when more queries wait than may run; nil: the first to come.
	Tenants *shares.Directory
}

// DefaultStalled is how many clients may stop reading their results before one of them is given up. Each costs some megabytes.
const DefaultStalled = 32

// Dispatcher runs queries in batches. Create it with [New], run it with Run.
type Dispatcher struct {
	cfg       Config
	snapshots Snapshots
	engine    Engine
	clock     func() time.Time
	log       *slog.Logger
	metrics   *metrics

	shares *shares.Scheduler[*Query]
	recent *recent
	stalls *stalls
	// ctx is Run's; executions outlive the query that caused them, never the dispatcher.
	ctx    context.Context
	cancel context.CancelFunc
	// running has every execution, also those that their batch no longer waits for.
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// New makes a dispatcher; nothing runs before Run.
func New(cfg Config, snapshots Snapshots, engine Engine, clock func() time.Time, log *slog.Logger, reg prometheus.Registerer) *Dispatcher {
	if cfg.Slots <= 0 {
		cfg.Slots = 4
	}
	if cfg.Budget <= 0 {
		cfg.Budget = 50 * time.Millisecond
	}
	if cfg.ShareBytes <= 0 {
		cfg.ShareBytes = 8 << 20
	}
	if cfg.Stalled <= 0 {
		cfg.Stalled = DefaultStalled
	}
	if cfg.Tenants == nil {
		cfg.Tenants = shares.NewDirectory()
	}
	ctx, cancel := context.WithCancel(context.Background())
	scheduler := shares.NewScheduler[*Query](cfg.Slots, cfg.Tenants, clock, shares.NewMetrics(reg))
	stalls := &stalls{most: cfg.Stalled, clock: clock}
	return &Dispatcher{
		ctx: ctx, cancel: cancel, recent: &recent{}, stalls: stalls,
		cfg: cfg, snapshots: snapshots, engine: engine, clock: clock, log: log,
		metrics: newMetrics(reg, scheduler.Waiting, stalls.now), shares: scheduler,
	}
}

// Run is the batch loop. It returns when ctx ends, after every query has ended.
func (d *Dispatcher) Run(ctx context.Context) error {
	defer d.close()
	for {
		// 1. Wait for work and for room to run it. Whose turn it is, the tenants' shares say.
		taken, err := d.take(ctx)
		if err != nil {
			return err
		}
		// 2. What belongs to a READ ONLY transaction runs on that transaction's snapshot.
		if taken = d.resumeHeld(taken); len(taken) == 0 {
			continue
		}
		// 3. Publish the newest complete epoch.
		snapshot, err := d.snapshots.Publish(ctx)
		if err != nil {
			if ctx.Err() != nil { // of the dispatcher, not of the queries
				err = ErrClosed
			}
			d.refuse(taken, err)
			continue
		}
		// 4. Leave out queries for which it is still too old: they go to PostgreSQL or wait, as their callers decide.
		fresh := d.admit(taken, snapshot)
		// 5. Identical queries run once.
		groups := share(fresh)
		// 6. Start the batch, every execution holding the snapshot.
		batch := d.start(snapshot, groups)
		snapshot.Release()
		// 7. Those who come meanwhile share the next snapshot, unless this batch outlasts its budget.
		d.await(ctx, batch)
	}
}

// enter counts one execution, or says that the dispatcher has ended.
func (d *Dispatcher) enter() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	d.running.Add(1)
	return nil
}

func (d *Dispatcher) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	for _, q := range d.shares.Close() {
		if q.answer(nil, ErrClosed); q.held != nil {
			q.held.Release()
		}
	}
	d.cancel()
	d.running.Wait()
}

// take waits until queries may run, and returns them.
func (d *Dispatcher) take(ctx context.Context) ([]*Query, error) {
	tickets, err := d.shares.Take(ctx)
	if err != nil {
		return nil, err
	}
	taken := make([]*Query, len(tickets))
	for i, t := range tickets {
		taken[i] = t.Item
		taken[i].ticket = t
	}
	return taken, nil
}

// resumeHeld starts the queries that hold a snapshot and returns the others.
func (d *Dispatcher) resumeHeld(taken []*Query) (others []*Query) {
	for _, q := range taken {
		if q.held == nil {
			others = append(others, q)
			continue
		}
		d.resume(q)
	}
	return others
}

// resume starts a query on the snapshot that it holds.
func (d *Dispatcher) resume(q *Query) {
	d.execute(q.held, []*Query{q})
	q.held.Release()
}

// admit keeps the queries that are content with the snapshot's age and answers the others.
func (d *Dispatcher) admit(taken []*Query, s Snapshot) []*Query {
	staleness := d.clock().Sub(s.Time())
	var fresh []*Query
	for _, q := range taken {
		if q.MaxStaleness > 0 && staleness > q.MaxStaleness {
			d.refuse([]*Query{q}, &StaleError{Staleness: staleness, Max: q.MaxStaleness})
			continue
		}
		fresh = append(fresh, q)
	}
	return fresh
}

func (d *Dispatcher) refuse(taken []*Query, err error) {
	for _, q := range taken {
		q.ticket.Leave()
		q.answer(nil, err)
	}
}

// start begins one execution for each group and returns those that the batch waits for.
func (d *Dispatcher) start(s Snapshot, groups [][]*Query) []*Execution {
	d.metrics.batches.Inc()
	var started []*Execution
	for _, g := range groups {
		started = append(started, d.execute(s, g))
	}
	return started
}

// await returns when all executions of the batch have ended, or at the end of its budget.
func (d *Dispatcher) await(ctx context.Context, batch []*Execution) {
	if len(batch) == 0 {
		return
	}
	budget := time.NewTimer(d.cfg.Budget)
	defer budget.Stop()
	for _, e := range batch {
		select {
		case <-e.done:
		case <-budget.C:
			d.metrics.overruns.Inc()
			return
		case <-ctx.Done():
			return
		}
	}
}
