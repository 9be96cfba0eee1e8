package batch

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/gateway/datarow"
)

// manyBlocks of [maxAhead] bytes each are more than the engine may yield before they are read.
const manyBlocks = 20

// bigRow is as much as may be ahead of a reader.
type bigRow struct{}

func (bigRow) Results() proto.Results { return nil }

func (bigRow) Encode(int) (datarow.Rows, error) {
	return datarow.Of([][]byte{bytes.Repeat([]byte{'x'}, maxAhead)}), nil
}

// big is a query whose result is read while it is made.
func big(key string) *Query {
	q := query(key)
	q.Encoder = func() (Encoder, error) { return bigRow{}, nil }
	return q
}

// stall starts a query whose reader takes nothing, and waits until that keeps the engine waiting.
func (f *fixture) stall(ctx context.Context, t *testing.T, q *Query) *Reader {
	t.Helper()
	before := f.d.stalls.now()
	r, err := f.d.Submit(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	<-f.eng.started
	waitFor(t, func() bool { return f.d.stalls.now() > before })
	return r
}

func startBig(t *testing.T, cfg Config) *fixture {
	t.Helper()
	f := start(t, cfg)
	f.eng.blocks = manyBlocks
	close(f.eng.release)
	return f
}

func TestDispatcher_readerThatStallsYieldsItsSlot(t *testing.T) {
	f := startBig(t, Config{Slots: 1, Budget: time.Millisecond})
	slow := f.stall(t.Context(), t, big("slow"))
	r, err := f.d.Submit(t.Context(), big("other")) // would hang if it waited for the slow reader
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Reader{r, slow} {
		if n, err := drain(t, r); n != manyBlocks || err != nil {
			t.Errorf("got %d rows, %v, want %d", n, err, manyBlocks)
		}
	}
	waitFor(t, func() bool { return f.store.held() == 0 })
	if n := f.d.stalls.now(); n != 0 {
		t.Errorf("%d stalled queries are left", n)
	}
}

func TestDispatcher_nobodyJoinsAReaderThatStalls(t *testing.T) {
	f := startBig(t, Config{Slots: 4, Budget: time.Millisecond})
	f.store.still = true
	f.stall(t.Context(), t, big("same"))
	r, err := f.d.Submit(t.Context(), big("same"))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := drain(t, r); n != manyBlocks || err != nil {
		t.Errorf("got %d rows, %v, want %d", n, err, manyBlocks)
	}
	if len(f.eng.ran) != 2 {
		t.Errorf("engine ran %v, want two runs", f.eng.ran)
	}
}

func TestDispatcher_givenUpQueryStopsTheEngineWhileItsReaderIsBusy(t *testing.T) {
	f := startBig(t, Config{})
	ctx, cancel := context.WithCancelCause(t.Context())
	r := f.stall(ctx, t, big("slow"))
	timeout := errors.New("statement timeout")
	cancel(timeout)
	waitFor(t, func() bool { return f.store.held() == 0 }) // without a Next or a Close
	if _, err := r.Next(); !errors.Is(err, timeout) {
		t.Errorf("Next after the end: %v, want the cause", err)
	}
}

func TestDispatcher_givesUpWhoStallsLongestWhereManyDo(t *testing.T) {
	f := startBig(t, Config{Slots: 1, Stalled: 2, Budget: time.Millisecond})
	now := time.Unix(1001, 0)
	f.d.stalls.mu.Lock()
	f.d.stalls.clock = func() time.Time { return now }
	f.d.stalls.mu.Unlock()
	first := f.stall(t.Context(), t, big("first"))
	second := f.stall(t.Context(), t, big("second"))
	third, err := f.d.Submit(t.Context(), big("third"))
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	<-f.eng.started
	f.d.stalls.mu.Lock()
	now = now.Add(patience)
	f.d.stalls.mu.Unlock()
	r, err := f.d.Submit(t.Context(), query("other")) // waits until the third stalls instead of the first
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if _, err := drain(t, first); !errors.Is(err, ErrStalled) {
		t.Errorf("the longest to stall got %v, want %v", err, ErrStalled)
	}
	for _, r := range []*Reader{second, third} {
		if n, err := drain(t, r); n != manyBlocks || err != nil {
			t.Errorf("got %d rows, %v, want %d", n, err, manyBlocks)
		}
	}
}

func TestDispatcher_readerThatStallsHoldsUpNobodyWhoAsksTheSame(t *testing.T) {
	f := start(t, Config{})
	f.eng.blocks = manyBlocks
	f.store.still = true
	var readers [2]*Reader
	for i := range readers {
		r, err := f.d.Submit(t.Context(), big("same"))
		if err != nil {
			t.Fatal(err)
		}
		readers[i] = r
	}
	close(f.eng.release)
	for i, r := range readers { // the second takes nothing before the first has all
		if n, err := drain(t, r); n != manyBlocks || err != nil {
			t.Errorf("reader %d got %d rows, %v, want %d", i, n, err, manyBlocks)
		}
	}
	if len(f.eng.ran) != 1 {
		t.Errorf("engine ran %v, want one run", f.eng.ran)
	}
}
