//go:build kafka

package debezium_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/e2e/stand"
)

// times hands on what a stream tells of the time.
type times struct {
	countingHandler
	commits, watermarks chan time.Time
}

func (h *times) Commit(ctx context.Context, c cdc.Commit) error {
	select {
	case h.commits <- c.Time:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *times) Watermark(_ context.Context, w cdc.Watermark) error {
	select {
	case h.watermarks <- w.Time:
	default: // nobody waits for one
	}
	return nil
}

// followBy follows a table from now on by a clock.
func (b *testbed) followBy(now func() time.Time) *times {
	b.t.Helper()
	source := b.newSource(func(c *debezium.Config) { c.Postgres.Now = now })
	ctx, cancel := context.WithCancel(stand.Within(b.t, 2*time.Minute))
	if _, err := source.Tables(ctx); err != nil {
		b.t.Fatal(err)
	}
	at, err := source.Copy(ctx, nil, noSink{})
	if err != nil {
		b.t.Fatal(err)
	}
	h, ended := &times{commits: make(chan time.Time), watermarks: make(chan time.Time)}, make(chan error, 1)
	go func() { ended <- source.Stream(ctx, at, h) }()
	b.t.Cleanup(func() {
		cancel()
		<-ended
	})
	return h
}

// Snapshots are dated by the gateway's clock, which may differ from the server's.
func TestStream_tellsTheTimeByTheConsumersClock(t *testing.T) {
	for i, ahead := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
			now := func() time.Time { return time.Now().Add(ahead) }
			h := b.followBy(now)
			before := now()
			b.exec(fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
			for _, told := range []<-chan time.Time{h.commits, h.watermarks} { // the commit holds up what comes after it
				if at := <-told; at.After(now()) || at.Before(before.Add(-10*time.Second)) {
					t.Errorf("the clock being %s ahead, at %s something is told to be of %s", ahead, now(), at)
				}
			}
		})
	}
}

// A transaction that came by replication has the time of its first commit, by whatever clock.
func TestStream_takesNoTimeOfAnotherServer(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	h := b.followBy(time.Now)
	b.exec("SELECT pg_replication_origin_create('elsewhere')")
	for i, when := range []string{"now() + interval '1 hour'", "now() - interval '1 year'"} { // which is before the server was started
		b.exec(fmt.Sprintf(`SELECT pg_replication_origin_session_setup('elsewhere');
			BEGIN; SELECT pg_replication_origin_xact_setup('0/%d', %s); INSERT INTO t VALUES (%d); COMMIT`, i+1, when, i))
		if at := <-h.commits; !at.IsZero() {
			t.Errorf("a commit is told to be of %s", at)
		}
	}
	start := time.Now()
	for at := <-h.watermarks; at.Before(start); at = <-h.watermarks {
	}
}
