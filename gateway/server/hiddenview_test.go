package server_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet-io/freshet/gateway/server"
)

// What another session was told before the view was made says nothing of it.
func TestGateway_sessionSeesWritesOfAViewThatItHasJustMade(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64 // of the clock, so that what was told in one round is forgotten in the next
	g := startWith(t, func(c *server.Config) {
		c.Clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	}, accounts)
	c, other, oltp := g.client(), g.client(), g.client()
	exec(t, oltp, "SET freshet.route = oltp")
	exec(t, c, "SET freshet.max_staleness = '1h'")
	exec(t, other, "CREATE FUNCTION addall() RETURNS int LANGUAGE sql AS 'UPDATE account SET balance = balance + 1; SELECT 1'")
	const sum = "SELECT sum(balance) FROM account"
	for range 16 { // one time the replica is fast enough
		ahead.Add(int64(time.Minute))
		_ = query(t, other, "SELECT xmlagg(xmlelement(name x)) IS NULL FROM account")
		_ = query(t, other, "SELECT count(*) FROM account")
		exec(t, c, "CREATE VIEW chores AS SELECT addall()")
		_ = query(t, c, sum)
		_ = query(t, c, "SELECT * FROM chores")
		wantSameAnswer(t, c, oltp, sum)
		exec(t, oltp, "DROP VIEW chores")
	}
	if r := one(t, c, "SHOW freshet.last_route"); r != "columnar" {
		t.Errorf("the last route is %q: %s", r, one(t, c, "SHOW freshet.last_reason"))
	}
}
