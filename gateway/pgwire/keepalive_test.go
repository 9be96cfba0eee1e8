package pgwire_test

import (
	"fmt"
	"testing"
)

// PostgreSQL takes a session for idle while its statement runs on the columnar replica.
func TestSession_outlivesTheTimeoutsOfIdleOnesWhileAStatementRuns(t *testing.T) {
	for _, c := range []struct{ setting, begin string }{
		{"idle_session_timeout", ""},
		{"idle_in_transaction_session_timeout", "BEGIN READ ONLY"},
	} {
		t.Run(c.setting, func(t *testing.T) {
			b := newBed(t)
			conn := connect(t, b.through)
			pid := run(t, conn, "SELECT pg_backend_pid()")[0][0]
			if c.begin != "" {
				run(t, conn, c.begin)
			}
			run(t, conn, "SET "+c.setting+" = '1s'")
			failed := b.hang(t, conn)
			watcher := connect(t, b.direct)
			began := run(t, watcher, "SELECT now()")[0][0]
			b.waitFor(t, "the session to be there long after it would have been ended", func() bool {
				rows := run(t, watcher, fmt.Sprintf("SELECT state_change > '%s'::timestamptz + interval '2500ms' FROM pg_stat_activity WHERE pid = %s", began, pid))
				if len(rows) == 0 {
					t.Fatal("PostgreSQL has ended the session")
				}
				return rows[0][0] == "t"
			})
			if err := conn.CancelRequest(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantCode(t, <-failed, "57014")
			<-b.analytics.stopped
			if c.begin != "" {
				run(t, conn, "ROLLBACK")
			}
			run(t, conn, "RESET "+c.setting)
			run(t, conn, read)
		})
	}
}
