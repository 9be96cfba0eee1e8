package server

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica"
	"github.com/freshet-io/freshet/gateway/analytics"
	"github.com/freshet-io/freshet/gateway/batch"
	"github.com/freshet-io/freshet/gateway/translate"
)

// unit keeps a source and its replica running, and is what the analytical route sees of them. While there is none, every
// question is answered with [analytics.ErrUnavailable], so that statements go to PostgreSQL.
type unit struct {
	cfg     Config
	current atomic.Pointer[incarnation]
	// generations counts incarnations, so that no plan outlives the replica that it was made for.
	generations atomic.Uint64
	answered    atomic.Int64 // when the engine last did so, in nanoseconds since 1970
	dependents  dependents   // of the engine
	// stopped is what a person has to mend; nil once an incarnation lasts.
	stopped atomic.Pointer[cdc.TerminalError]
	// problem is why the last incarnation ended, but for what stopped says; nil while one runs.
	problem atomic.Pointer[string]
	// complete says that a fresh snapshot has had all tables since the gateway began, but those that stopped.
	complete atomic.Bool
}

// incarnation is one run of a replica with the metrics that it registered.
type incarnation struct {
	replica  *replica.Replica
	source   source
	registry *prometheus.Registry
	number   uint64
	traits   translate.Traits // the source's
}

func newUnit(cfg Config) *unit {
	cfg.Replica.Owner = replica.NewOwner() // as long as the process lives
	return &unit{cfg: cfg}
}

const (
	// recheck is how long after replication has stopped for a person it is seen whether they have acted.
	recheck = 10 * time.Second
	// lasting is how long an incarnation lives that is well.
	lasting = 5 * time.Second
)

