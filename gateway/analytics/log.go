package analytics

import (
	"context"
	"fmt"
	"strconv"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/pgwire"
)

// logSQL asks for the log that the session's server writes; a standby writes none.
const logSQL = `SELECT CASE WHEN NOT pg_catalog.pg_is_in_recovery()
 THEN pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8) END,
 extract(epoch FROM pg_catalog.pg_postmaster_start_time())::pg_catalog.text`

// sameLog refuses a session whose server does not write the log that the replica follows. After a failover sessions are
// with the new primary as soon as connections lead there, while the stream may still be with the old one: connections
// to a machine that is gone without a word last for a while. After a restart they are with the server before the stream has found
// out whether its data folder was put back to an earlier state. What the old one had and the new one has not, no session
// of the new one may see, however old its snapshots may be.
func (r *Router) sameLog(ctx context.Context, s *pgwire.SessionInfo) error {
	followed := r.replica.Log()
	if followed == (cdc.Log{}) {
		return nil
	}
	if s.Log == (cdc.Log{}) {
		log, err := askForLog(ctx, s)
		if err != nil {
			return err
		}
		s.Log = log
	}
	switch {
	case s.Log.Timeline != followed.Timeline:
		return &pgwire.RelayError{Reason: fmt.Sprintf("the session's server is on timeline %d, and the replica follows %d", s.Log.Timeline, followed.Timeline)}
	case s.Log != followed:
		return &pgwire.RelayError{Reason: "the session's server was started anew, and the replica has not found all there yet that it has"}
	}
	return nil
}

func askForLog(ctx context.Context, s *pgwire.SessionInfo) (cdc.Log, error) {
	rows, err := s.Ask(ctx, logSQL)
	if err != nil {
		return cdc.Log{}, fmt.Errorf("ask for the server's log: %w", err)
	}
	if len(rows) != 1 || len(rows[0]) != 2 {
		return cdc.Log{}, fmt.Errorf("ask for the server's log: unexpected answer of %d rows", len(rows))
	}
	if rows[0][0] == nil {
		return cdc.Log{}, &pgwire.RelayError{Reason: "the session's server is a standby"}
	}
	timeline, err := strconv.ParseUint(string(rows[0][0]), 16, 32)
	if err != nil {
		return cdc.Log{}, fmt.Errorf("ask for the server's log: %w", err)
	}
	return cdc.Log{Timeline: timeline, Started: string(rows[0][1])}, nil
}
