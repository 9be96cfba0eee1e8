package driver

import (
	"sync"
	"time"

	"github.com/freshet-io/freshet/workload/ch"
)

// recorder counts what clients finish. It is safe for concurrent use.
type recorder struct {
	mu sync.Mutex
	// counting is false during the warm-up and after the end.
	counting     bool
	since, until time.Time

	transactions [ch.Transactions]transactionRecord
	queries      map[string]*histogram
	queryCount   int64
	columnar     int64
	staleness    histogram
	failures     int64
	lastFailure  string
}

type transactionRecord struct {
	latency             histogram
	rolledBack, retries int64
}

func newRecorder() *recorder {
	r := &recorder{queries: make(map[string]*histogram), staleness: newHistogram()}
	for i := range r.transactions {
		r.transactions[i].latency = newHistogram()
	}
	return r
}

func (r *recorder) start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counting, r.since = true, time.Now()
}

func (r *recorder) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counting {
		r.counting, r.until = false, time.Now()
	}
}

// seconds is how long counting has lasted. The caller holds the lock.
func (r *recorder) seconds() float64 {
	switch {
	case r.since.IsZero():
		return 0
	case r.counting:
		return time.Since(r.since).Seconds()
	default:
		return r.until.Sub(r.since).Seconds()
	}
}

func (r *recorder) transaction(o ch.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.counting {
		return
	}
	t := &r.transactions[o.Transaction]
	t.latency.record(o.Latency)
	t.retries += int64(o.Retries)
	if o.RolledBack {
		t.rolledBack++
	}
}

func (r *recorder) query(name string, latency time.Duration, how execution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.counting {
		return
	}
	h := r.queries[name]
	if h == nil {
		fresh := newHistogram()
		h = &fresh
		r.queries[name] = h
	}
	h.record(latency)
	r.queryCount++
	if how.columnar {
		r.columnar++
		r.staleness.record(how.staleness)
	}
}

func (r *recorder) failure(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures++
	r.lastFailure = err.Error()
}
