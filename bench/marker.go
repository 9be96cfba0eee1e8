package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/bench/rig"
)

// createMarker makes the table of the row that tells how fresh an answer is (HATtrick).
func createMarker(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "CREATE TABLE freshness_marker (client integer PRIMARY KEY, txn bigint NOT NULL)")
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "INSERT INTO freshness_marker VALUES (1, 0)")
	return err
}

// pulse commits one change.
func pulse(ctx context.Context, r *rig.Rig) error {
	conn, err := pgx.Connect(ctx, r.OLTP())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "UPDATE freshness_marker SET txn = txn + 1")
	return err
}

// marker commits numbered transactions and knows when each one was committed.
type marker struct {
	cancel context.CancelFunc
	ended  chan error

	// began is when all transactions before first had been committed.
	began time.Time

	mu      sync.Mutex
	first   int64
	commits []time.Time // of transactions first, first+1, …
}

// startMarker begins to commit a transaction per interval.
func startMarker(ctx context.Context, r *rig.Rig, interval time.Duration) (*marker, error) {
	conn, err := pgx.Connect(ctx, r.OLTP())
	if err != nil {
		return nil, fmt.Errorf("start marker: %w", err)
	}
	m := &marker{ended: make(chan error, 1)}
	if err := conn.QueryRow(ctx, "SELECT txn + 1 FROM freshness_marker").Scan(&m.first); err != nil {
		return nil, errors.Join(fmt.Errorf("start marker: %w", err), conn.Close(context.WithoutCancel(ctx)))
	}
	m.began = time.Now()
	ctx, m.cancel = context.WithCancel(ctx)
	go func() {
		defer conn.Close(context.WithoutCancel(ctx))
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for n := m.first; ; n++ {
			if _, err := conn.Exec(ctx, "UPDATE freshness_marker SET txn = $1", n); err != nil {
				if ctx.Err() != nil {
					err = nil
				}
				m.ended <- err
				return
			}
			m.mu.Lock()
			m.commits = append(m.commits, time.Now())
			m.mu.Unlock()
			select {
			case <-ticker.C:
			case <-ctx.Done():
				m.ended <- nil
				return
			}
		}
	}()
	return m, nil
}

func (m *marker) stop() error {
	m.cancel()
	return <-m.ended
}

// freshness is HATtrick's score of a query that started at start and saw transactions up to seen: the
// age, at its start, of the first commit that it did not see; zero if it saw them all. A commit from before the marker is as old as the marker at
// least.
func (m *marker) freshness(start time.Time, seen int64) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.began
	switch missed := seen + 1 - m.first; {
	case missed >= int64(len(m.commits)):
		return 0
	case missed >= 0:
		at = m.commits[missed]
	}
	return max(0, start.Sub(at))
}

// watch asks for the marker in a loop and records the freshness of every answer that comes after the warm-up, until ctx ends.
// Errors of the endpoint are counted, also before.
func (m *marker) watch(ctx context.Context, dsn, setup string, warmup time.Duration) (h *hdrhistogram.Histogram, failures int, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, 0, fmt.Errorf("watch marker: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.PgConn().Exec(ctx, setup).ReadAll(); err != nil {
		return nil, 0, fmt.Errorf("watch marker: %w", err)
	}
	h = newHistogram()
	counted := time.Now().Add(warmup)
	for ctx.Err() == nil {
		start := time.Now()
		var seen int64
		err := conn.QueryRow(ctx, "SELECT max(txn) FROM freshness_marker").Scan(&seen)
		if ctx.Err() != nil {
			break
		}
		var refusal *pgconn.PgError
		switch {
		case errors.As(err, &refusal):
			failures++
		case err != nil:
			return nil, failures, fmt.Errorf("watch marker: %w", err)
		case !time.Now().Before(counted):
			if err := h.RecordValue(m.freshness(start, seen).Microseconds()); err != nil {
				return nil, failures, fmt.Errorf("record freshness: %w", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	return h, failures, nil
}

// newHistogram makes one of microseconds, up to an hour.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, time.Hour.Microseconds(), 3)
}
