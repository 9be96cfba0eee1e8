package postgres_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/stand"
)

// times hands on what a stream tells of the time.
type times struct {
	commits    chan time.Time
	watermarks chan time.Time
}

func (h times) Changes(context.Context, []cdc.Change) error      { return nil }
func (h times) Discovered(context.Context, cdc.Discovered) error { return nil }
func (h times) Dropped(context.Context, cdc.TableID) error       { return nil }
func (h times) Commit(ctx context.Context, c cdc.Commit) error   { return give(ctx, h.commits, c.Time) }
func (h times) Watermark(_ context.Context, w cdc.Watermark) error {
	return offer(h.watermarks, w.Time)
}

func give(ctx context.Context, to chan<- time.Time, at time.Time) error {
	select {
	case to <- at:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func offer(to chan<- time.Time, at time.Time) error {
	select {
	case to <- at:
	default: // nobody waits for one
	}
	return nil
}

// stream follows a table by a clock.
func (b *testbed) stream(now func() time.Time) times {
	b.t.Helper()
	source := b.newSource(func(c *postgres.Config) { c.Now = now })
	ctx, cancel := context.WithCancel(stand.Within(b.t, time.Minute))
	if _, err := source.Tables(ctx); err != nil {
		b.t.Fatal(err)
	}
	h, ended := times{commits: make(chan time.Time), watermarks: make(chan time.Time)}, make(chan error, 1)
	go func() { ended <- source.Stream(ctx, cdc.Position{}, h) }()
	b.t.Cleanup(func() {
		cancel()
		<-ended
	})
	return h
}

// Snapshots are dated by the gateway's clock, which may differ from the server's.
func TestStream_tellsTheTimeByTheConsumersClock(t *testing.T) {
	t.Parallel()
	for i, ahead := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			t.Parallel()
			b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
			now := func() time.Time { return time.Now().Add(ahead) }
			h := b.stream(now)
			for what, told := range map[string]<-chan time.Time{"commit": h.commits, "watermark": h.watermarks} {
				before := now()
				if what == "commit" {
					b.exec(fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
				}
				if at := <-told; at.After(now()) || at.Before(before.Add(-10*time.Second)) {
					t.Errorf("the clock being %s ahead, a %s is told to be of %s at %s", ahead, what, at, now())
				}
			}
		})
	}
}

// A clock that is set while the stream runs makes nothing younger than it is, and after one look at the server's clock
// commits tell the time again.
func TestStream_tellsNoTimeThatIsNotYetAfterAClockWasSet(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	h := b.stream(now)
	b.exec("INSERT INTO t VALUES (0)")
	<-h.commits
	ahead.Store(-int64(time.Hour))
	ctx := stand.Within(t, time.Minute)
	told := false
	for i := 1; !told && ctx.Err() == nil; i++ {
		b.exec(fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
		at := <-h.commits
		if at.After(now()) {
			t.Fatalf("commit %d is told to be of %s at %s", i, at, now())
		}
		told = !at.IsZero()
	}
	if !told {
		t.Error("no commit tells the time any more")
	}
}

// A transaction that came by replication has the time of its first commit, by whatever clock.
func TestStream_takesNoTimeOfAnotherServer(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	h := b.stream(time.Now)
	b.exec("SELECT pg_replication_origin_create('elsewhere')")
	b.exec(`SELECT pg_replication_origin_session_setup('elsewhere');
		BEGIN; SELECT pg_replication_origin_xact_setup('0/1', now() + interval '1 hour'); INSERT INTO t VALUES (1); COMMIT`)
	if at := <-h.commits; at.After(time.Now()) {
		t.Errorf("a commit is told to be of %s, which is not yet", at)
	}
	start := time.Now()
	for at := <-h.watermarks; at.Before(start); at = <-h.watermarks {
	}
}
