package postgres

import (
	"context"
	"fmt"
	"time"
)

// MostUnmeasured is how many intervals may pass before the clocks are compared again.
const MostUnmeasured = 20

// nudgeDelay is how long somebody's own commit may take to flush what Current promised, before the pulse does it.
const nudgeDelay = 3 * time.Millisecond

// pulse keeps watermarks honest and Current's promises kept.
//
// Whenever no transaction came for an interval, and now and then to compare the clocks, it asks how far the log is and sets
// that as the target of the next watermark; the reader emits the watermark once the stream is there. The target is the insert
// position, not the flush position: with synchronous_commit off a commit is acknowledged before it is flushed.
// A target that stays ahead of the flushed log (an open transaction has written, say) is reached by flushing the log.
func (st *stream) pulse(ctx context.Context) error {
	tick := time.NewTicker(st.src.cfg.WatermarkInterval)
	defer tick.Stop()
	nudge := time.NewTimer(time.Hour)
	defer nudge.Stop()
	var commits uint64
	unmeasured := 0
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-st.src.wake:
			nudge.Reset(nudgeDelay)
		case <-nudge.C:
			err = st.reach(ctx, st.src.wanted.Load())
		case <-tick.C:
			n := st.commits.Load()
			if unmeasured++; n == commits || unmeasured > MostUnmeasured {
				unmeasured = 0
				err = st.aim(ctx)
			}
			commits = n
		}
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
	}
}

// aim sets the next watermark's target, or helps the stream to reach the one that is set.
func (st *stream) aim(ctx context.Context) error {
	if t := st.target.Load(); t != nil {
		return st.reach(ctx, t.inserted)
	}
	w, err := st.readLog(ctx)
	if err != nil {
		return err
	}
	st.target.Store(&w)
	return st.ask()
}

// reach makes sure that the stream can get to a position: it flushes the log up to there
// unless that has happened, and asks the server where it is.
func (st *stream) reach(ctx context.Context, position uint64) error {
	if st.streamed.Load() < position {
		w, err := st.readLog(ctx)
		if err != nil {
			return err
		}
		if w.flushed < position {
			// A transactional message ends in a commit record, whose flush takes everything before it along.
			if _, err := st.src.pool.Exec(ctx, "SELECT pg_logical_emit_message(true, 'freshet', '')"); err != nil {
				return fmt.Errorf("flush the log: %w", err)
			}
			st.src.metrics.nudges.Inc()
		}
	}
	return st.ask()
}

// ask requests a keepalive, which wakes the reader.
func (st *stream) ask() error {
	return st.conn.status(st.confirmed(), st.src.cfg.Now(), true)
}

// report tells the server regularly what is confirmed, also while the handler holds the stream back: a
// silent client would be cut off after wal_sender_timeout.
func (st *stream) report(ctx context.Context) error {
	tick := time.NewTicker(st.src.cfg.StatusInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		if err := st.conn.status(st.confirmed(), st.src.cfg.Now(), false); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
		st.src.metrics.streamed.Set(float64(st.streamed.Load()))
	}
}
