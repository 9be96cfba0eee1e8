package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// copier takes copies of tables while the stream goes on.
type copier struct {
	s    *session
	wake chan struct{}
	busy chan struct{} // holds a token while nobody copies
	// since is where the stream was when the copy under way began: the copy's position is there or later. Zero: no copy is under way.
	// session.mu guards it.
	since cdc.Watermark
	// giveUp ends the copy under way as long as that still waits for its snapshot; nil: there is no such copy. session.mu guards it.
	giveUp context.CancelCauseFunc
	// hold is how long the copy under way may hold the stream; zero: holdLimit. session.mu guards it.
	hold time.Duration
}

// A copy waits until the transactions that ran when it began have ended, and one of these may never end. Once the changes that are deferred
// for the copy are too many, the stream waits for the copy. holdLimit is how long it does: then the copy is given up and begun anew, which
// makes those changes superfluous, since the new copy will contain them. Each time the stream is held twice as long, up to mostHold.
const (
	holdLimit = 30 * time.Second
	mostHold  = 8 * holdLimit
)

var errHeld = errors.New("the stream would have waited for a copy that waits for a transaction")

// held is called when the stream begins to wait for copies, and the returned function when that is over. It needs mu.
func (c *copier) held() (over func() bool) {
	limit := max(c.hold, holdLimit)
	return time.AfterFunc(limit, func() {
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		if c.giveUp != nil {
			c.giveUp(errHeld)
			c.hold = min(2*limit, mostHold)
		}
	}).Stop
}

// begun notes that the copy under way has its snapshot.
func (c *copier) begun() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.giveUp, c.hold = nil, 0
}

func (c *copier) request() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run copies what is asked for once the stream has begun.
func (c *copier) run(ctx context.Context) error {
	wait := newPauses(100*time.Millisecond, 5*time.Second)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.wake:
		}
		for c.s.hasStarted() {
			_, more, err := c.copy(ctx)
			if err == nil {
				wait.Reset()
				if !more {
					break
				}
				continue
			}
			if err := c.trouble(ctx, err); err != nil {
				return err
			}
			if err := wait.sleep(ctx); err != nil {
				return err
			}
		}
	}
}

// trouble returns the errors that end the session; others are tried again.
func (c *copier) trouble(ctx context.Context, err error) error {
	var lost *engineError
	var terminal *cdc.TerminalError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &lost) && !engine.Refused(err), errors.As(err, &terminal):
		return err
	case errors.As(err, &lost):
		c.s.r.engineTrouble(err)
	default:
		c.s.r.copyTrouble(err)
	}
	return nil
}

// engineError marks an error of a copy as the engine's, not the source's.
type engineError struct{ err error }

func (e *engineError) Error() string { return e.err.Error() }
func (e *engineError) Unwrap() error { return e.err }

// first takes the copies that a new replica begins with. It reports their watermark.
func (c *copier) first(ctx context.Context) (at cdc.Watermark, ok bool, err error) {
	at, ok, err = c.copy(ctx)
	if err != nil {
		if fatal := c.trouble(ctx, err); fatal != nil {
			return at, false, fatal
		}
	}
	return at, ok, err
}

// copy takes copies of all tables that wait for one. It reports false if there were none.
func (c *copier) copy(ctx context.Context) (at cdc.Watermark, ok bool, err error) {
	select {
	case <-ctx.Done():
		return at, false, ctx.Err()
	case <-c.busy:
	}
	defer func() { c.busy <- struct{}{} }()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	s := c.s
	s.mu.Lock()
	sink := newCopySink(c)
	var ids []cdc.TableID
	c.since, c.giveUp = s.arrived, giveUp
	for id, t := range s.tables {
		if t.progress == copying {
			ids = append(ids, id)
			sink.tables[id] = &copyJob{table: t}
			s.forgetCommitted(t)
		}
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.since, c.giveUp = cdc.Watermark{}, nil
	}()
	if len(ids) == 0 {
		s.r.copyWell()
		return at, false, nil
	}
	defer sink.close()
	at.Time = s.r.clock() // before the snapshot: however long its rows take, they are of then
	if at.Position, err = s.src.Copy(ctx, ids, sink); err == nil {
		s.r.copyWell()
		err = sink.finish(at)
	}
	if err != nil {
		sink.abandon()
		if errors.Is(context.Cause(ctx), errHeld) {
			err = errHeld
		}
		return at, false, fmt.Errorf("copy tables: %w", err)
	}
	return at, true, nil
}

// forgetCommitted drops the deferred changes of transactions that have ended: the copy that begins will contain them. Otherwise, where one
// copy after the other fails, they would pile up until the stream waits for a copy that never succeeds. It needs mu.
func (s *session) forgetCommitted(t *table) {
	s.forget(t, false)
	s.changed.Broadcast()
}

// forget is [deferred.forget] of a table that is counted. It needs mu.
func (s *session) forget(t *table, open bool) {
	s.deferredBytes -= t.deferred.bytes()
	t.deferred.forget(open)
	s.deferredBytes += t.deferred.bytes()
}

// complete gives a table its base. The table becomes live as soon as the stream has come to the base's position, even if that is inside a
// transaction: the changes of a large one must not be deferred to its end.
func (s *session) complete(t *table, c copied) {
	t.progress, t.activated = behind, &c
	s.waiting[t] = struct{}{}
	s.deferring[t] = struct{}{}
	if s.started {
		s.catchUp(t)
		s.wake()
	}
}
