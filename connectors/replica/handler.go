package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/column"
)

const (
	// maxDeferred is a session's mostDeferred.
	maxDeferred = 128 << 20
	// maxAttempts is how often a table is copied anew because a change did not fit, or compaction was refused.
	maxAttempts = 3
	// fitting is how long a live table's changes have to have fitted until its attempts are forgotten.
	fitting = time.Hour
	// datumOverhead is what a staged value takes beside its bytes, about.
	datumOverhead = 8
)

var (
	_ cdc.Handler = (*session)(nil)
	_ cdc.Opener  = (*session)(nil)
)

// Open notes where the transaction to come ends.
func (s *session) Open(least cdc.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = least
}

// Changes stages changes of the current transaction.
func (s *session) Changes(ctx context.Context, changes []cdc.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.inTx && len(changes) >= s.largeTx && len(s.touched) > 0 {
		// What is complete should not wait for the end of a large transaction.
		if err := s.await(ctx, func() bool { return len(s.touched) == 0 }); err != nil {
			return err
		}
	}
	changes, err := s.resume.take(changes)
	if err != nil {
		return err
	}
	if !s.inTx {
		s.inTx = true
		for t := range s.waiting {
			s.catchUp(t) // also those which the stream reaches between the last transaction and this one
		}
	}
	for i := range changes {
		s.change(&changes[i])
	}
	return s.backPressure(ctx)
}

func (s *session) change(c *cdc.Change) {
	t, ok := s.tables[c.Table.ID]
	if !ok {
		return // not replicated, or stopped
	}
	if t.progress == behind && !s.ends.IsZero() {
		return // its base has the transaction, or the table were live by now
	}
	if t.progress != live {
		before := t.deferred.bytes()
		t.deferred.add(c)
		s.deferredBytes += t.deferred.bytes() - before
		s.deferring[t] = struct{}{}
		return
	}
	s.applyTo(t, c)
}

// applyTo stages a change of a live table. A change that does not fit ends the table.
func (s *session) applyTo(t *table, c *cdc.Change) {
	if !sameDefinition(t.def, c.Table) {
		s.copyAnew(t, errors.New("its definition changed"))
		return
	}
	s.touch(t)
	for i := range c.New {
		s.stagedBytes += datumOverhead + len(c.New[i].Data)
	}
	if err := t.apply(c); err != nil {
		s.misfit(t, err)
	}
}

// misfit decides what becomes of a table that a change did not fit, or that cannot be compacted.
func (s *session) misfit(t *table, err error) {
	if t.progress == live && s.r.clock().Sub(t.liveSince) >= fitting {
		t.attempts = 0
	}
	switch {
	case errors.Is(err, column.ErrUnrepresentable):
		s.stop(t.def, &cdc.TableError{Code: cdc.CodeUnrepresentable, Table: t.def.FullName(), Detail: err.Error(),
			Remedy: "remove the value and restart the gateway, or exclude the table; its queries go to the source database"})
	case t.attempts >= maxAttempts && ofEngine(err):
		s.stop(t.def, &cdc.TableError{Code: cdc.CodeEngineRefused, Table: t.def.FullName(), Detail: err.Error(),
			Remedy: "exclude the table, or restart the gateway to copy it again; its queries go to the source database"})
	case t.attempts >= maxAttempts:
		s.stop(t.def, &cdc.TableError{Code: cdc.CodeSchemaChange, Table: t.def.FullName(),
			Detail: fmt.Sprintf("its changes do not fit its copy, %d times in a row: %v", t.attempts, err),
			Remedy: "restart the gateway to copy it again; its queries go to the source database"})
	default:
		s.copyAnew(t, err)
	}
}

// backPressure holds the stream while too much waits in memory.
func (s *session) backPressure(ctx context.Context) error {
	if s.stagedBytes > s.cfg.StageBytes {
		// A copy that completes meanwhile stages what was deferred, after the publisher has taken what was staged: that has to be taken as
		// well.
		if err := s.await(ctx, func() bool {
			s.spill = s.inTx && s.stagedBytes > 0
			return s.stagedBytes == 0
		}); err != nil {
			return err
		}
	}
	if s.deferredBytes > s.mostDeferred {
		defer s.copier.held()()
		return s.await(ctx, func() bool { return s.deferredBytes <= s.mostDeferred || !s.copying() })
	}
	return nil
}

// copying reports whether a copy is being taken: only then do deferred changes wait for something else than the stream.
func (s *session) copying() bool {
	for t := range s.deferring {
		if t.progress == copying {
			return true
		}
	}
	return false
}

// await waits, without mu, until the publisher or the copier made cond true.
func (s *session) await(ctx context.Context, cond func() bool) error {
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})()
	s.pressed = true
	defer func() { s.pressed = false }()
	for !cond() {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.wake()
		s.changed.Wait()
	}
	return nil
}

