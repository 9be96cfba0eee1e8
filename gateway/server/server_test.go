package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/gateway/analytics"
	"github.com/freshet-io/freshet/gateway/server"
	"github.com/freshet-io/freshet/local/chengine"
	"github.com/freshet-io/freshet/local/pgserver"
)

// gateway is a gateway between a real PostgreSQL and a real engine.
type gateway struct {
	t      *testing.T
	oltp   *pgserver.Server
	engine *chengine.Server
	info   server.Info
	end    context.CancelFunc
}

// start runs a gateway on a database that the statements have prepared.
func start(t *testing.T, prepare ...string) *gateway {
	t.Helper()
	return startWith(t, func(*server.Config) {}, prepare...)
}

// startWith is start with a configuration that the test changes.
func startWith(t *testing.T, change func(*server.Config), prepare ...string) *gateway {
	t.Helper()
	g := startUnready(t, change, prepare...)
	g.await(func(s server.Status) bool { return s.Ready })
	return g
}

// startUnready is startWith for tests that do not ask whether the gateway is ready.
func startUnready(t *testing.T, change func(*server.Config), prepare ...string) *gateway {
	t.Helper()
	g := &gateway{t: t, oltp: stand.Postgres(t), engine: stand.Engine(t)}
	direct := g.connect(g.oltp.URL("postgres"))
	for _, sql := range prepare {
		exec(t, direct, sql)
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.end = cancel
	ready, ended := make(chan server.Info, 1), make(chan error, 1)
	cfg := server.Config{
		Listen: "127.0.0.1:0", MonitorListen: "127.0.0.1:0", PostgresURL: g.oltp.URL("postgres"),
		EngineAddr: g.engine.TCPAddr(), EngineUser: g.engine.User, EnginePassword: g.engine.Password,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		// A busy machine's replica may be seconds behind: no reason to leave it here.
		Route: analytics.Config{LagLimit: time.Minute},
	}
	change(&cfg)
	go func() { ended <- server.Run(ctx, cfg, func(i server.Info) { ready <- i }) }()
	select {
	case g.info = <-ready:
	case err := <-ended:
		t.Fatalf("gateway ended at once: %v", err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("gateway ended with %v", err)
		}
	})
	return g
}

// await waits until the gateway's status is as wanted.
func (g *gateway) await(ok func(server.Status) bool) {
	g.t.Helper()
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok(g.info.Status()) {
		if time.Now().After(deadline) {
			g.t.Fatalf("status is still %+v", g.info.Status())
		}
		<-tick.C
	}
}

