package postgres

import (
	"context"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// commit ends the open transaction.
func (st *stream) commit(ctx context.Context, body []byte) error {
	commit, err := parseCommit(body)
	if err != nil {
		return err
	}
	mark := markOf(commit)
	commit.Time = st.committedBy(commit)
	if st.skip {
		err = st.proveBy(mark)
	} else {
		err = st.flush(ctx)
	}
	if err != nil {
		return err
	}
	if st.rows && !st.skip { // before the consumer may keep a position that is not before it
		st.src.lineage.told(mark)
	}
	if st.handed {
		if !st.src.lineage.tell(st.conn.log.Timeline, commit.Position.Major) {
			return errSuperseded
		}
		if err := st.h.Commit(ctx, commit); err != nil {
			return fromHandler(err)
		}
		if !commit.Time.IsZero() {
			st.commits.Add(1)
		}
		st.src.metrics.transactions.Inc()
	}
	st.open, st.handed, st.skip = false, false, false
	raise(&st.streamed, commit.Position.Major)
	return st.betweenTransactions(ctx)
}

// committedBy is a time until which nothing was committed that comes after a transaction; zero: not known. One that was replicated to the server
// bears the time of its first commit, by another server's clock.
func (st *stream) committedBy(c cdc.Commit) time.Time {
	if st.replicated {
		return time.Time{}
	}
	return st.skew.Local(c.Time, st.src.cfg.Now().Round(0))
}