// Commit ends the current transaction.
func (s *session) Commit(ctx context.Context, c cdc.Commit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.resume.end(); err != nil {
		return err
	}
	s.inTx, s.ends = false, cdc.Position{}
	s.arrive(c.Position, cdc.Watermark{Position: c.Position, Time: c.Time})
	return s.backPressure(ctx)
}

// Watermark notes how far the stream is.
func (s *session) Watermark(_ context.Context, w cdc.Watermark) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inTx {
		return fmt.Errorf("%w, which did not come back", errTorn)
	}
	s.arrive(cdc.Position{}, w)
	return nil
}

// arrive notes that everything up to a watermark was handed over; commit is
// the position of a transaction that ended there.
func (s *session) arrive(commit cdc.Position, w cdc.Watermark) {
	if !commit.IsZero() {
		for t := range s.deferring {
			t.deferred.commit(commit)
		}
	}
	if s.arrived.Position.Before(w.Position) {
		s.arrived.Position = w.Position
	}
	// Commit times may be a little out of order, so an earlier one does not set the time back. A time that is still to come, though, is from
	// before the clock was set back, and any other is better.
	if s.arrived.Time.Before(w.Time) || s.arrived.Time.After(s.r.clock()) {
		s.arrived.Time = w.Time
	}
	for t := range s.waiting {
		s.catchUp(t)
	}
	reached := s.arrived
	s.r.arrived.Store(&reached)
	s.wake()
}

// reached reports whether all transactions up to a position were handed over. Transactions come in the order of their positions: if the open
// one ends after p, all up to p have come.
func (s *session) reached(p cdc.Position) bool {
	return !s.arrived.Position.Before(p) || s.inTx && p.Before(s.ends)
}

// catchUp makes a table live once the stream has reached the position of its base. Until then the base contains what was deferred, which is
// dropped, unless it is of an open transaction of which it is not known where it ends. It needs mu.
func (s *session) catchUp(t *table) {
	if t.progress != behind {
		return
	}
	if !s.reached(t.activated.upTo.Position) {
		s.forget(t, !s.ends.IsZero())
		return
	}
	s.deferredBytes -= t.deferred.bytes()
	delete(s.waiting, t)
	delete(s.deferring, t)
	t.progress, t.liveSince = live, s.r.clock()
	s.touch(t)
	_ = t.deferred.replay(t.activated.upTo.Position, func(c *cdc.Change) error {
		if s.tables[t.def.ID] == t {
			s.applyTo(t, c)
		}
		return nil
	})
	s.changed.Broadcast()
}

// Discovered takes a copy of a table that appeared or changed, or stops it.
func (s *session) Discovered(_ context.Context, d cdc.Discovered) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.discovered(d)
	return nil
}

func (s *session) discovered(d cdc.Discovered) {
	if d.Stopped != nil {
		s.stop(d.Table, d.Stopped)
		return
	}
	if t, ok := s.tables[d.Table.ID]; ok {
		s.remove(t)
	}
	delete(s.stopped, d.Table.ID)
	s.copy(d.Table, 0)
}

// Dropped forgets a table.
func (s *session) Dropped(_ context.Context, id cdc.TableID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.tables[id]; ok {
		s.log.Info("table dropped at the source", "table", t.def.FullName())
		s.remove(t)
	}
	delete(s.stopped, id)
	s.wake()
	return nil
}

// stop ends the replication of a table.
func (s *session) stop(def *cdc.Table, why *cdc.TableError) {
	if t, ok := s.tables[def.ID]; ok {
		s.remove(t)
	}
	s.stopped[def.ID] = stoppedTable{def: def, why: why}
	s.log.Warn("table stopped", "table", def.FullName(), "code", why.Code, "detail", why.Detail, "remedy", why.Remedy)
	s.wake()
}

// copyAnew takes another copy of a live table.
func (s *session) copyAnew(t *table, why error) {
	s.log.Info("table is copied anew", "table", t.def.FullName(), "why", why)
	s.remove(t)
	s.copy(t.def, t.attempts+1)
}

// remove takes a table out of the next epoch and of all after it.
func (s *session) remove(t *table) {
	delete(s.tables, t.def.ID)
	delete(s.waiting, t)
	if _, ok := s.deferring[t]; ok {
		delete(s.deferring, t)
		s.deferredBytes -= t.deferred.bytes()
		t.deferred.reset()
	}
	switch t.progress {
	case copying:
		t.removed = true // the copier finds it and drops the base
		return
	case behind:
		s.ledger.drop(t.activated.base)
		t.activated = nil
	case live:
		if t.activated != nil { // never published
			s.ledger.drop(t.activated.base)
			t.activated = nil
		}
	}
	t.void()
	t.removed = true
	s.touch(t)
}

// touch puts a table into the next epoch.
func (s *session) touch(t *table) {
	if !t.touched {
		t.touched = true
		s.touched = append(s.touched, t)
	}
}