// run opens the replica and runs it, again and again until ctx ends or it has to be copied anew.
func (u *unit) run(ctx context.Context) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 100*time.Millisecond, 5*time.Second
	for {
		began := u.cfg.Clock()
		err := u.incarnate(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if u.cfg.Clock().Sub(began) > lasting {
			wait.Reset()
		}
		pause := recheck
		if terminal, ok := errors.AsType[*cdc.TerminalError](err); ok {
			u.stop(terminal)
			if endsReplica(terminal.Code) {
				<-ctx.Done()
				return ctx.Err()
			}
		} else {
			problem := err.Error()
			u.problem.Store(&problem)
			pause = wait.NextBackOff()
			u.cfg.Logger.Warn("replica is down; statements go to PostgreSQL meanwhile", "error", err, "retry_in", pause)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// endsReplica reports whether a person has to drop the replica, or to decide which of two gateways keeps it. They do that while the gateway is not at it,
// and start it again.
func endsReplica(code cdc.Code) bool {
	return code == cdc.CodeSlotLost || code == cdc.CodeSourceMismatch || code == cdc.CodeHistoryLost || code == cdc.CodeSuperseded
}

// stop notes that replication waits for a person; the log tells only what is new.
func (u *unit) stop(why *cdc.TerminalError) {
	u.problem.Store(nil)
	if was := u.stopped.Swap(why); was == nil || was.Code != why.Code || was.Detail != why.Detail {
		u.cfg.Logger.Error("replication stopped; statements go to PostgreSQL until a person acts",
			"code", why.Code, "detail", why.Detail, "remedy", why.Remedy)
	}
}

// incarnate runs one replica to its end.
func (u *unit) incarnate(ctx context.Context) error {
	registry := prometheus.NewRegistry()
	source, err := openSource(u.cfg, registry)
	if err != nil {
		return fmt.Errorf("open source: %w", err)
	}
	defer source.Close()
	traits, err := readTraits(ctx, u.cfg)
	if err != nil {
		return err
	}
	system, err := source.SystemID(ctx)
	if err != nil {
		return fmt.Errorf("identify source: %w", err)
	}
	stopped := u.stopped.Load()
	if stopped != nil {
		// The source alone may say that nothing has changed: to recover a large replica takes long.
		if _, err := source.Tables(ctx); err != nil {
			return fmt.Errorf("list the source's tables: %w", err)
		}
	}
	cfg := u.cfg.Replica
	cfg.SourceID = system + "/" + u.cfg.database
	r, err := replica.Open(ctx, cfg, source, u.cfg.Clock, u.cfg.Logger, registry)
	if err != nil {
		return fmt.Errorf("open replica: %w", err)
	}
	if stopped != nil {
		mended := time.AfterFunc(lasting, func() {
			if u.stopped.CompareAndSwap(stopped, nil) {
				u.cfg.Logger.Info("replication goes on", "code", stopped.Code)
			}
		})
		defer mended.Stop()
	}
	defer u.current.Store(nil)
	u.problem.Store(nil)
	u.current.Store(&incarnation{
		replica: r, source: source, registry: registry, number: u.generations.Add(1), traits: traits,
	})
	return r.Run(ctx)
}

func (u *unit) get() (*incarnation, error) {
	if i := u.current.Load(); i != nil {
		return i, nil
	}
	if t := u.stopped.Load(); t != nil {
		return nil, fmt.Errorf("%w: replication is stopped (%s: %s; %s)", analytics.ErrUnavailable, t.Code, t.Detail, t.Remedy)
	}
	return nil, analytics.ErrUnavailable
}

// Table implements [translate.Catalog].
func (u *unit) Table(searchPath []string, schema, name string) (*cdc.Table, bool) {
	i, err := u.get()
	if err != nil {
		return nil, false
	}
	if schema != "" {
		return i.replica.Table(schema, name)
	}
	for _, s := range searchPath {
		if t, ok := i.replica.Table(s, name); ok {
			return t, true
		}
	}
	return nil, false
}

// Generation implements [analytics.Replica].
func (u *unit) Generation() uint64 {
	i, err := u.get()
	if err != nil {
		return 0
	}
	return i.number<<40 | i.replica.Generation()
}

// Traits implements [analytics.Replica].
func (u *unit) Traits() translate.Traits {
	i, err := u.get()
	if err != nil {
		return translate.Traits{}
	}
	return i.traits
}

// Rows implements [analytics.Replica].
func (u *unit) Rows(id cdc.TableID) int64 {
	i, err := u.get()
	if err != nil {
		return 0
	}
	return i.replica.Rows(id)
}

// Acquire implements [analytics.Replica].
func (u *unit) Acquire(ctx context.Context) (batch.Snapshot, error) {
	return u.acquire(ctx, replica.Request{Fresh: true})
}

// Suspect implements [analytics.Replica].
func (u *unit) Suspect(refused error) {
	if i, err := u.get(); err == nil {
		i.replica.Suspect(refused)
	}
}

// Publish implements [batch.Snapshots].
func (u *unit) Publish(ctx context.Context) (batch.Snapshot, error) { return u.Acquire(ctx) }

// Await implements [freshness.Replica].
func (u *unit) Await(ctx context.Context, p cdc.Position) error {
	s, err := u.acquire(ctx, replica.Request{Min: p})
	if err != nil {
		return err
	}
	s.Release()
	return nil
}

func (u *unit) acquire(ctx context.Context, q replica.Request) (batch.Snapshot, error) {
	i, err := u.get()
	if err != nil {
		return nil, err
	}
	waiting, gone := u.dependents.add(ctx)
	defer gone()
	s, err := i.replica.Acquire(waiting, q)
	if unavailable, ok := errors.AsType[*replica.UnavailableError](err); ok {
		return nil, fmt.Errorf("%w: %s", analytics.ErrUnavailable, unavailable.Reason)
	}
	if err != nil && waiting.Err() != nil {
		return nil, context.Cause(waiting)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Current implements [freshness.Source].
func (u *unit) Current(ctx context.Context) (cdc.Position, error) {
	i, err := u.get()
	if err != nil {
		return cdc.Position{}, err
	}
	return i.source.Current(ctx)
}

// Log implements [analytics.Replica].
func (u *unit) Log() cdc.Log {
	i, err := u.get()
	if err != nil {
		return cdc.Log{}
	}
	if s, ok := i.source.(interface{ Log() cdc.Log }); ok {
		return s.Log()
	}
	return cdc.Log{}
}

// Versions implements [analytics.Replica].
func (u *unit) Versions(ctx context.Context, ids []cdc.TableID) (map[cdc.TableID]string, error) {
	i, err := u.get()
	if err != nil {
		return nil, err
	}
	return i.source.Versions(ctx, ids)
}

// View implements [analytics.Replica].
func (u *unit) View(ctx context.Context, searchPath []string, name string) (*cdc.View, error) {
	i, err := u.get()
	if err != nil {
		return nil, err
	}
	return i.source.View(ctx, searchPath, name)
}

// Zone implements [timezone.Source].
func (u *unit) Zone(ctx context.Context, name string) ([]cdc.Offset, error) {
	i, err := u.get()
	if err != nil {
		return nil, err
	}
	return i.source.Zone(ctx, name)
}

// look tells the source that definitions may have changed.
func (u *unit) look() {
	if i, err := u.get(); err == nil {
		i.source.Look()
	}
}

// Gather implements [prometheus.Gatherer] for the metrics of the present incarnation.
func (u *unit) Gather() ([]*dto.MetricFamily, error) {
	i, err := u.get()
	if err != nil {
		return nil, nil
	}
	return i.registry.Gather()
}
