package server_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/gateway/server"
)

func TestGateway_relaysWhileTheEngineIsDown(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	c := g.client()
	if err := g.engine.Kill(); err != nil {
		t.Fatal(err)
	}
	if got := one(t, c, "SELECT sum(balance) FROM account"); got != "100000" {
		t.Errorf("sum is %s", got)
	}
	if r := one(t, c, "SHOW freshet.last_route"); r != "oltp" {
		t.Errorf("last route is %q", r)
	}
	exec(t, c, "SET freshet.route = columnar")
	_, err := c.Exec(t.Context(), "SELECT sum(balance) FROM account")
	if _, ok := errors.AsType[*pgconn.PgError](err); !ok {
		t.Errorf("columnar only without an engine: %v", err)
	}
	if err := g.engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.await(func(s server.Status) bool { return s.Ready && phase(s, "public.account") == "ready" })
	g.await(func(server.Status) bool { // the stream has to show first that PostgreSQL has all that the replica has
		return outcome(t, c, "SELECT sum(balance) FROM account")[0] != "SQLSTATE 0A000"
	})
	if got := one(t, c, "SELECT sum(balance) FROM account"); got != "100000" {
		t.Errorf("sum after the engine came back is %s", got)
	}
}

func TestGateway_noticesAnEngineThatIsAwayWhileNothingChanges(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	signal := func(s syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(g.engine.PID(), s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	t.Cleanup(func() { _ = syscall.Kill(g.engine.PID(), syscall.SIGCONT) }) // it is to end in order
	g.await(func(s server.Status) bool { return !s.Ready && s.Problem != "" })
	signal(syscall.SIGCONT)
	g.await(func(s server.Status) bool { return s.Ready && s.Problem == "" })
	if err := g.engine.Kill(); err != nil {
		t.Fatal(err)
	}
	g.await(func(s server.Status) bool { return !s.Ready })
	if err := g.engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.await(func(s server.Status) bool { return s.Ready && s.Problem == "" })
}

// A query that the engine has when it freezes is answered by PostgreSQL, or fails if it insists on the replica.
func TestGateway_takesQueriesBackFromAnEngineThatHangs(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	auto, columnar := g.client(), g.client()
	const sum = "SELECT sum(balance) FROM account"
	for _, c := range []*pgx.Conn{auto, columnar} {
		exec(t, c, "SET freshet.freshness = eventual") // which does not care that the replica falls behind meanwhile
		one(t, c, sum)
	}
	exec(t, columnar, "SET freshet.route = columnar")
	if err := syscall.Kill(g.engine.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(g.engine.PID(), syscall.SIGCONT) })
	failed := make(chan error, 1)
	go func() {
		_, err := columnar.Exec(t.Context(), sum+" WHERE id > 1")
		failed <- err
	}()
	if got := one(t, auto, sum+" WHERE id > 0"); got != "100000" {
		t.Errorf("sum is %s", got)
	}
	if r := one(t, auto, "SHOW freshet.last_route"); r != "oltp" {
		t.Errorf("last route is %q", r)
	}
	var pgErr *pgconn.PgError
	if err := <-failed; !errors.As(err, &pgErr) || pgErr.Code != "55000" {
		t.Errorf("columnar only: %v, want 55000", err)
	}
}

// What is to be published by an engine that hangs is not waited for: neither by a session that is content with what there is, nor for ever by one that
// insists on the replica; nor is what the engine knows of a time zone.
func TestGateway_waitsForNoSnapshotOfAnEngineThatHangs(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	auto, zoned, columnar, block := g.client(), g.client(), g.client(), g.client()
	const sum = "SELECT sum(balance) FROM account"
	for _, c := range []*pgx.Conn{auto, zoned, columnar, block} {
		one(t, c, sum)
	}
	exec(t, zoned, "SET timezone = 'Europe/Zurich'")
	exec(t, columnar, "SET freshet.route = columnar")
	if err := syscall.Kill(g.engine.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(g.engine.PID(), syscall.SIGCONT) })
	exec(t, g.client(), "UPDATE account SET balance = balance + 1 WHERE id = 1")
	failed := make(chan error, 1)
	go func() { // no query is the first one, whose result may be there yet
		_, err := columnar.Exec(t.Context(), sum+" WHERE id < 1001")
		failed <- err
	}()
	if got := one(t, auto, sum+" WHERE id > 0"); got != "100001" {
		t.Errorf("sum is %s", got)
	}
	if got := one(t, zoned, "SELECT count(*) FROM account WHERE date_trunc('day', now()) < now()"); got != "1000" {
		t.Errorf("count is %s", got)
	}
	exec(t, block, "BEGIN READ ONLY")
	if got := one(t, block, sum+" WHERE id > -1"); got != "100001" {
		t.Errorf("sum in a block is %s", got)
	}
	var pgErr *pgconn.PgError
	if err := <-failed; !errors.As(err, &pgErr) || pgErr.Code != "55000" {
		t.Errorf("columnar only: %v, want 55000", err)
	}
}
