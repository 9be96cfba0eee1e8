package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Current implements [cdc.Source] in one round trip, which callers that come while another's is under way share.
// The position is that of the last log record inserted, flushed or not. While a Stream runs, its pulse has the log
// flushed if no commit does so within milliseconds.
func (s *Source) Current(ctx context.Context) (cdc.Position, error) {
	w, err := s.current.ask(ctx, s.readFollowed)
	if err != nil {
		return cdc.Position{}, err
	}
	if w.flushed < w.inserted {
		raise(&s.wanted, w.inserted)
		select {
		case s.wake <- struct{}{}:
		default: // the pulse has been told already
		}
	}
	return cdc.Position{Major: w.inserted}, nil
}

// errLeaderLeft marks a call whose asker gave up before the answer came.
var errLeaderLeft = errors.New("the caller that asked the server gave up")

// currentCalls lets concurrent callers share questions to the server.
//
// Invariant: a caller's answer comes from a question that was asked after the call began.
type currentCalls struct {
	mu      sync.Mutex
	running *currentCall // asked already: too early for newcomers
	next    *currentCall // to be asked when running ends
}

type currentCall struct {
	done  chan struct{}
	state logState
	err   error
}

func (c *currentCalls) ask(ctx context.Context, question func(context.Context) (logState, error)) (logState, error) {
	for {
		c.mu.Lock()
		call, leader := c.next, c.next == nil
		if leader {
			call = &currentCall{done: make(chan struct{})}
			c.next = call
		}
		before := c.running
		c.mu.Unlock()
		if leader {
			c.lead(ctx, call, before, question)
		}
		select {
		case <-call.done:
		case <-ctx.Done():
			return logState{}, context.Cause(ctx)
		}
		if !errors.Is(call.err, errLeaderLeft) {
			return call.state, call.err
		}
		if ctx.Err() != nil {
			return logState{}, context.Cause(ctx)
		}
		// That caller's context ended, not ours: ask again.
	}
}

// lead asks on behalf of everybody who joined the call.
func (c *currentCalls) lead(ctx context.Context, call, before *currentCall, question func(context.Context) (logState, error)) {
	if before != nil {
		select {
		case <-before.done:
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	c.running, c.next = call, nil
	c.mu.Unlock()
	call.state, call.err = question(ctx)
	if ctx.Err() != nil {
		call.err = errLeaderLeft
	}
	c.mu.Lock()
	if c.running == call {
		c.running = nil
	}
	c.mu.Unlock()
	close(call.done)
}

// logState is how far the write-ahead log is, and when that was.
type logState struct {
	asked, answered   time.Time // by this machine's clock
	at                time.Time // by the server's clock, before the positions were read
	inserted, flushed uint64
	log               cdc.Log
}

// readFollowed is readLog of the server whose log is followed. Where another one has taken its place, or an earlier state of its data folder, what is
// asked through new connections is the new one's: its positions tell nothing of what the old one had, and nobody asks the old one again.
func (s *Source) readFollowed(ctx context.Context) (logState, error) {
	w, err := s.readLog(ctx)
	if followed := s.lineage.followed(); err == nil && followed != (cdc.Log{}) {
		err = s.mustBe(followed, w)
	}
	return w, err
}

// readLog is [Source.readLog] of the server that the stream is with.
func (st *stream) readLog(ctx context.Context) (logState, error) {
	w, err := st.src.readLog(ctx)
	if err == nil {
		err = st.src.mustBe(st.conn.log, w)
	}
	if err == nil {
		st.skew.Measure(w.asked, w.at, w.answered)
	}
	return w, err
}

// mustBe returns an error unless a position is of a log.
func (s *Source) mustBe(log cdc.Log, w logState) error {
	if w.log == log {
		return nil
	}
	if log.Started != "" { // some connections may yet be with the old one
		s.pool.Reset()
	}
	return fmt.Errorf("read log position: the server is on timeline %d, started at %s, and the one followed on %d, started at %s: %w",
		w.log.Timeline, w.log.Started, log.Timeline, cmp.Or(log.Started, "a time not known yet"), errSuperseded)
}

// readLog asks how far the log is.
func (s *Source) readLog(ctx context.Context) (logState, error) {
	facts := s.facts.Load()
	if facts == nil {
		if err := s.checkServer(ctx); err != nil {
			return logState{}, err
		}
		facts = s.facts.Load()
	}
	w := logState{asked: s.cfg.Now().Round(0)} // while a machine is suspended only the time on the wall passes
	// PostgreSQL evaluates the columns in order: the clock first.
	err := s.pool.QueryRow(ctx, `SELECT clock_timestamp(), (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint,
		(pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint,
		('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint, `+startedSQL).
		Scan(&w.at, &w.inserted, &w.flushed, &w.log.Timeline, &w.log.Started)
	if err != nil {
		return w, fmt.Errorf("read log position: %w", err)
	}
	w.answered = s.cfg.Now().Round(0)
	w.inserted = facts.recordEnd(w.inserted)
	return w, nil
}
