package replica

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// ErrUnavailable is what an [*UnavailableError] is.
var ErrUnavailable = errors.New("the columnar replica is unavailable")

// UnavailableError says why there is no snapshot now. Queries go to the source database.
type UnavailableError struct{ Reason string }

func (e *UnavailableError) Error() string { return ErrUnavailable.Error() + ": " + e.Reason }

// Is reports whether target is [ErrUnavailable].
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// Replica is a columnar copy of a source's tables. Its methods are safe for concurrent use.
type Replica struct {
	cfg     Config
	src     cdc.Source
	clock   func() time.Time
	log     *slog.Logger
	metrics *metrics
	names   names
	waiters waiters
	// suspicions are refusals of queries that name damaged files.
	suspicions chan error
	arrived    atomic.Pointer[cdc.Watermark] // of the current session
	// catalog counts the changes of the set of ready tables and of their definitions.
	catalog atomic.Uint64

	mu       sync.Mutex
	next     *session // recovered, not running yet
	session  *session
	current  *Snapshot
	changed  chan struct{} // closed when current changes
	reason   string        // why there is no current snapshot
	floor    cdc.Position  // no snapshot is older
	late     cdc.Position  // had arrived and was waited for in vain: nobody does again until it is published
	epoch    uint32
	engineUp bool
	sourceOK bool
	lastErr  lastErrors
}

type lastErrors struct{ source, copying, engine, compaction string }

// Open connects to the engine, repairs what a crash left behind and readies
// the replica for Run. An engine that cannot be reached is no error: Run tries again. Data of
// another source or format yield a [*cdc.TerminalError].
func Open(ctx context.Context, cfg Config, src cdc.Source, clock func() time.Time, log *slog.Logger, reg prometheus.Registerer) (*Replica, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Replica{cfg: cfg, src: src, clock: clock, log: log, changed: make(chan struct{}), reason: "it is starting", suspicions: make(chan error, 1)}
	r.names.of = strings.ToLower(rand.Text()[:8])
	if r.metrics, err = newMetrics(r, reg); err != nil {
		return nil, err
	}
	s, err := r.begin(ctx)
	if _, ok := errors.AsType[*cdc.TerminalError](err); ok || ctx.Err() != nil {
		return nil, fmt.Errorf("open replica: %w", err)
	}
	if err != nil {
		r.engineDown(err)
	}
	r.next = s
	return r, nil
}

// Run copies, streams, publishes and compacts until ctx ends or the source or
// the engine needs a person. After any other error it recovers and goes on.
func (r *Replica) Run(ctx context.Context) error {
	wait := newPauses(100*time.Millisecond, 5*time.Second)
	for {
		began := time.Now()
		err := r.live(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, ok := errors.AsType[*cdc.TerminalError](err); ok {
			return err
		}
		if time.Since(began) > wait.MaxInterval {
			wait.Reset()
		}
		if err := wait.sleep(ctx); err != nil {
			return err
		}
	}
}

// live runs one session.
func (r *Replica) live(ctx context.Context) (err error) {
	r.mu.Lock()
	s := r.next
	r.next = nil
	r.mu.Unlock()
	if s == nil {
		if s, err = r.begin(ctx); err != nil {
			r.engineDown(err)
			return err
		}
	}
	r.mu.Lock()
	r.session, r.engineUp = s, true
	if r.lastErr.engine != "" {
		r.log.Info("columnar engine is back")
	}
	r.lastErr.engine, r.lastErr.copying = "", ""
	r.mu.Unlock()
	err = s.run(ctx)
	s.ledger.lose()
	r.withdraw("it is recovering")
	if closing := s.close(); err == nil {
		err = closing
	}
	var terminal *cdc.TerminalError
	if ctx.Err() == nil && !errors.As(err, &terminal) {
		if errors.Is(err, errTorn) {
			r.sourceDown(err)
		} else {
			r.engineDown(err)
		}
	}
	return err
}

// Request says what a snapshot has to have.
type Request struct {
	// Min is the least position; the zero position is any.
	Min cdc.Position
	// Fresh asks for all transactions that had arrived before the request, as far as they are published soon.
	Fresh bool
}

// freshLimit is how long a request waits for what has arrived. An engine that hangs publishes nothing, and what arrived before a transaction whose
// stream broke is published with it. What takes longer is no fresher by then: an epoch is as old as its writing takes.
const freshLimit = time.Second

// Acquire returns the newest snapshot, retained, as soon as it has what the
// request asks for. Without a snapshot it returns an [*UnavailableError] at once.
func (r *Replica) Acquire(ctx context.Context, q Request) (*Snapshot, error) {
	arrived := r.arrived.Load()
	if !q.Fresh || arrived == nil || !q.Min.Before(arrived.Position) || r.isLate() {
		return r.acquire(ctx, q.Min)
	}
	limited, cancel := context.WithTimeout(ctx, freshLimit)
	defer cancel()
	s, err := r.acquire(limited, arrived.Position)
	if err == nil || limited.Err() == nil || ctx.Err() != nil {
		return s, err
	}
	r.noteLate(arrived.Position)
	return r.acquire(ctx, q.Min)
}

// acquire returns the newest snapshot, retained, as soon as it has reached a position.
func (r *Replica) acquire(ctx context.Context, least cdc.Position) (*Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		if r.current == nil {
			return nil, &UnavailableError{Reason: r.reason}
		}
		if !r.current.position.Before(least) {
			r.current.Retain()
			return r.current, nil
		}
		if err := r.wait(ctx, least); err != nil {
			return nil, err
		}
	}
}

