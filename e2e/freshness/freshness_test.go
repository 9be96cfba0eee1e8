package freshness

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	columnarOnly = "SET freshet.route = 'columnar'"
	strong       = "SET freshet.freshness = 'strong'"
	eventual     = "SET freshet.freshness = 'eventual'"
)

func TestStrong_seesEveryCommitOfAnotherSession(t *testing.T) {
	r := newRig(t)
	writer := r.direct(t)
	reader := r.session(t, strong, columnarOnly)
	for n := int64(1); n <= 1000; n++ {
		exec(t, writer, "UPDATE counter SET n = n + 1 WHERE id = $1", n%10+1)
		if got := total(t, reader); got != n {
			t.Fatalf("after commit %d a strong read sees %d", n, got)
		}
	}
}

func TestSession_readsItsOwnWrites(t *testing.T) {
	r := newRig(t)
	s := r.session(t, columnarOnly, "SET freshet.max_staleness = '1h'")
	for n := int64(1); n <= 300; n++ {
		if n%3 == 0 {
			exec(t, s, "BEGIN")
		}
		exec(t, s, "UPDATE counter SET n = n + 1 WHERE id = $1", n%10+1)
		if n%3 == 0 {
			exec(t, s, "COMMIT")
		}
		if got := total(t, s); got != n {
			t.Fatalf("after its own write %d a session reads %d", n, got)
		}
	}
}

func TestMinSnapshot_isReached(t *testing.T) {
	r := newRig(t)
	writer := r.direct(t)
	reader := r.session(t, eventual, columnarOnly)
	for n := int64(1); n <= 300; n++ {
		exec(t, writer, "UPDATE counter SET n = n + 1 WHERE id = $1", n%10+1)
		var token string
		if err := writer.QueryRow(t.Context(), "SELECT pg_current_wal_insert_lsn()::text").Scan(&token); err != nil {
			t.Fatal(err)
		}
		exec(t, reader, "SET freshet.min_snapshot = '"+token+"'")
		if got := total(t, reader); got != n {
			t.Fatalf("with the token of commit %d a session reads %d", n, got)
		}
	}
}

// The token that one session shows carries what it saw to another session.
func TestSnapshot_isATokenForOtherSessions(t *testing.T) {
	r := newRig(t)
	writer := r.session(t, columnarOnly)
	reader := r.session(t, eventual, columnarOnly)
	for n := int64(1); n <= 100; n++ {
		exec(t, writer, "UPDATE counter SET n = n + 1 WHERE id = $1", n%10+1)
		if got := total(t, writer); got != n {
			t.Fatalf("after its own write %d a session reads %d", n, got)
		}
		exec(t, reader, "SET freshet.min_snapshot = '"+show(t, writer, "freshet.snapshot")+"'")
		if got := total(t, reader); got < n {
			t.Fatalf("with the token of a session that read %d another reads %d", n, got)
		}
	}
}

// beats are the values that a writer committed, and when it knew.
type beats struct {
	mu    sync.Mutex
	times []time.Time // of value i+1
}

func (b *beats) add(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.times = append(b.times, at)
}

// before is the last value known to be committed before a time.
func (b *beats) before(at time.Time) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, _ := slices.BinarySearchFunc(b.times, at, time.Time.Compare)
	return int64(n)
}

// beat counts up until ctx ends.
func (b *beats) beat(ctx context.Context, c *pgx.Conn) error {
	for ctx.Err() == nil {
		if _, err := c.Exec(ctx, "UPDATE counter SET n = n + 1 WHERE id = 1"); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		b.add(time.Now())
	}
	return nil
}

func TestBounded_isNeverOlderThanAsked(t *testing.T) {
	const seconds = 12
	r := newRig(t)
	var b beats
	ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
	defer cancel()
	writer, control := r.direct(t), r.direct(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.beat(ctx, writer); err != nil {
			t.Errorf("write: %v", err)
		}
	})
	wg.Go(func() { // the stream stands still two fifths of the time
		for ctx.Err() == nil {
			pause(ctx, 600*time.Millisecond)
			resume := r.stopStream(t, control)
			pause(ctx, 400*time.Millisecond)
			resume()
		}
	})
	reads, columnar := make([]int, 3), make([]int, 3)
	for i := range reads {
		session := r.session(t)
		rng := rand.New(rand.NewPCG(7, uint64(i)))
		wg.Go(func() {
			for ctx.Err() == nil {
				bound := time.Duration(20+rng.IntN(500)) * time.Millisecond
				exec(t, session, "SET freshet.max_staleness = "+quoted(bound.Milliseconds()))
				least := b.before(time.Now().Add(-bound))
				if got := total(t, session); got < least {
					t.Errorf("a read bounded by %s sees %d, but %d was committed before its bound", bound, got, least)
				}
				reads[i]++
				if show(t, session, "freshet.last_route") == "columnar" {
					columnar[i]++
				}
			}
		})
	}
	wg.Wait()
	t.Logf("reads by session %v, of them columnar %v, commits %d", reads, columnar, len(b.times))
	if slices.Min(columnar) == 0 {
		t.Errorf("a session never read from the replica")
	}
}

// pause lets a phase of a test last; it orders nothing.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func TestModes_whileTheStreamStandsStill(t *testing.T) {
	r := newRig(t)
	writer := r.direct(t)
	fresh := r.session(t, strong, columnarOnly)
	late := r.session(t, eventual, columnarOnly)
	exec(t, writer, "UPDATE counter SET n = 5 WHERE id = 1")
	if got := total(t, fresh); got != 5 {
		t.Fatalf("before: a strong read sees %d, want 5", got)
	}
	resume := r.stopStream(t, writer)
	defer resume()
	exec(t, writer, "UPDATE counter SET n = 7 WHERE id = 1")

	if got := total(t, late); got != 5 {
		t.Errorf("an eventual read sees %d, want 5", got)
	}
	exec(t, fresh, "SET statement_timeout = '300ms'")
	_, err := fresh.Exec(t.Context(), readTotal)
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "57014" {
		t.Errorf("a strong columnar read gives %v, want a statement timeout", err)
	}
	anywhere := r.session(t, strong)
	if got, route := total(t, anywhere), show(t, anywhere, "freshet.last_route"); got != 7 || route != "oltp" {
		t.Errorf("a strong read sees %d by route %s, want 7 by oltp", got, route)
	}
	bounded := r.session(t, "SET freshet.max_staleness = '50ms'")
	if got, route := total(t, bounded), show(t, bounded, "freshet.last_route"); got != 7 || route != "oltp" {
		t.Errorf("a bounded read sees %d by route %s, want 7 by oltp", got, route)
	}
	for _, tt := range []struct {
		session *pgx.Conn
		want    string
	}{{late, "Route: columnar"}, {anywhere, "Route: oltp"}, {bounded, "Route: oltp"}} {
		if got := explained(t, tt.session); got[0] != tt.want {
			t.Errorf("EXPLAIN (FRESHET): %q, want %q", got, tt.want)
		}
	}
	if got := explained(t, bounded)[1]; got != "Reason: the replica lags behind PostgreSQL" {
		t.Errorf("EXPLAIN (FRESHET) of a bounded read: %q", got)
	}
}

// explained is what EXPLAIN (FRESHET) says of the total.
func explained(t *testing.T, c *pgx.Conn) []string {
	t.Helper()
	rows, err := c.Query(t.Context(), "EXPLAIN (FRESHET) "+readTotal)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(lines) < 2 {
		t.Fatalf("EXPLAIN (FRESHET): %q, %v", lines, err)
	}
	return lines
}
