package server_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/server"
)

// TestGateway_goesOnWhenAPersonHasActed takes a privilege away that the stream needs, and gives it back.
func TestGateway_goesOnWhenAPersonHasActed(t *testing.T) {
	t.Parallel()
	g := startWith(t, func(c *server.Config) {
		u, err := url.Parse(c.PostgresURL)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword("units", "units")
		c.PostgresURL = u.String()
	}, "CREATE ROLE units LOGIN REPLICATION PASSWORD 'units'", "GRANT CREATE ON DATABASE postgres TO units", accounts, "ALTER TABLE account OWNER TO units")
	direct := g.connect(g.oltp.URL("postgres"))
	// The copy may be there before the stream is.
	exec(t, direct, `DO $$ BEGIN
		WHILE NOT EXISTS (SELECT FROM pg_stat_replication r JOIN pg_replication_slots s ON s.active_pid = r.pid WHERE s.slot_name = 'freshet' AND r.state = 'streaming')
		LOOP PERFORM pg_sleep(0.01), pg_stat_clear_snapshot(); END LOOP;
	END $$`)
	exec(t, direct, "ALTER ROLE units NOREPLICATION")
	exec(t, direct, "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = 'freshet'")
	g.await(func(s server.Status) bool { return s.Stopped != nil })
	if code := g.info.Status().Stopped.Code; code != cdc.CodePrivilege {
		t.Errorf("the replica stopped with %s, want %s", code, cdc.CodePrivilege)
	}
	c := g.client()
	one(t, c, "SELECT sum(balance) FROM account")
	if why := one(t, c, "SHOW freshet.last_reason"); !strings.HasPrefix(why, "the replica is not ready: replication is stopped (InsufficientPrivilege: ") {
		t.Errorf("the session is told %q", why)
	}
	exec(t, direct, "INSERT INTO account VALUES (0, 0, 100)")
	exec(t, direct, "ALTER ROLE units REPLICATION")
	g.await(func(s server.Status) bool {
		return s.Stopped == nil && s.Ready && phase(s, "public.account") == "ready"
	})
	columnar := g.client()
	exec(t, columnar, "SET freshet.route = columnar")
	if got := one(t, columnar, "SELECT sum(balance) FROM account"); got != "100100" {
		t.Errorf("the sum is %s", got)
	}
}
