package freshness

import (
	"io"
	"net"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet-io/freshet/e2e/endpoint"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/gateway/server"
	"github.com/freshet-io/freshet/local/pgserver"
)

// Where a standby was promoted and connections lead there, the stream may still be with the old primary. Sessions of the new one see nothing of
// what only the old one has, in whatever mode, and those of the old one go on.
func TestEndpoint_afterAPromotionThatTheStreamHasNotNoticed(t *testing.T) {
	old, other := forked(t, true)
	requireApart(t, old, other)
}

// So it is where connections lead to an earlier state of the data folder, whose timeline is the same.
func TestEndpoint_afterARestoreThatTheStreamHasNotNoticed(t *testing.T) {
	old, other := forked(t, false)
	requireApart(t, old, other)
}

// requireApart requires that sessions of a server that connections lead to from now on see nothing of what only the old one has.
func requireApart(t *testing.T, old, other *pgserver.Server) {
	t.Helper()
	to := leadTo(t, old)
	r := &rig{postgres: old, engine: stand.Engine(t)}
	r.gateway = endpoint.Start(t, old, r.engine, database, func(c *server.Config) { c.PostgresURL = to.url(t, old) })
	r.gateway.AwaitTables(t, "public.counter")
	exec(t, r.direct(t), "UPDATE counter SET n = 7 WHERE id = 1")
	held := r.session(t, strong)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for got := int64(0); got != 7 || show(t, held, "freshet.last_route") != "columnar"; got = total(t, held) {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("before, a read sees %d by route %s", got, show(t, held, "freshet.last_route"))
		}
	}
	to.port.Store(int64(other.Port()))
	r.requirePostgreSQL(t, 0)
	lax := r.session(t, "SET freshet.max_staleness = '1h'")
	if got := total(t, lax); got != 0 {
		t.Errorf("a read that may be an hour old sees %d, of what the other server never had", got)
	}
	if got := total(t, held); got != 7 {
		t.Errorf("a session of the old server sees %d", got)
	}
}

// forked returns two servers of which the second has a copy of the first one's data folder, and may have been promoted from that.
func forked(t *testing.T, promoted bool) (old, other *pgserver.Server) {
	t.Helper()
	dir := stand.Dir(t)
	from, to := filepath.Join(dir, "old"), filepath.Join(dir, "other")
	old = stand.Postgres(t, func(c *pgserver.Config) { c.DataDir = from })
	exec(t, stand.Connect(t, old.URL("postgres")), "CREATE DATABASE "+database)
	direct := stand.Connect(t, old.URL(database))
	exec(t, direct, "CREATE TABLE counter (id int PRIMARY KEY, n bigint NOT NULL)")
	exec(t, direct, "INSERT INTO counter SELECT i, 0 FROM generate_series(1, 10) AS i")
	if err := old.Stop(t.Context()); err != nil { // what is copied is complete
		t.Fatal(err)
	}
	if out, err := osexec.CommandContext(t.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy the data folder: %v: %s", err, out)
	}
	if err := old.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if promoted {
		if err := os.WriteFile(filepath.Join(to, "standby.signal"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	other = stand.Postgres(t, func(c *pgserver.Config) { c.DataDir = to })
	if promoted {
		exec(t, stand.Connect(t, other.URL("postgres")), "SELECT pg_promote()")
	}
	return old, other
}

// way is an address whose new connections lead to a server's port. Those that there are stay where they are.
type way struct {
	listener net.Listener
	port     atomic.Int64
}

// leadTo opens a way to a server.
func leadTo(t *testing.T, first *pgserver.Server) *way {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{listener: listener}
	w.port.Store(int64(first.Port()))
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { w.relay(client) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		all.Wait() // the gateway, which was started later, has ended
	})
	return w
}

// relay connects a client with the server.
func (w *way) relay(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.FormatInt(w.port.Load(), 10)))
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // until one of them ends, as the other does then
			pair[0].Close()
		})
	}
	both.Wait()
}

// url is a connection string for a server's database by the way.
func (w *way) url(t *testing.T, s *pgserver.Server) string {
	t.Helper()
	u, err := url.Parse(s.URL(database))
	if err != nil {
		t.Fatal(err)
	}
	u.Host = w.listener.Addr().String()
	return u.String()
}
