package freshness

import (
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/e2e/endpoint"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/chengine"
	"github.com/freshet-io/freshet/local/pgserver"
)

const database = "shop"

// rig is a gateway over a database with one table of counters.
type rig struct {
	postgres *pgserver.Server
	engine   *chengine.Server
	gateway  *endpoint.Endpoint
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{postgres: stand.Postgres(t), engine: stand.Engine(t)}
	admin := stand.Connect(t, r.postgres.URL("postgres"))
	exec(t, admin, "CREATE DATABASE "+database)
	direct := stand.Connect(t, r.postgres.URL(database))
	exec(t, direct, "CREATE TABLE counter (id int PRIMARY KEY, n bigint NOT NULL)")
	exec(t, direct, "INSERT INTO counter SELECT i, 0 FROM generate_series(1, 10) AS i")
	r.gateway = endpoint.Start(t, r.postgres, r.engine, database)
	r.gateway.AwaitTables(t, "public.counter")
	return r
}

// direct opens a session with PostgreSQL itself.
func (r *rig) direct(t *testing.T) *pgx.Conn { return stand.Connect(t, r.postgres.URL(database)) }

// session opens a session with the gateway and runs the given settings.
func (r *rig) session(t *testing.T, settings ...string) *pgx.Conn {
	t.Helper()
	c := stand.Connect(t, r.gateway.URL(database))
	for _, s := range settings {
		exec(t, c, s)
	}
	return c
}

// stopStream makes the change stream stand still until the returned function is called.
func (r *rig) stopStream(t *testing.T, direct *pgx.Conn) (resume func()) {
	t.Helper()
	var pid int
	if err := direct.QueryRow(t.Context(), "SELECT active_pid FROM pg_replication_slots WHERE active").Scan(&pid); err != nil {
		t.Fatalf("find the walsender: %v", err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatalf("stop the walsender: %v", err)
	}
	return func() {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Errorf("resume the walsender: %v", err)
		}
	}
}

func exec(t *testing.T, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

const readTotal = "SELECT sum(n)::bigint FROM counter"

// total reads the sum of the counters.
func total(t *testing.T, c *pgx.Conn) int64 {
	t.Helper()
	var n int64
	if err := c.QueryRow(t.Context(), readTotal).Scan(&n); err != nil {
		t.Fatalf("%s: %v", readTotal, err)
	}
	return n
}

// show reads a setting in the simple protocol.
func show(t *testing.T, c *pgx.Conn, setting string) string {
	t.Helper()
	results, err := c.PgConn().Exec(t.Context(), "SHOW "+setting).ReadAll()
	if err != nil {
		t.Fatalf("SHOW %s: %v", setting, err)
	}
	return string(results[0].Rows[0][0])
}

func quoted(n int64) string { return "'" + strconv.FormatInt(n, 10) + "ms'" }
