package postgres_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cdc/sourcetest"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/stand"
)

// countingSink counts what a copy hands over.
type countingSink struct {
	mu      sync.Mutex
	rows    int
	done    []string
	stopped []*cdc.TableError
}

func (s *countingSink) Begin(context.Context, cdc.Position, []*cdc.Table) error { return nil }

func (s *countingSink) Rows(_ context.Context, _ *cdc.Table, rows []cdc.Row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows += len(rows)
	return nil
}

func (s *countingSink) Done(_ context.Context, t *cdc.Table) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, t.Name)
	return nil
}

func (s *countingSink) Stopped(_ context.Context, _ cdc.TableID, why *cdc.TableError) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = append(s.stopped, why)
	return nil
}

// countingHandler counts what a stream hands over, without keeping it.
type countingHandler struct {
	changes, commits, watermarks atomic.Int64
	largest, heap                atomic.Int64
	position                     atomic.Uint64
	each, done                   func()
}

func (h *countingHandler) Changes(_ context.Context, changes []cdc.Change) error {
	h.largest.Store(max(h.largest.Load(), int64(len(changes))))
	if before := h.changes.Load(); before/100_000 != h.changes.Add(int64(len(changes)))/100_000 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		h.heap.Store(max(h.heap.Load(), int64(m.HeapAlloc)))
	}
	if h.each != nil {
		h.each()
	}
	return nil
}

func (h *countingHandler) Commit(_ context.Context, c cdc.Commit) error {
	h.position.Store(c.Position.Major)
	h.commits.Add(1)
	if h.done != nil {
		h.done()
	}
	return nil
}

func (h *countingHandler) Watermark(_ context.Context, w cdc.Watermark) error {
	h.position.Store(w.Position.Major)
	h.watermarks.Add(1)
	return nil
}

func (h *countingHandler) Discovered(context.Context, cdc.Discovered) error { return nil }
func (h *countingHandler) Dropped(context.Context, cdc.TableID) error       { return nil }

// streamInto runs a stream until the test ends it.
func (b *testbed) streamInto(from cdc.Position, h cdc.Handler) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.source.Stream(ctx, from, h) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	b.t.Cleanup(func() { _ = stop() })
	return stop
}

// eventually waits for a condition that changes outside of the model.
func eventually(t *testing.T, what string, limit time.Duration, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(limit)
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within %s", what, limit)
		}
	}
}

