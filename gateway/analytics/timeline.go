package analytics

import (
	"context"
	"fmt"
	"strconv"

	"github.com/freshet-io/freshet/gateway/pgwire"
)

// timelineSQL asks for the timeline of the log that the session's server writes; a standby writes none.
const timelineSQL = `SELECT CASE WHEN NOT pg_catalog.pg_is_in_recovery()
 THEN pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8) END`

// sameLog refuses a session whose server does not write the log that the replica follows. After a failover sessions are
// with the new primary as soon as connections lead there, while the stream may still be with the old one: connections
// to a machine that is gone without a word last for a while. What the old one had and the new one has not, no session
// of the new one may see, however old its snapshots may be.
func (r *Router) sameLog(ctx context.Context, s *pgwire.SessionInfo) error {
	followed := r.replica.Timeline()
	if followed == 0 {
		return nil
	}
	if s.Timeline == 0 {
		rows, err := s.Ask(ctx, timelineSQL)
		if err != nil {
			return fmt.Errorf("ask for the server's timeline: %w", err)
		}
		if len(rows) != 1 || len(rows[0]) != 1 {
			return fmt.Errorf("ask for the server's timeline: unexpected answer of %d rows", len(rows))
		}
		if rows[0][0] == nil {
			return &pgwire.RelayError{Reason: "the session's server is a standby"}
		}
		if s.Timeline, err = strconv.ParseUint(string(rows[0][0]), 16, 32); err != nil {
			return fmt.Errorf("ask for the server's timeline: %w", err)
		}
	}
	if s.Timeline != followed {
		return &pgwire.RelayError{Reason: fmt.Sprintf("the session's server is on timeline %d, and the replica follows %d", s.Timeline, followed)}
	}
	return nil
}
