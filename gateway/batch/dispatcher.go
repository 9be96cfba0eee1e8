package batch

import (
	"context"
	"log/slog"
	"sync"
	"time"
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
}

// Dispatcher runs queries in batches. Create it with [New], run it with Run.
type Dispatcher struct {
	cfg       Config
	snapshots Snapshots
	engine    Engine
	clock     func() time.Time
	log       *slog.Logger
	metrics   *metrics

	queue  *queue
	slots  chan struct{}
	recent *recent
	// ctx is Run's; executions outlive the query that caused them, never the dispatcher.
	ctx    context.Context
	cancel context.CancelFunc
	// running has every execution, also those that their batch no longer waits for.
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// New makes a dispatcher; nothing runs before Run.
func New(cfg Config, snapshots Snapshots, engine Engine, clock func() time.Time, log *slog.Logger, reg Registerer) *Dispatcher {
	if cfg.Slots <= 0 {
		cfg.Slots = 4
	}
	if cfg.Budget <= 0 {
		cfg.Budget = 50 * time.Millisecond
	}
	if cfg.ShareBytes <= 0 {
		cfg.ShareBytes = 8 << 20
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Dispatcher{
		ctx: ctx, cancel: cancel, recent: &recent{},
		cfg: cfg, snapshots: snapshots, engine: engine, clock: clock, log: log,
		metrics: newMetrics(reg),
		queue:   newQueue(),
		slots:   make(chan struct{}, cfg.Slots),
	}
}

// Run is the batch loop. It returns when ctx ends, after every query has ended.
func (d *Dispatcher) Run(ctx context.Context) error {
	defer d.close()
	for {
		// 1. Wait for work and for room to run it.
		taken, err := d.take(ctx)
		if err != nil {
			return err
		}
		if len(taken) == 0 {
			continue
		}
		// 2. Publish the newest complete epoch.
		snapshot, err := d.snapshots.Publish(ctx)
		if err != nil {
			d.refuse(taken, err)
			continue
		}
		// 3. Leave out queries for which it is still too old: they go to PostgreSQL or wait, as their callers decide.
		fresh := d.admit(taken, snapshot)
		// 4. Identical queries run once.
		groups := share(fresh)
		// 5. Start the batch, every execution holding the snapshot.
		batch := d.start(snapshot, groups)
		snapshot.Release()
		// 6. Those who come meanwhile share the next snapshot, unless this batch outlasts its budget.
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
	d.queue.close()
	d.cancel()
	d.running.Wait()
}

// take waits for queued queries and for a free slot, and returns as many queries as may start now.
// Waiting for the slot first keeps a query from growing old between its snapshot and its start.
func (d *Dispatcher) take(ctx context.Context) ([]*Query, error) {
	if err := d.queue.wait(ctx); err != nil {
		return nil, err
	}
	select {
	case d.slots <- struct{}{}:
		<-d.slots
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return d.queue.take(cap(d.slots) - len(d.slots)), nil
}

// admit keeps the queries that are content with the snapshot's age and answers the others.
func (d *Dispatcher) admit(taken []*Query, s Snapshot) []*Query {
	staleness := d.clock().Sub(s.Time())
	var fresh []*Query
	for _, q := range taken {
		if q.MaxStaleness > 0 && staleness > q.MaxStaleness {
			q.answer(nil, &StaleError{Staleness: staleness, Max: q.MaxStaleness})
			continue
		}
		fresh = append(fresh, q)
	}
	return fresh
}

func (d *Dispatcher) refuse(taken []*Query, err error) {
	for _, q := range taken {
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