// isLate reports whether something that arrived was waited for in vain and is not published yet.
func (r *Replica) isLate() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current != nil && r.current.position.Before(r.late)
}

func (r *Replica) noteLate(p cdc.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.late = p
}

// Changed returns a channel that is closed when there is another snapshot than now, or none any more: a table that
// became ready, or a definition that arrived, is in the next one.
func (r *Replica) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// wait lets the publisher hurry once it has what is asked for, and waits for another snapshot. It needs mu.
func (r *Replica) wait(ctx context.Context, p cdc.Position) error {
	defer r.waiters.add(p)()
	changed, s := r.changed, r.session
	r.mu.Unlock()
	defer r.mu.Lock()
	s.wake()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-changed:
		return nil
	}
}

// setCurrent publishes a snapshot unless one that was newer has been handed out
// before. It takes over the holder's part.
func (r *Replica) setCurrent(s *Snapshot) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.position.Before(r.floor) {
		r.reason = "it is catching up after a restart of the engine"
		s.Release()
		return false
	}
	if r.current == nil || !sameTables(r.current, s) {
		r.catalog.Add(1)
	}
	if r.current != nil {
		r.current.Release()
	}
	r.current, r.floor, r.epoch = s, s.position, max(r.epoch, s.epoch)
	r.announce()
	return true
}

// withdraw takes the current snapshot back.
func (r *Replica) withdraw(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reason, r.late = reason, cdc.Position{}
	r.arrived.Store(nil)
	if r.current != nil {
		r.current.Release()
		r.current = nil
		r.catalog.Add(1)
	}
	r.announce()
}

func (r *Replica) announce() {
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *Replica) lastEpoch() uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.epoch
}

// sourceDown notes that the source failed; the log tells only that it changed.
func (r *Replica) sourceDown(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sourceOK || r.lastErr.source == "" {
		r.log.Warn("source is not connected, trying again", "error", err)
	}
	r.sourceOK, r.lastErr.source = false, err.Error()
}

func (r *Replica) sourceUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.sourceOK {
		r.log.Info("source is connected")
	}
	r.sourceOK, r.lastErr.source = true, ""
}

// copyTrouble notes that the source gave no copy of tables, which is tried again. The stream may go on all the while.
func (r *Replica) copyTrouble(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lastErr.copying == "" {
		r.log.Warn("tables could not be copied, trying again", "error", err)
	}
	r.lastErr.copying = err.Error()
}

// copyWell notes that the source gave what was asked for, or that nothing is any more.
func (r *Replica) copyWell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastErr.copying = ""
}

func (r *Replica) engineDown(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	why := describe(err)
	if r.engineUp || r.lastErr.engine == "" {
		r.log.Warn("columnar engine is not available, trying again", "error", why)
	}
	r.engineUp, r.lastErr.engine = false, why
	r.reason = "the columnar engine is down: " + why
}

// engineTrouble notes that the engine refused a statement that is tried again.
func (r *Replica) engineTrouble(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	why := describe(err)
	if r.lastErr.engine == "" {
		r.log.Warn("columnar engine refuses, trying again", "error", why, "code", engine.Code(err))
	}
	r.lastErr.engine = why
}

// describe says what went wrong in the engine, by a stable code where a person must act.
func describe(err error) string {
	switch {
	case engine.MemoryExceeded(err):
		return fmt.Sprintf("%s: the columnar engine is short of memory; give it more, and nothing is lost: %v", cdc.CodeEngineMemory, err)
	case engine.DiskFull(err):
		return fmt.Sprintf("%s: the columnar engine's disk is full; free space on it or enlarge it, and nothing is lost: %v", cdc.CodeEngineDiskFull, err)
	}
	return err.Error()
}

// engineWell notes that the engine does what it is told again.
func (r *Replica) engineWell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lastErr.engine != "" {
		r.log.Info("columnar engine works again")
		r.lastErr.engine = ""
	}
}

func (r *Replica) compactionWell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lastErr.compaction != "" {
		r.log.Info("compaction works again")
		r.lastErr.compaction = ""
	}
}

func (r *Replica) compactionTrouble(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	why := describe(err)
	if r.lastErr.compaction == "" {
		r.log.Warn("compaction failed, trying again", "error", why, "code", engine.Code(err))
	}
	r.lastErr.compaction = why
	r.metrics.compactionErrors.Inc()
}
