package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/e2e/stand"
)

// lastsSink takes its time before the first row.
type lastsSink struct {
	countingSink
	lasts time.Duration
}

func (s *lastsSink) Begin(ctx context.Context, _ cdc.Position, _ []*cdc.Table) error {
	select {
	case <-time.After(s.lasts):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The limits of an application's transactions are not those of a copy or of a stream that the handler holds.
func TestSource_isNotCutOffByTheDatabasesTimeouts(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	b := newTestbed(t, `CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t SELECT g FROM generate_series(1, 1000) g;
		ALTER DATABASE postgres SET transaction_timeout = '1s'; ALTER DATABASE postgres SET idle_in_transaction_session_timeout = '1s';
		ALTER DATABASE postgres SET statement_timeout = '1s'`)
	ctx := stand.Within(t, time.Minute)
	found, err := b.source.Tables(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sink := &lastsSink{lasts: 2 * limit}
	at, err := b.source.Copy(ctx, []cdc.TableID{found[0].Table.ID}, sink)
	if err != nil || sink.rows != 1000 {
		t.Fatalf("copied %d rows, error %v", sink.rows, err)
	}

	blocked := make(chan struct{})
	h := &countingHandler{each: func() { <-blocked }}
	b.streamInto(at, h)
	// More than the buffers of the connection hold, so that the server is in the midst of the transaction.
	b.exec("SET statement_timeout = 0; SET transaction_timeout = 0; INSERT INTO t SELECT g, repeat('x', 1000) FROM generate_series(1001, 31000) g")
	eventually(t, "the first changes", 20*time.Second, func() bool { return h.changes.Load() > 0 })
	<-time.After(2 * limit)
	close(blocked)
	eventually(t, "the commit, on the same stream", 20*time.Second, func() bool { return h.commits.Load() == 1 })
	if n := h.changes.Load(); n != 30000 {
		t.Errorf("%d changes, want 30,000: the stream broke and began again", n)
	}
}

// A slot, and so a copy, cannot begin before the transactions that run have ended. Whoever gives up and asks again waits for later ones as well.
func TestSource_waitsForTransactionsHoweverLongTheyLast(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	ctx := stand.Within(t, 2*time.Minute)
	var tables []cdc.TableID
	for _, c := range []struct {
		name  string
		begin func() error
		lasts time.Duration // longer than the source waits for locks there
	}{
		{"slot", func() error {
			found, err := b.source.Tables(ctx)
			for _, d := range found {
				tables = append(tables, d.Table.ID)
			}
			return err
		}, 3 * time.Second},
		{"copy", func() error {
			_, err := b.source.Copy(ctx, tables, &countingSink{})
			return err
		}, 32 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			writer := stand.Connect(t, b.url)
			stand.Exec(t, writer, "CREATE TEMPORARY TABLE mine (id int); BEGIN; INSERT INTO mine VALUES (1)")
			began := make(chan error, 1)
			go func() { began <- c.begin() }()
			eventually(t, "the reason for the wait", 20*time.Second, func() bool { return b.source.CopyWaits() != "" })
			select {
			case err := <-began:
				t.Errorf("it did not wait: %v", err)
			case <-time.After(c.lasts):
				stand.Exec(t, writer, "COMMIT")
				if err := <-began; err != nil {
					t.Error(err)
				}
			}
			if why := b.source.CopyWaits(); why != "" {
				t.Errorf("afterwards it waits for %s", why)
			}
		})
	}
}
