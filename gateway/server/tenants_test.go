package server_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/gateway/server"
	"github.com/freshet-io/freshet/gateway/shares"
)

const clerk = `CREATE ROLE clerk LOGIN PASSWORD 'clerk'; GRANT SELECT ON account TO clerk`

// tenantsFile is a file of tenants that a test writes.
type tenantsFile string

func (f tenantsFile) write(t *testing.T, content string) {
	t.Helper()
	// As whole files are replaced: never half of one is read.
	next := string(f) + ".next"
	if err := errors.Join(os.WriteFile(next, []byte(content), 0o600), os.Rename(next, string(f))); err != nil {
		t.Fatal(err)
	}
}

// inForce writes the file and waits until the gateway says that it uses it.
func (f tenantsFile) inForce(t *testing.T, g *gateway, content string) {
	t.Helper()
	f.write(t, content)
	g.await(func(s server.Status) bool {
		return s.Tenants.Digest == shares.Digest([]byte(content)) && s.Tenants.Problem == ""
	})
}

func startWithTenants(t *testing.T, prepare ...string) (*gateway, tenantsFile) {
	t.Helper()
	file := tenantsFile(filepath.Join(t.TempDir(), "tenants.yaml"))
	g := startWith(t, func(cfg *server.Config) { cfg.TenantsFile = string(file) }, append(prepare, clerk)...)
	return g, file
}

func TestGateway_tenantsFreshnessReachesRunningSessions(t *testing.T) {
	t.Parallel()
	g, file := startWithTenants(t, accounts)
	c := g.clientOf(url.UserPassword("clerk", "clerk"))
	other := g.client()
	check := func(mode, staleness string) {
		t.Helper()
		if got := one(t, c, "SHOW freshet.freshness") + " " + one(t, c, "SHOW freshet.max_staleness"); got != mode+" "+staleness {
			t.Errorf("the session's freshness is %s, want %s %s", got, mode, staleness)
		}
		if lines := strings.Join(query(t, c, "EXPLAIN (FRESHET) SELECT sum(balance) FROM account"), "\n"); !strings.Contains(lines, "Freshness: "+mode) {
			t.Errorf("explained as\n%s\nwant freshness %s", lines, mode)
		}
	}
	check("bounded", "1s")
	file.inForce(t, g, "tenants: [{name: office, users: [clerk], freshness: {mode: strong}}]")
	check("strong", "1s")
	file.inForce(t, g, "tenants: [{name: office, users: [clerk], freshness: {maxStaleness: 7s}}]")
	check("bounded", "7s")
	if got := one(t, other, "SHOW freshet.max_staleness"); got != "1s" {
		t.Errorf("another tenant's session has %s", got)
	}
	file.write(t, "tenants: [{name: office, user: [clerk]}]")
	g.await(func(s server.Status) bool { return strings.Contains(s.Tenants.Problem, `unknown field "user"`) })
	check("bounded", "7s")
	exec(t, c, "SET freshet.freshness = eventual")
	file.inForce(t, g, "tenants: [{name: office, users: [clerk], freshness: {mode: strong, maxStaleness: 3s}}]")
	check("eventual", "3s")
}

func TestGateway_limitsEndStatementsWithAnErrorAndNotOnPostgreSQL(t *testing.T) {
	t.Parallel()
	g, file := startWithTenants(t, accounts)
	c, other := g.clientOf(url.UserPassword("clerk", "clerk")), g.client()
	// Some 10^9 pairs: seconds in the engine, and as many groups as it has memory for.
	const long = "SELECT count(*) FROM account a, account b, account c WHERE a.balance + b.balance + c.id % 7 > 5"
	const large = "SELECT count(*) FROM (SELECT a.id, b.id FROM account a, account b GROUP BY a.id, b.id) AS pairs"
	for _, tc := range []struct{ limits, sql, code, hint string }{
		{"{time: 200ms}", long, "57014", "limit time"},
		{"{memory: 20Mi}", large, "53200", "limit memory"},
	} {
		file.inForce(t, g, "tenants: [{name: office, users: [clerk], limits: "+tc.limits+"}]")
		_, err := c.Exec(t.Context(), tc.sql)
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != tc.code || !strings.Contains(e.Hint, tc.hint) || !strings.Contains(e.Message, "office") {
			t.Errorf("with limits %s: %v, want %s", tc.limits, err, tc.code)
		}
		if got := one(t, c, "SELECT sum(balance) FROM account"); got != "100000" {
			t.Errorf("a small statement within %s gives %s", tc.limits, got)
		}
		if r := one(t, c, "SHOW freshet.last_route"); r != "columnar" {
			t.Errorf("a small statement within %s ran on %s", tc.limits, r)
		}
	}
	if got := one(t, other, large); got != "1000000" {
		t.Errorf("another tenant's statement gives %s", got)
	}
}

func TestGateway_refusesMoreThanATenantMayQueue(t *testing.T) {
	t.Parallel()
	g, file := startWithTenants(t, accounts)
	file.inForce(t, g, "tenants: [{name: office, users: [clerk], limits: {concurrency: 1, queue: 1}}]")
	const long = "SELECT count(*) FROM account a, account b, account c, account d WHERE a.balance + b.balance + c.id + d.id % 7 > $1"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// Of three that arrive in whatever order one runs, one waits and one is refused: the only one to end.
	results := make(chan error, 3)
	for i := range 3 {
		c := g.clientOf(url.UserPassword("clerk", "clerk"))
		go func() { _, err := c.Exec(ctx, long, i); results <- err }()
	}
	var e *pgconn.PgError
	if err := <-results; !errors.As(err, &e) || e.Code != "53400" || !strings.Contains(e.Hint, "queue") {
		t.Errorf("the first to end: %v, want 53400", err)
	}
	if got := one(t, g.client(), "SELECT sum(balance) FROM account"); got != "100000" {
		t.Errorf("another tenant's sum is %s", got)
	}
	cancel()
	for range 2 {
		if err := <-results; err == nil {
			t.Error("a statement of hours was answered")
		}
	}
	c := g.clientOf(url.UserPassword("clerk", "clerk"))
	deadline := time.Now().Add(time.Minute)
	for {
		_, err := c.Exec(t.Context(), "SELECT sum(balance) FROM account")
		if err == nil {
			break
		}
		if !errors.As(err, &e) || e.Code != "53400" || time.Now().After(deadline) {
			t.Fatalf("after the others had gone: %v", err)
		}
	}
}
