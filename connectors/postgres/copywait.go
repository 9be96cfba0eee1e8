package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// copyWaitPeriod is how often it is asked what a copy waits for.
const copyWaitPeriod = time.Second

// holderSQL finds the transaction that a server process waits for. (Everybody may read pg_locks; the start is NULL for who may not read other roles'
// activity, and for a prepared transaction.)
const holderSQL = `SELECT h.pid, x.gid, coalesce(x.prepared, a.xact_start)
	FROM pg_locks w JOIN pg_locks h ON h.locktype = 'transactionid' AND h.transactionid = w.transactionid AND h.granted
	LEFT JOIN pg_prepared_xacts x ON x.transaction = w.transactionid
	LEFT JOIN pg_stat_activity a ON a.pid = h.pid
	WHERE w.pid = $1 AND w.locktype = 'transactionid' AND NOT w.granted LIMIT 1`

// CopyWaits says which transaction a copy waits for before it can begin: one that had written before the copy was asked for. Empty: none.
func (s *Source) CopyWaits() string {
	if why := s.copyWaits.Load(); why != nil {
		return *why
	}
	return ""
}

// tellCopyWaits has [Source.CopyWaits] tell what a server process waits for, until the returned function is called.
func (s *Source) tellCopyWaits(ctx context.Context, pid uint32) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for pauseFor(ctx, copyWaitPeriod) == nil {
			why, err := s.holder(ctx, pid)
			switch {
			case err != nil:
				s.log.Debug("asking what a copy waits for", "error", err)
				continue
			case why != "" && why != s.CopyWaits():
				s.log.Warn("a copy waits for a transaction", "holder", why)
			}
			s.copyWaits.Store(&why)
		}
	}()
	return func() {
		cancel()
		<-done
		s.copyWaits.Store(nil)
	}
}

func (s *Source) holder(ctx context.Context, pid uint32) (string, error) {
	var holder *int32
	var prepared *string
	var since *time.Time
	switch err := s.pool.QueryRow(ctx, holderSQL, pid).Scan(&holder, &prepared, &since); {
	case errors.Is(err, pgx.ErrNoRows):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("ask what server process %d waits for: %w", pid, err)
	}
	who := "a transaction of another process"
	switch {
	case prepared != nil:
		who = fmt.Sprintf("the prepared transaction %q", *prepared)
	case holder != nil:
		who = fmt.Sprintf("the transaction of server process %d", *holder)
	}
	if since != nil {
		who += ", open since " + since.UTC().Format(time.RFC3339)
	}
	return who + ": end it, and the copy begins", nil
}
