package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/datarow"
)

// fakeSnapshot counts its holders.
type fakeSnapshot struct {
	pos     uint64
	at      time.Time
	holders atomic.Int64
}

func (s *fakeSnapshot) Position() cdc.Position               { return cdc.Position{Major: s.pos} }
func (s *fakeSnapshot) Time() time.Time                      { return s.at }
func (s *fakeSnapshot) Retain()                              { s.holders.Add(1) }
func (s *fakeSnapshot) Release()                             { s.holders.Add(-1) }
func (s *fakeSnapshot) Table(cdc.TableID) (*cdc.Table, bool) { return nil, false }

func (s *fakeSnapshot) Relation(cdc.TableID, []string) (string, bool) {
	return fmt.Sprintf("snapshot%d", s.pos), true
}

// fakeStore publishes a new snapshot at every call.
type fakeStore struct {
	mu    sync.Mutex
	all   []*fakeSnapshot
	still bool // publishes the same snapshot again
	at    time.Time
}

func (f *fakeStore) Publish(context.Context) (Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.still || len(f.all) == 0 {
		f.all = append(f.all, &fakeSnapshot{pos: uint64(len(f.all) + 1), at: f.at})
	}
	s := f.all[len(f.all)-1]
	s.Retain()
	return s, nil
}

func (f *fakeStore) held() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var n int64
	for _, s := range f.all {
		n += s.holders.Load()
	}
	return n
}

// fakeEngine runs each statement until it is told to go on.
type fakeEngine struct {
	mu      sync.Mutex
	ran     []string
	started chan string
	release chan struct{}
	blocks  int
	cost    time.Duration // of each statement
}

func (e *fakeEngine) Query(ctx context.Context, sql string, _ map[string]string, _ proto.Results, onBlock func(int) error, onCPU func(time.Duration)) error {
	e.mu.Lock()
	e.ran = append(e.ran, sql)
	e.mu.Unlock()
	e.started <- sql
	select {
	case <-e.release:
	case <-ctx.Done():
		return ctx.Err()
	}
	onCPU(e.cost)
	for range e.blocks {
		if err := onBlock(1); err != nil {
			return err
		}
	}
	return nil
}

type oneRow struct{}

func (oneRow) Results() proto.Results { return nil }

func (oneRow) Encode(n int) (datarow.Rows, error) {
	return datarow.Of(slices.Repeat([][][]byte{{[]byte("1")}}, n)...), nil
}

type fixture struct {
	d     *Dispatcher
	store *fakeStore
	eng   *fakeEngine
	stop  func()
}

func start(t *testing.T, cfg Config) *fixture {
	t.Helper()
	f := &fixture{store: &fakeStore{at: time.Unix(1000, 0)}, eng: &fakeEngine{started: make(chan string, 100), release: make(chan struct{}), blocks: 1}}
	clock := func() time.Time { return time.Unix(1001, 0) }
	f.d = New(cfg, f.store, f.eng, clock, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.d.Run(ctx) }()
	var once sync.Once
	f.stop = func() {
		once.Do(func() {
			cancel()
			<-done
			if n := f.store.held(); n != 0 {
				t.Errorf("%d holds on snapshots are left after the end", n)
			}
		})
	}
	t.Cleanup(f.stop)
	return f
}

func query(key string) *Query {
	return &Query{
		Key:     key,
		Build:   func(s Snapshot) (string, error) { r, _ := s.Relation(1, nil); return key + "@" + r, nil },
		Encoder: func() (Encoder, error) { return oneRow{}, nil },
	}
}

func drain(t *testing.T, r *Reader) (rows int, err error) {
	t.Helper()
	defer r.Close()
	for {
		c, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows += c.Len()
	}
}