func (g *gateway) connect(dsn string) *pgx.Conn {
	g.t.Helper()
	conn, err := pgx.Connect(g.t.Context(), dsn)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// client connects to the endpoint.
func (g *gateway) client() *pgx.Conn { return g.clientOf(nil) }

// clientOf connects to the endpoint as a user; nil: the superuser.
func (g *gateway) clientOf(user *url.Userinfo) *pgx.Conn {
	u, err := url.Parse(g.oltp.URL("postgres"))
	if err != nil {
		g.t.Fatal(err)
	}
	u.Host = g.info.Addr.String()
	if user != nil {
		u.User = user
	}
	return g.connect(u.String())
}

// routes connects to the endpoint once for each route, of which it takes no other.
func (g *gateway) routes() (columnar, oltp *pgx.Conn) {
	columnar, oltp = g.client(), g.client()
	exec(g.t, columnar, "SET freshet.route = columnar")
	exec(g.t, oltp, "SET freshet.route = oltp")
	return columnar, oltp
}

func exec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// query returns the rows in PostgreSQL's text format, values divided by "|".
func query(t *testing.T, conn *pgx.Conn, sql string, args ...string) []string {
	t.Helper()
	params := make([][]byte, len(args))
	for i, a := range args {
		params[i] = []byte(a)
	}
	result := conn.PgConn().ExecParams(context.Background(), sql, params, nil, nil, nil).Read()
	if result.Err != nil {
		t.Fatalf("%s: %v", sql, result.Err)
	}
	return texts(result.Rows)
}

func texts(rows [][][]byte) []string {
	var out []string
	for _, row := range rows {
		out = append(out, string(bytes.Join(row, []byte("|"))))
	}
	return out
}

// wantSameAnswer compares what the replica answers with what PostgreSQL does.
func wantSameAnswer(t *testing.T, columnar, oltp *pgx.Conn, sql string) {
	t.Helper()
	if want, got := query(t, oltp, sql), query(t, columnar, sql); !slices.Equal(got, want) {
		t.Errorf("%s: %v, PostgreSQL says %v", sql, got, want)
	}
}

// outcome returns the rows as query does, but with NULLs told from empty strings, or the SQLSTATE of a statement that
// is refused.
func outcome(t *testing.T, c *pgx.Conn, sql string) []string {
	t.Helper()
	result := c.PgConn().ExecParams(t.Context(), sql, nil, nil, nil, nil).Read()
	if refused, ok := errors.AsType[*pgconn.PgError](result.Err); ok {
		return []string{"SQLSTATE " + refused.Code}
	}
	if result.Err != nil {
		t.Fatalf("%.100s: %v", sql, result.Err)
	}
	for _, row := range result.Rows {
		for i, v := range row {
			if v == nil {
				row[i] = []byte("NULL")
			}
		}
	}
	return texts(result.Rows)
}

// wantSameOutcome does so for a statement that PostgreSQL may refuse, by the SQLSTATE then.
func wantSameOutcome(t *testing.T, c, oltp *pgx.Conn, sql string) {
	t.Helper()
	if want, got := outcome(t, oltp, sql), outcome(t, c, sql); !slices.Equal(got, want) {
		t.Errorf("%.100s: %.200v, PostgreSQL says %.200v", sql, got, want)
	}
}

func one(t *testing.T, conn *pgx.Conn, sql string, args ...string) string {
	t.Helper()
	rows := query(t, conn, sql, args...)
	if len(rows) != 1 {
		t.Fatalf("%s: %d rows", sql, len(rows))
	}
	return rows[0]
}

const accounts = `CREATE TABLE account (id int PRIMARY KEY, branch int NOT NULL, balance bigint NOT NULL);
INSERT INTO account SELECT i, i % 10, 100 FROM generate_series(1, 1000) i`

func TestGateway_answersFromTheReplicaWhatPostgreSQLWouldAnswer(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	c := g.client()
	exec(t, c, "SET freshet.route = columnar")
	got := query(t, c, "SELECT branch, count(*), sum(balance) FROM account GROUP BY branch HAVING branch < $1 ORDER BY branch", "2")
	if want := []string{"0|100|10000", "1|100|10000"}; strings.Join(got, ";") != strings.Join(want, ";") {
		t.Errorf("got %v, want %v", got, want)
	}
	if r := one(t, c, "SHOW freshet.last_route"); r != "columnar" {
		t.Errorf("last route is %q", r)
	}
}

func TestGateway_sessionSeesItsOwnWrites(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	c := g.client()
	for i := range 50 {
		exec(t, c, fmt.Sprintf("INSERT INTO account VALUES (%d, 77, 1)", 2000+i))
		if got, want := one(t, c, "SELECT count(*) FROM account WHERE branch = 77"), fmt.Sprint(i+1); got != want {
			t.Fatalf("after %d inserts the session counts %s", i+1, got)
		}
		if r := one(t, c, "SHOW freshet.last_route"); r != "columnar" {
			t.Fatalf("last route is %q: %s", r, one(t, c, "SHOW freshet.last_reason"))
		}
	}
}

func TestGateway_readOnlyTransactionHoldsOneSnapshot(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	reader, writer := g.client(), g.client()
	exec(t, reader, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	before := one(t, reader, "SELECT sum(balance), count(*) FROM account")
	exec(t, writer, "UPDATE account SET balance = balance + 1")
	exec(t, writer, "DELETE FROM account WHERE branch = 3")
	if after := one(t, writer, "SELECT sum(balance), count(*) FROM account"); after == before {
		t.Errorf("writer does not see its own writes: %s", after)
	}
	if again := one(t, reader, "SELECT sum(balance), count(*) FROM account"); again != before {
		t.Errorf("the transaction saw %s, then %s", before, again)
	}
	exec(t, reader, "COMMIT")
	if now := one(t, writer, "SELECT count(*) FROM account"); now != "900" {
		t.Errorf("count is %s", now)
	}
}

func TestGateway_tokenMakesAnotherSessionSeeTheWrite(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	writer, reader := g.client(), g.client()
	exec(t, writer, "UPDATE account SET balance = 0 WHERE branch = 5")
	_ = one(t, writer, "SELECT sum(balance) FROM account")
	token := one(t, writer, "SHOW freshet.snapshot")
	exec(t, reader, "SET freshet.min_snapshot = '"+token+"'")
	exec(t, reader, "SET freshet.freshness = eventual")
	if got := one(t, reader, "SELECT sum(balance) FROM account"); got != "90000" {
		t.Errorf("sum is %s, want 90000", got)
	}
}

func TestGateway_servesItsClientsUntilTheyLeave(t *testing.T) {
	t.Parallel()
	g := startWith(t, func(cfg *server.Config) { cfg.Drain = time.Minute }, "CREATE TABLE item(id int PRIMARY KEY)", "INSERT INTO item VALUES (1)")
	c := g.client()
	exec(t, c, "SET freshet.freshness = 'strong'")
	exec(t, c, "SET freshet.route = 'columnar'")
	g.end()
	g.await(func(s server.Status) bool { return s.Ready }) // and stays so for a load balancer that has no other
	exec(t, c, "INSERT INTO item VALUES (2)")
	if got := one(t, c, "SELECT count(*) FROM item"); got != "2" {
		t.Errorf("count %s, want 2", got)
	}
}

func TestGateway_checksPrivilegesOfTheSessionsUser(t *testing.T) {
	t.Parallel()
	g := start(t, accounts, "CREATE ROLE clerk LOGIN PASSWORD 'clerk'")
	admin, c := g.client(), g.client()
	exec(t, c, "SET ROLE clerk")
	_, err := c.Exec(t.Context(), "SELECT sum(balance) FROM account")
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || pgErr.Code != "42501" {
		t.Errorf("without a grant: %v, want 42501", err)
	}
	exec(t, admin, "GRANT SELECT ON account TO clerk")
	exec(t, c, "SET freshet.freshness = strong")
	if got := one(t, c, "SELECT sum(balance) FROM account"); got != "100000" {
		t.Errorf("sum is %s", got)
	}
	exec(t, admin, "REVOKE SELECT ON account FROM clerk")
	if _, err := c.Exec(t.Context(), "SELECT sum(balance) FROM account"); !errors.As(err, &pgErr) || pgErr.Code != "42501" {
		t.Errorf("after the revoke: %v, want 42501", err)
	}
}

func TestGateway_followsSchemaChanges(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	c := g.client()
	for _, step := range []struct{ ddl, read, want string }{
		{"ALTER TABLE account ADD COLUMN note text DEFAULT 'x'", "SELECT count(note) FROM account", "1000"},
		{"ALTER TABLE account RENAME COLUMN balance TO amount", "SELECT sum(amount) FROM account", "100000"},
		{"ALTER TABLE account DROP COLUMN note", "SELECT count(*) FROM account", "1000"},
		{"CREATE TABLE extra (id int PRIMARY KEY, v int); INSERT INTO extra VALUES (1, 2), (2, 3)", "SELECT sum(v) FROM extra", "5"},
		{"TRUNCATE account", "SELECT count(*) FROM account", "0"},
	} {
		exec(t, c, step.ddl)
		if got := one(t, c, step.read); got != step.want {
			t.Errorf("after %s: %s is %s, want %s", step.ddl, step.read, got, step.want)
		}
	}
	exec(t, c, "SET freshet.freshness = strong")
	g.await(func(server.Status) bool {
		_ = one(t, c, "SELECT sum(v) FROM extra")
		return one(t, c, "SHOW freshet.last_route") == "columnar"
	})
}

func TestGateway_describesAResultAsItsColumnsAreNow(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	c, admin := g.client(), g.client()
	exec(t, c, "SET freshet.freshness = strong")
	columnar := func(sql, name string) {
		t.Helper()
		deadline := time.Now().Add(10 * time.Second)
		for {
			results, err := c.PgConn().Exec(t.Context(), sql).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			if got := results[0].FieldDescriptions[0].Name; got != name {
				t.Errorf("%s returns a column %q, want %q", sql, got, name)
			}
			switch route := one(t, c, "SHOW freshet.last_route"); {
			case route == "columnar":
				return
			case time.Now().After(deadline):
				t.Fatalf("%s is still answered by PostgreSQL", sql)
			}
		}
	}
	columnar("SELECT sum(balance) FROM account", "sum")
	columnar("SELECT * FROM (SELECT balance, count(*) FROM account GROUP BY balance) b", "balance")
	exec(t, admin, "ALTER TABLE account ALTER COLUMN balance TYPE numeric(20)") // of which the sum is of another type
	columnar("SELECT sum(balance) FROM account", "sum")
	exec(t, admin, "CREATE VIEW balances AS SELECT balance, count(*) FROM account GROUP BY balance")
	columnar("SELECT * FROM balances", "balance")
	exec(t, admin, "ALTER VIEW balances RENAME COLUMN balance TO amount")
	columnar("SELECT * FROM balances", "amount")
	exec(t, admin, "CREATE TABLE wide (id int PRIMARY KEY, v int); INSERT INTO wide SELECT i, i FROM generate_series(1, 100) i")
	columnar("SELECT * FROM wide ORDER BY 1", "id")
	exec(t, admin, "ALTER TABLE wide RENAME COLUMN id TO key")
	columnar("SELECT * FROM wide ORDER BY 1", "key")
}

func TestGateway_readsPointsFromPostgreSQLUnlessTheSnapshotMatters(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	c := g.client()
	const point = "SELECT balance FROM account WHERE id = 7"
	for _, step := range []struct{ before, route string }{
		{"SET freshet.route = auto", "oltp"},
		{"SET freshet.route = columnar", "columnar"},
		{"SET freshet.route = auto", "oltp"},
	} {
		exec(t, c, step.before)
		_ = one(t, c, "SELECT count(*) FROM account") // leaves a columnar last_route behind
		if got := one(t, c, point); got != "100" {
			t.Errorf("balance is %s", got)
		}
		if step.route == "columnar" {
			if r := one(t, c, "SHOW freshet.last_route"); r != step.route {
				t.Errorf("after %s the route is %s", step.before, r)
			}
		}
	}
	exec(t, c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	_ = one(t, c, "SELECT count(*) FROM account")
	if got := one(t, c, point); got != "100" {
		t.Errorf("balance in the block is %s", got)
	}
	exec(t, c, "COMMIT")
	if got := one(t, c, "SELECT 1"); got != "1" {
		t.Errorf("SELECT 1 is %s", got)
	}
}
