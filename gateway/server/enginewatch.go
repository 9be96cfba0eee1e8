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

// errSilent ends queries of an engine that hangs.
var errSilent = fmt.Errorf("%w: it has not answered for %s", engine.ErrUnavailable, patience)

// watchedEngine ends the queries that it has handed to an engine when that is found to hang, so that PostgreSQL can answer them.
type watchedEngine struct {
	batch.Engine
	mu      sync.Mutex
	running map[*context.CancelCauseFunc]struct{}
}

func watch(e batch.Engine) *watchedEngine {
	return &watchedEngine{Engine: e, running: map[*context.CancelCauseFunc]struct{}{}}
}

// Query implements [batch.Engine].
func (w *watchedEngine) Query(ctx context.Context, sql string, settings map[string]string, result proto.Results, onBlock func(rows int) error, onCPU func(time.Duration)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.mu.Lock()
	w.running[&cancel] = struct{}{}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.running, &cancel)
	}()
	return w.Engine.Query(ctx, sql, settings, result, onBlock, onCPU)
}

// end ends all queries that run.
func (w *watchedEngine) end(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for cancel := range w.running {
		(*cancel)(why)
	}
}

// watchEngine asks the engine again and again until ctx ends. While nothing changes in the database, an engine that hangs shows nowhere
// else but in queries that get no answer.
func (u *unit) watchEngine(ctx context.Context, ping func(context.Context) error, queries *watchedEngine) error {
	tick := time.NewTicker(enginePeriod)
	defer tick.Stop()
	for {
		limited, cancel := context.WithTimeout(ctx, engineLimit)
		if ping(limited) == nil {
			u.answered.Store(u.cfg.Clock().UnixNano())
		} else if u.engineSilence() > patience {
			queries.end(errSilent)
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
