package pgwire_test

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/gateway/pgwire"
)

// idleLimits are the settings that end idle sessions, and how a session gets where they do.
var idleLimits = []struct{ setting, begin string }{
	{"idle_session_timeout", ""},
	{"idle_in_transaction_session_timeout", "BEGIN READ ONLY"},
}

// PostgreSQL takes a session for idle while its statement runs on the columnar replica.
func TestSession_outlivesTheTimeoutsOfIdleOnesWhileAStatementRuns(t *testing.T) {
	for _, c := range idleLimits {
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

// Nor may it be taken for idle between statements that are all too short to be kept in touch with.
func TestSession_outlivesTheTimeoutsOfIdleOnesByShortStatements(t *testing.T) {
	for _, c := range idleLimits {
		t.Run(c.setting, func(t *testing.T) {
			b := newBed(t)
			conn := connect(t, b.through)
			if c.begin != "" {
				run(t, conn, c.begin)
			}
			run(t, conn, "SET "+c.setting+" = '1s'")
			watcher := connect(t, b.direct)
			began := run(t, watcher, "SELECT now()")[0][0]
			b.waitFor(t, "the session to have run statements for longer than it may be idle", func() bool {
				run(t, conn, read)
				return run(t, watcher, fmt.Sprintf("SELECT now() > '%s'::timestamptz + interval '2500ms'", began))[0][0] == "t"
			})
		})
	}
}

func TestSession_endsWithWhatPostgreSQLEndsItBy(t *testing.T) {
	for _, c := range []struct {
		name, set, begin, end, code string
		bySocket                    bool
	}{
		{name: "terminated", end: "SELECT pg_terminate_backend(%s)", code: "57P01"},
		{name: "terminated in a block", begin: "BEGIN READ ONLY", end: "SELECT pg_terminate_backend(%s)", code: "57P01"},
		{name: "transaction timeout", set: "SET transaction_timeout = '200ms'", code: "25P04"},
		{name: "transaction timeout of a block", set: "SET transaction_timeout = '500ms'", begin: "BEGIN READ ONLY", code: "25P04"},
		{name: "terminated, by a Unix socket", end: "SELECT pg_terminate_backend(%s)", code: "57P01", bySocket: true},
		{name: "transaction timeout of a block, by a Unix socket", set: "SET transaction_timeout = '500ms'", begin: "BEGIN READ ONLY", code: "25P04", bySocket: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var change []func(*pgwire.Config)
			if c.bySocket {
				change = append(change, bySocket(t))
			}
			b := newBed(t, change...)
			conn := connect(t, b.through)
			pid := run(t, conn, "SELECT pg_backend_pid()")[0][0]
			for _, sql := range []string{c.set, c.begin} {
				if sql != "" {
					run(t, conn, sql)
				}
			}
			failed := b.hang(t, conn)
			if c.end != "" {
				run(t, connect(t, b.direct), fmt.Sprintf(c.end, pid))
			}
			err := <-failed
			wantCode(t, err, c.code)
			if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Severity != "FATAL" {
				t.Errorf("severity %s", e.Severity)
			}
			<-b.analytics.stopped
			if _, err := conn.Exec(t.Context(), "SELECT 1").ReadAll(); err == nil {
				t.Error("the session goes on")
			}
		})
	}
}

// bySocket has the gateway use PostgreSQL's Unix socket.
func bySocket(t *testing.T) func(*pgwire.Config) {
	t.Helper()
	local, err := url.Parse(shared.LocalURL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	q := local.Query()
	return func(c *pgwire.Config) {
		c.BackendNetwork, c.BackendAddress = "unix", filepath.Join(q.Get("host"), ".s.PGSQL."+q.Get("port"))
	}
}
