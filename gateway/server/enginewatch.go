package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/gateway/batch"
	"github.com/freshet-io/freshet/gateway/engine"
)

const (
	// enginePeriod is how often the engine is asked whether it is there, and engineLimit how long that may go unanswered: a busy engine
	// answers late, one that hangs never.
	enginePeriod = time.Second
	engineLimit  = 5 * time.Second
	// patience is how long queries wait for an engine that answers nothing. It is long enough for two questions in a row.
	patience = 2 * engineLimit
)

// errSilent ends queries of an engine that hangs, and waits for what it is to store.
var errSilent = fmt.Errorf("%w: it has not answered for %s", engine.ErrUnavailable, patience)

// dependents are what waits for the engine. The zero value has none.
type dependents struct {
	mu      sync.Mutex
	waiting map[*context.CancelCauseFunc]struct{}
}

// add returns a context that also ends by end, for something that waits for the engine until gone is called.
func (d *dependents) add(ctx context.Context) (_ context.Context, gone func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == nil {
		d.waiting = map[*context.CancelCauseFunc]struct{}{}
	}
	d.waiting[&cancel] = struct{}{}
	return ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.waiting, &cancel)
		cancel(nil)
	}
}

// end ends all that waits.
func (d *dependents) end(why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for cancel := range d.waiting {
		(*cancel)(why)
	}
}

// watchedEngine hands queries to an engine, which are ended when that is found to hang, so that PostgreSQL can answer them.
type watchedEngine struct {
	batch.Engine
	queries *dependents
}

// Query implements [batch.Engine].
func (w watchedEngine) Query(ctx context.Context, sql string, settings map[string]string, result proto.Results, onBlock func(rows int) error, onCPU func(time.Duration)) error {
	ctx, gone := w.queries.add(ctx)
	defer gone()
	return w.Engine.Query(ctx, sql, settings, result, onBlock, onCPU)
}

// watchEngine asks the engine again and again until ctx ends. While nothing changes in the database, an engine that hangs shows nowhere
// else but in queries that get no answer.
func (u *unit) watchEngine(ctx context.Context, ping func(context.Context) error) error {
	tick := time.NewTicker(enginePeriod)
	defer tick.Stop()
	for {
		limited, cancel := context.WithTimeout(ctx, engineLimit)
		if ping(limited) == nil {
			u.answered.Store(u.cfg.Clock().UnixNano())
		} else if u.engineSilence() > patience {
			u.dependents.end(errSilent)
		}
		cancel()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// engineSilence returns how long the engine has not answered.
func (u *unit) engineSilence() time.Duration {
	return u.cfg.Clock().Sub(time.Unix(0, u.answered.Load()))
}