func TestStream_handsOverAMillionRowsInBoundedMemory(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE big (id int PRIMARY KEY, v bigint, t text)")
	if _, err := b.source.Tables(stand.Within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	h := &countingHandler{}
	b.streamInto(cdc.Position{}, h)
	b.exec("INSERT INTO big SELECT g, g * 2, 'some text of row ' || g FROM generate_series(1, 1000000) g")
	eventually(t, "the commit", 2*time.Minute, func() bool { return h.commits.Load() == 1 })
	if n := h.changes.Load(); n != 1_000_000 {
		t.Errorf("%d changes, want 1,000,000", n)
	}
	if n := h.largest.Load(); n > 1000 {
		t.Errorf("%d changes in one call, want 1,000 at most", n)
	}
	if heap := h.heap.Load(); heap > 64<<20 {
		t.Errorf("heap grew to %d MB, want 64 at most", heap>>20)
	}
	sink := &countingSink{}
	d, err := b.source.Tables(stand.Within(t, 20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.source.Copy(stand.Within(t, time.Minute), []cdc.TableID{d[0].Table.ID}, sink); err != nil || sink.rows != 1_000_000 {
		t.Errorf("copied %d rows, error %v", sink.rows, err)
	}
}

func TestStream_keepsWatermarksFreshWhileIdle(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE foreign_to_us (a int)")
	b.follow()
	b.same()
	check := func(what string) {
		start := time.Now()
		b.await(what, func() bool { return b.model.LastWatermark().Time.After(start) })
		if waited := time.Since(start); waited > 2*time.Second {
			t.Errorf("%s: the watermark passed the start after %s", what, waited)
		}
	}
	check("nothing happens")
	// Log that no commit of ours ends: an open transaction, and tables that are not replicated.
	conn, err := pgx.Connect(t.Context(), b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "INSERT INTO t SELECT generate_series(1, 5000)"); err != nil {
		t.Fatal(err)
	}
	check("a transaction is open")
	b.exec("INSERT INTO foreign_to_us SELECT generate_series(1, 5000)")
	check("others write")
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.same()
	// The confirmed positions of watermarks let the slot advance.
	p := b.model.Position()
	eventually(t, "the slot advances", 10*time.Second, func() bool {
		st, err := b.source.SlotStatus(t.Context())
		return err == nil && !st.Confirmed.Before(p)
	})
}

func TestCurrent_isReachedSoonAlsoWhenCommitsAreAsynchronous(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)")
	b.follow()
	b.same()
	conn, err := pgx.Connect(t.Context(), b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "SET synchronous_commit = off"); err != nil {
		t.Fatal(err)
	}
	var slowest, total time.Duration
	const rounds = 200
	for i := range rounds {
		if _, err := conn.Exec(t.Context(), "UPDATE t SET v = $1", i); err != nil {
			t.Fatal(err)
		}
		commits := b.model.Commits()
		start := time.Now()
		if err := b.model.CatchUp(stand.Within(t, 10*time.Second)); err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		slowest, total = max(slowest, took), total+took
		_ = commits
	}
	t.Logf("caught up in %s on average, %s at most", total/rounds, slowest)
	if mean := total / rounds; mean > 100*time.Millisecond {
		t.Errorf("catching up takes %s on average: the log is not flushed for the reader", mean)
	}
	if got, want := b.model.Commits(), rounds; got < want {
		t.Errorf("%d commits seen, want %d: Current was behind a commit", got, want)
	}
	b.same()
}

// loseSlot has the server invalidate the slot, which nobody uses.
func (b *testbed) loseSlot() {
	b.t.Helper()
	b.exec("ALTER SYSTEM SET max_slot_wal_keep_size = '16MB'", "SELECT pg_reload_conf()")
	for range 4 {
		b.exec("CREATE TABLE filler AS SELECT g, repeat('x', 500) FROM generate_series(1, 60000) g; DROP TABLE filler; SELECT pg_switch_wal()")
	}
	b.exec("CHECKPOINT")
}

func TestStream_reportsALostSlot(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	b.follow()
	b.same()
	b.stop()
	ctx := stand.Within(t, time.Minute)
	b.loseSlot()
	sourcetest.WantTerminal(t, b.source.Stream(ctx, b.model.Position(), b.model), cdc.CodeSlotLost)
	_, err := b.source.Tables(ctx)
	sourcetest.WantTerminal(t, err, cdc.CodeSlotLost)
	if err := b.source.DropSlotAndPublication(ctx); err != nil {
		t.Fatal(err)
	}
	sourcetest.WantTerminal(t, b.source.Stream(ctx, b.model.Position(), b.model), cdc.CodeSlotLost)
}

// A replica that was dropped is copied anew, whether or not somebody has dropped the slot as well.
func TestTables_replacesALostSlotForAConsumerThatHasKeptNothing(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	b.follow()
	b.same()
	b.stop()
	ctx := stand.Within(t, time.Minute)
	b.loseSlot()

	kept := b.newSource()
	if err := kept.Restore(b.source.Bookmark(b.model.Position())); err != nil {
		t.Fatal(err)
	}
	_, err := kept.Tables(ctx)
	sourcetest.WantTerminal(t, err, cdc.CodeSlotLost)

	b.exec("CREATE DATABASE other")
	elsewhere := b.newSource(func(c *postgres.Config) { c.URL = b.server.URL("other") })
	if err := elsewhere.Restore(nil); err != nil {
		t.Fatal(err)
	}
	_, err = elsewhere.Tables(ctx)
	sourcetest.WantTerminal(t, err, cdc.CodeConfiguration)

	b.source, b.model = b.newSource(), sourcetest.NewModel()
	if err := b.source.Restore(nil); err != nil {
		t.Fatal(err)
	}
	b.follow()
	b.exec("INSERT INTO t VALUES (1)")
	b.same()
}

// A new slot would keep the log for a replica that cannot go on from it.
func TestSource_makesNoSlotForAReplicaThatGoesOn(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	b.follow()
	b.same()
	b.stop()
	b.exec("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
	ctx := stand.Within(t, time.Minute)
	kept := b.newSource()
	if err := kept.Restore(b.source.Bookmark(b.model.Position())); err != nil {
		t.Fatal(err)
	}
	_, err := kept.Tables(ctx)
	sourcetest.WantTerminal(t, err, cdc.CodeSlotLost)
	if st, err := kept.SlotStatus(ctx); err != nil || st.Exists {
		t.Errorf("the slot afterwards: %+v, error %v", st, err)
	}
}

func TestStream_takesOverTheSlotOfAStaleConnection(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	if _, err := b.source.Tables(stand.Within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	blocked := make(chan struct{})
	h := &countingHandler{each: func() { <-blocked }}
	stop := b.streamInto(cdc.Position{}, h)
	defer func() { close(blocked); _ = stop() }()
	b.exec("INSERT INTO t VALUES (1)")
	eventually(t, "the first stream runs", 20*time.Second, func() bool { return h.changes.Load() > 0 })
	second := &testbed{t: t, url: b.url, source: b.newSource(func(c *postgres.Config) { c.SlotWait = 2 * time.Second })}
	h2 := &countingHandler{}
	second.streamInto(cdc.Position{}, h2)
	eventually(t, "the second stream has the change", 20*time.Second, func() bool { return h2.commits.Load() == 1 })
}

func TestStream_isNotCutOffWhileTheHandlerBlocks(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY, v text)")
	b.exec("ALTER SYSTEM SET wal_sender_timeout = '500ms'", "SELECT pg_reload_conf()")
	if _, err := b.source.Tables(stand.Within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	blocked := make(chan struct{})
	h := &countingHandler{each: func() { <-blocked }}
	stop := b.streamInto(cdc.Position{}, h)
	// More than the buffers of the connection hold, so that the server waits.
	b.exec("INSERT INTO t SELECT g, repeat('x', 1000) FROM generate_series(1, 30000) g")
	eventually(t, "the first changes", 20*time.Second, func() bool { return h.changes.Load() > 0 })
	<-time.After(2 * time.Second) // several times the server's patience
	close(blocked)
	eventually(t, "the commit, on the same stream", 20*time.Second, func() bool { return h.commits.Load() == 1 })
	if n := h.changes.Load(); n != 30000 {
		t.Errorf("%d changes, want 30,000: the stream broke and began again", n)
	}
	_ = stop()
}

func TestStream_doesNotHoldUpAShutdownOfTheServer(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	if _, err := b.source.Tables(stand.Within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	h := &countingHandler{} // confirms nothing
	ended := make(chan error, 1)
	go func() { ended <- b.source.Stream(stand.Within(t, time.Minute), cdc.Position{}, h) }()
	b.exec("INSERT INTO t VALUES (1)")
	eventually(t, "the change", 20*time.Second, func() bool { return h.commits.Load() == 1 })
	start := time.Now()
	if err := b.server.Stop(stand.Within(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the server took %s to stop", took)
	}
	if err := <-ended; err == nil {
		t.Error("the stream ended without an error")
	}
}

func TestCurrent_isSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	b.follow()
	b.same()
	var wg sync.WaitGroup
	errs := make(chan error, 16)
	for i := range 16 {
		wg.Go(func() {
			b.exec(fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
			errs <- b.model.CatchUp(stand.Within(t, 20*time.Second))
		})
	}
	wg.Wait()
	for range 16 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	b.same()
}