// answer submits a query and reads its rows, of which there are to be so many.
func (f *fixture) answer(t *testing.T, q *Query, rows int) {
	t.Helper()
	r, err := f.d.Submit(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := drain(t, r); n != rows || err != nil {
		t.Fatalf("drain: %d rows, %v", n, err)
	}
}

func TestDispatcher_queriesThatArriveDuringABatchShareTheNextSnapshot(t *testing.T) {
	f := start(t, Config{Slots: 8, Budget: time.Hour})
	ctx := t.Context()
	first, err := f.d.Submit(ctx, query("a"))
	if err != nil {
		t.Fatal(err)
	}
	<-f.eng.started
	readers := make(chan *Reader, 2)
	for _, k := range []string{"b", "c"} {
		go func() {
			r, err := f.d.Submit(ctx, query(k))
			if err != nil {
				t.Error(err)
			}
			readers <- r
		}()
	}
	waitFor(t, func() bool { return f.d.shares.Waiting() == 2 })
	close(f.eng.release)
	if _, err := drain(t, first); err != nil {
		t.Fatal(err)
	}
	b, c := <-readers, <-readers
	if b.Position() != c.Position() || b.Position().Compare(first.Position()) <= 0 {
		t.Errorf("positions: first %v, then %v and %v: want the same newer one", first.Position(), b.Position(), c.Position())
	}
	for _, r := range []*Reader{b, c} {
		if n, err := drain(t, r); n != 1 || err != nil {
			t.Errorf("drain: %d rows, %v", n, err)
		}
	}
}

func TestDispatcher_identicalQueriesOfOneSnapshotRunOnce(t *testing.T) {
	f := start(t, Config{Slots: 8, Budget: time.Hour})
	f.store.still = true
	close(f.eng.release)
	for range 5 {
		f.answer(t, query("same"), 1)
	}
	if len(f.eng.ran) != 1 {
		t.Errorf("engine ran %v, want one run", f.eng.ran)
	}
}

// While nothing changes a position is seen again at later times, and the snapshot of a transaction grows older.
func TestDispatcher_queryThatJoinsHasItsOwnSnapshotsAge(t *testing.T) {
	f := start(t, Config{Slots: 8, Budget: time.Hour})
	close(f.eng.release)
	for _, age := range []time.Duration{time.Second, 3 * time.Second, 2 * time.Second} {
		r, err := f.d.RunOn(t.Context(), &fakeSnapshot{pos: 1, at: time.Unix(1001, 0).Add(-age)}, query("same"))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Staleness(); got != age {
			t.Errorf("staleness %v, want %v", got, age)
		}
		if n, err := drain(t, r); n != 1 || err != nil {
			t.Fatalf("drain: %d rows, %v", n, err)
		}
	}
	if len(f.eng.ran) != 1 {
		t.Errorf("engine ran %v, want one run", f.eng.ran)
	}
}

func TestDispatcher_forgetsResultsThatHoldMuchMemory(t *testing.T) {
	f := start(t, Config{Slots: 8, Budget: time.Hour})
	f.store.still = true
	f.eng.blocks = 1 // which no reader can keep the engine waiting for: what it has read would be dropped then
	close(f.eng.release)
	wide := func(key string) *Query {
		q := query(key)
		q.Encoder = func() (Encoder, error) { return wideRow{}, nil }
		return q
	}
	for i := range 40 {
		f.answer(t, wide(strconv.Itoa(i)), f.eng.blocks)
		if held := f.d.recent.held(); held > recentBytes+8<<20 {
			t.Fatalf("%d bytes are held after %d results", held, i+1)
		}
	}
	f.answer(t, wide("39"), f.eng.blocks)
	if len(f.eng.ran) != 40 {
		t.Errorf("%d runs; want the last one to be known still", len(f.eng.ran))
	}
}

// wideRow has a value of 7 MiB: less than is kept of a result.
type wideRow struct{ oneRow }

func (wideRow) Encode(n int) (datarow.Rows, error) {
	return datarow.Of(slices.Repeat([][][]byte{{make([]byte, 7<<20)}}, n)...), nil
}

func TestDispatcher_longQueryDoesNotHoldUpTheNextBatch(t *testing.T) {
	f := start(t, Config{Slots: 8, Budget: time.Millisecond})
	long, err := f.d.Submit(t.Context(), query("long"))
	if err != nil {
		t.Fatal(err)
	}
	<-f.eng.started
	next, err := f.d.Submit(t.Context(), query("next")) // would hang if the batch waited
	if err != nil {
		t.Fatal(err)
	}
	<-f.eng.started
	close(f.eng.release)
	for _, r := range []*Reader{long, next} {
		if _, err := drain(t, r); err != nil {
			t.Error(err)
		}
	}
}

func TestDispatcher_cancelStopsTheEngine(t *testing.T) {
	f := start(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := f.d.Submit(ctx, query("a"))
	if err != nil {
		t.Fatal(err)
	}
	<-f.eng.started
	cancel()
	if _, err := r.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("Next after cancel: %v", err)
	}
	r.Close()
	waitFor(t, func() bool { return f.store.held() == 0 })
}

func TestDispatcher_refusesASnapshotThatIsTooOld(t *testing.T) {
	f := start(t, Config{})
	q := query("a")
	q.MaxStaleness = 999 * time.Millisecond
	var stale *StaleError
	if _, err := f.d.Submit(t.Context(), q); !errors.As(err, &stale) || stale.Staleness != time.Second {
		t.Errorf("got %v, want StaleError of 1s", err)
	}
}

func TestDispatcher_shutdownAnswersEveryQuery(t *testing.T) {
	f := start(t, Config{Slots: 1, Budget: time.Hour})
	running, err := f.d.Submit(t.Context(), query("running"))
	if err != nil {
		t.Fatal(err)
	}
	<-f.eng.started
	queued := make(chan error, 1)
	go func() { _, err := f.d.Submit(t.Context(), query("queued")); queued <- err }()
	waitFor(t, func() bool { return f.d.shares.Waiting() == 1 })
	f.stop()
	if err := <-queued; !errors.Is(err, ErrClosed) {
		t.Errorf("queued query got %v", err)
	}
	if _, err := drain(t, running); !errors.Is(err, ErrClosed) {
		t.Errorf("running query got %v", err)
	}
	if _, err := f.d.Submit(t.Context(), query("late")); !errors.Is(err, ErrClosed) {
		t.Errorf("late query got %v", err)
	}
}

// unpublished has no snapshot before the end.
type unpublished struct{ asked chan struct{} }

func (u unpublished) Publish(ctx context.Context) (Snapshot, error) {
	close(u.asked)
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestDispatcher_shutdownAnswersWhatWaitsForItsSnapshot(t *testing.T) {
	snapshots := unpublished{make(chan struct{})}
	d := New(Config{}, snapshots, &fakeEngine{}, time.Now, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	answered := make(chan error, 1)
	go func() { _, err := d.Submit(t.Context(), query("")); answered <- err }()
	<-snapshots.asked
	cancel()
	if err := <-answered; !errors.Is(err, ErrClosed) {
		t.Errorf("the query got %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
}

// waitFor waits for a condition that another goroutine is bringing about.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatal("condition did not come true within 10 s")
		case <-tick.C:
		}
	}
}
