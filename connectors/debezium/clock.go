package debezium

import (
	"context"
	"time"

	"github.com/freshet-io/freshet/connectors/postgres"
)

// readLog asks how far the log is, and compares the clocks. One goroutine at a time calls it.
func (st *stream) readLog(ctx context.Context) (postgres.LogState, error) {
	w, err := st.s.catalog.ReadLog(ctx)
	if err == nil {
		st.skew.Measure(w.Asked, w.At, w.Answered)
	}
	return w, err
}

// committedBy is a time until which nothing was committed that comes after a transaction; zero: not known. One that was
// replicated to the server bears the time of its first commit, by another server's clock.
func (st *stream) committedBy(t *transaction) time.Time {
	if t.replicated {
		return time.Time{}
	}
	return st.skew.Local(time.UnixMicro(t.micros), st.s.cfg.Postgres.Now().Round(0))
}
