package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/gateway/server"
)

// TestGateway_leavesTheReplicaWhileACommitWaitsForAStandby has a commit in the stream that nobody else sees yet: until it is visible, the
// source cannot confirm any table's definition.
func TestGateway_leavesTheReplicaWhileACommitWaitsForAStandby(t *testing.T) {
	t.Parallel()
	g := startWith(t, func(c *server.Config) { c.Route.LagLimit = time.Second }, accounts, "CREATE TABLE other (id int PRIMARY KEY)")
	auto, columnar, direct, writer := g.client(), g.client(), g.connect(g.oltp.URL("postgres")), g.connect(g.oltp.URL("postgres"))
	exec(t, columnar, "SET freshet.route = columnar")
	exec(t, direct, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	exec(t, direct, "SELECT pg_reload_conf()")
	exec(t, writer, "SET synchronous_commit = on")
	enough, committed := make(chan struct{}), make(chan error, 1)
	go func() { // until one waits: the server takes its time over the setting
		for i := 0; ; i++ {
			select {
			case <-enough:
				committed <- nil
				return
			default:
			}
			if _, err := writer.Exec(context.Background(), fmt.Sprintf("INSERT INTO other VALUES (%d)", i)); err != nil {
				committed <- err
				return
			}
		}
	}()
	g.await(func(server.Status) bool {
		return one(t, direct, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "1"
	})
	const sum = "SELECT sum(balance) FROM account"
	exec(t, auto, "SET freshet.freshness = strong") // the snapshot has the commit
	exec(t, auto, "SET statement_timeout = '1min'")
	if got := one(t, auto, sum); got != "100000" {
		t.Errorf("the sum is %s", got)
	}
	if route, why := one(t, auto, "SHOW freshet.last_route"), one(t, auto, "SHOW freshet.last_reason"); route != "oltp" || !strings.Contains(why, "definitions") {
		t.Errorf("the last route is %q: %s", route, why)
	}
	exec(t, columnar, "SET freshet.freshness = strong")
	exec(t, columnar, "SET statement_timeout = '2s'")
	_, err := columnar.Exec(t.Context(), sum)
	if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != "57014" {
		t.Errorf("a session that insists on the replica got %v, want it to wait until its statement_timeout", err)
	}
	close(enough)
	exec(t, direct, "ALTER SYSTEM RESET synchronous_standby_names")
	exec(t, direct, "SELECT pg_reload_conf()")
	if err := <-committed; err != nil {
		t.Errorf("insert: %v", err)
	}
	if got := one(t, columnar, sum); got != "100000" {
		t.Errorf("afterwards the sum is %s", got)
	}
}
