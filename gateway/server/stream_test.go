package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/gateway/server"
)

// A block that imports a snapshot reads what the session that exported it does.
func TestGateway_readsTheSnapshotThatABlockImports(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	direct, c := g.connect(g.oltp.URL("postgres")), g.client()
	exec(t, c, "SET freshet.freshness = strong")
	const sum = "SELECT sum(balance) FROM account"
	for _, opening := range [][]string{
		{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "SET TRANSACTION SNAPSHOT '%s'"},
		{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SET TRANSACTION SNAPSHOT '%s'", "SET TRANSACTION READ ONLY"},
		{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT '%s'"},
	} {
		exec(t, direct, "BEGIN ISOLATION LEVEL REPEATABLE READ")
		snapshot, want := one(t, direct, "SELECT pg_export_snapshot()"), one(t, direct, sum)
		exec(t, g.client(), "UPDATE account SET balance = balance + 1 WHERE id = 1")
		if got := one(t, c, sum); got == want {
			t.Fatalf("strong does not see the update: %s", got)
		}
		for _, sql := range opening {
			if n := len("'%s'"); len(sql) > n && sql[len(sql)-n:] == "'%s'" {
				sql = fmt.Sprintf(sql, snapshot)
			}
			if _, err := c.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
				t.Fatal(err)
			}
		}
		if got := one(t, c, sum); got != want {
			t.Errorf("after %q the sum is %s, the snapshot has %s", opening, got, want)
		}
		exec(t, c, "COMMIT")
		exec(t, direct, "COMMIT")
	}
}

// In a block on a columnar snapshot the session's own settings can be read and set.
func TestGateway_tellsOfTheSnapshotWithinABlock(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	c := g.client()
	exec(t, c, "SET freshet.freshness = strong")
	exec(t, c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	exec(t, c, "SET LOCAL freshet.min_snapshot = '0/1'")
	_ = one(t, c, "SELECT sum(balance) FROM account")
	if got := one(t, c, "SHOW freshet.snapshot"); !strings.Contains(got, "/") {
		t.Errorf("the snapshot is %q", got)
	}
	if r := one(t, c, "SHOW freshet.last_route"); r != "columnar" {
		t.Errorf("last route is %q: %s", r, one(t, c, "SHOW freshet.last_reason"))
	}
}

// What the publication leaves out is never missed, also not before the gateway has put it right.
func TestGateway_missesNothingThatThePublicationLeavesOut(t *testing.T) {
	t.Parallel()
	g := start(t, "CREATE TABLE item (id int PRIMARY KEY, v int); INSERT INTO item VALUES (1, 1)")
	direct, c := g.connect(g.oltp.URL("postgres")), g.client()
	exec(t, c, "SET freshet.freshness = strong")
	const sql = "SELECT count(*), sum(v) FROM item"
	for i := range 12 {
		change := []string{
			"ALTER PUBLICATION freshet DROP TABLE item; INSERT INTO item VALUES (%d, 10)",
			"ALTER PUBLICATION freshet DROP TABLE item; INSERT INTO item VALUES (%d, 10); ALTER PUBLICATION freshet ADD TABLE item; UPDATE item SET v = v + 1 WHERE id = 1",
			"ALTER PUBLICATION freshet SET (publish = 'insert'); UPDATE item SET v = v + %d",
		}[i%3]
		if _, err := direct.PgConn().Exec(t.Context(), fmt.Sprintf(change, 100+i)).ReadAll(); err != nil {
			t.Fatal(err)
		}
		if want, got := query(t, direct, sql)[0], query(t, c, sql)[0]; got != want {
			t.Errorf("after %q: %s, PostgreSQL has %s", change, got, want)
		}
		g.await(func(s server.Status) bool {
			const whole = "SELECT count(*) FROM pg_publication_tables t JOIN pg_publication p USING (pubname) WHERE tablename = 'item' AND pubupdate"
			return one(t, direct, whole) == "1" && phase(s, "public.item") == "ready"
		})
	}
}

// Nor where a lock keeps the gateway from putting it right.
func TestGateway_missesNothingWhileAPublicationCannotBePutRight(t *testing.T) {
	t.Parallel()
	g := start(t, "CREATE TABLE item (id int PRIMARY KEY, v int); INSERT INTO item VALUES (1, 1)")
	direct, holder, c := g.connect(g.oltp.URL("postgres")), g.connect(g.oltp.URL("postgres")), g.client()
	exec(t, c, "SET freshet.freshness = strong")
	exec(t, direct, "ALTER PUBLICATION freshet DROP TABLE item")
	exec(t, holder, "BEGIN")
	exec(t, holder, "LOCK TABLE item IN SHARE UPDATE EXCLUSIVE MODE")
	exec(t, direct, "CREATE TABLE other (id int PRIMARY KEY)")
	g.await(func(s server.Status) bool { return phase(s, "public.other") == "ready" }) // so the gateway has looked, and met the lock
	for i := range 3 {
		exec(t, direct, "UPDATE item SET v = v + 1")
		if got, want := one(t, c, "SELECT sum(v) FROM item"), fmt.Sprint(i+2); got != want {
			t.Errorf("the sum is %s, want %s", got, want)
		}
	}
	exec(t, holder, "COMMIT")
	exec(t, c, "SET freshet.max_staleness = '10s'")
	g.await(func(s server.Status) bool {
		_ = one(t, c, "SELECT sum(v) FROM item")
		return one(t, c, "SHOW freshet.last_route") == "columnar"
	})
	if got := one(t, c, "SELECT sum(v) FROM item"); got != "4" {
		t.Errorf("the sum is %s at the end, want 4", got)
	}
}

// A trigger on login writes for the session before its first statement.
func TestGateway_sessionSeesWhatItsLoginWrote(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE TABLE login (id serial PRIMARY KEY);
CREATE FUNCTION note_login() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$BEGIN INSERT INTO public.login DEFAULT VALUES; END$$;
CREATE EVENT TRIGGER note_login ON login EXECUTE FUNCTION note_login()`)
	const sql = "SELECT count(*) FROM login"
	direct := g.connect(g.oltp.URL("postgres"))
	columnar := 0
	for range 30 {
		var before, count int // the gateway's own sessions log in as well
		if err := direct.QueryRow(t.Context(), sql).Scan(&before); err != nil {
			t.Fatal(err)
		}
		c := g.client()
		if err := c.QueryRow(t.Context(), sql, pgx.QueryExecModeSimpleProtocol).Scan(&count); err != nil || count <= before {
			t.Errorf("a session counts %d logins, there were %d before its own: %v", count, before, err)
		}
		if one(t, c, "SHOW freshet.last_route") == "columnar" {
			columnar++
		}
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if columnar == 0 {
		t.Error("no session's first query ran on the replica")
	}
}

// A table that cannot be copied leaves the others alone.
func TestGateway_copiesTablesBesideOneThatTheEngineRefuses(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	direct := g.connect(g.oltp.URL("postgres"))
	exec(t, direct, `CREATE TABLE odd (id int PRIMARY KEY, _row_exists bool, "_block_number" int); CREATE TABLE even (id int PRIMARY KEY); INSERT INTO even VALUES (1)`)
	g.await(func(s server.Status) bool {
		return phase(s, "public.even") == "ready" && phase(s, "public.odd") == "stopped"
	})
	c := g.client()
	exec(t, c, "SET freshet.route = columnar")
	if got := one(t, c, "SELECT count(*) FROM even"); got != "1" {
		t.Errorf("count is %s", got)
	}
}

// A lock on a table that is to be published keeps no other one waiting.
func TestGateway_publishesTablesBesideOneThatIsLocked(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	direct, other := g.connect(g.oltp.URL("postgres")), g.connect(g.oltp.URL("postgres"))
	exec(t, direct, "CREATE TABLE held (id int)")
	exec(t, direct, "BEGIN")
	exec(t, direct, "ALTER TABLE held ADD PRIMARY KEY (id)")
	exec(t, direct, "COMMIT AND CHAIN")
	exec(t, direct, "LOCK TABLE held IN SHARE UPDATE EXCLUSIVE MODE")
	exec(t, other, "CREATE TABLE free (id int PRIMARY KEY)")
	g.await(func(s server.Status) bool { return phase(s, "public.free") == "ready" })
	exec(t, direct, "COMMIT")
	g.await(func(s server.Status) bool { return phase(s, "public.held") == "ready" })
}

// A copy cannot begin before those end who had written by then.
func TestGateway_saysWhatACopyWaitsFor(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	writer, other := g.connect(g.oltp.URL("postgres")), g.connect(g.oltp.URL("postgres"))
	exec(t, writer, "BEGIN")
	exec(t, writer, "UPDATE account SET balance = balance WHERE id = 1")
	exec(t, other, "CREATE TABLE late (id int PRIMARY KEY)")
	holder := fmt.Sprintf("the transaction of server process %d, open since ", writer.PgConn().PID())
	g.await(func(s server.Status) bool { return strings.Contains(s.Problem, holder) })
	c := g.client()
	if got := strings.Join(query(t, c, "EXPLAIN (FRESHET) SELECT count(*) FROM late"), "; "); !strings.Contains(got, "table public.late is being copied to the replica, which waits for "+holder) {
		t.Errorf("the reason is %q", got)
	}
	// Those who read the other tables are not sent away for it.
	for _, question := range []string{"readyz", "freshz"} {
		if got := g.monitor(question); got != "200 OK" {
			t.Errorf("/%s while a copy waits: %s", question, got)
		}
	}
	exec(t, writer, "COMMIT")
	g.await(func(s server.Status) bool { return phase(s, "public.late") == "ready" && s.Problem == "" })
}

// A block that reads one snapshot does not begin on one that lacks tables: it could never read those.
func TestGateway_beginsNoBlockOnASnapshotThatLacksTables(t *testing.T) {
	t.Parallel()
	g := startUnready(t, func(*server.Config) {}, accounts)
	writer, other, c := g.connect(g.oltp.URL("postgres")), g.connect(g.oltp.URL("postgres")), g.client()
	exec(t, c, "SET freshet.freshness = 'eventual'")
	explains := func(table, want string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; {
			got := strings.Join(query(t, c, "EXPLAIN (FRESHET) SELECT count(*) FROM "+table), "; ")
			if strings.Contains(got, want) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("reading %s still means %s", table, got)
			}
		}
	}
	explains("account", "Route: columnar")
	exec(t, writer, "BEGIN")
	exec(t, writer, "UPDATE account SET balance = balance WHERE id = 1")
	exec(t, other, "CREATE TABLE late (id int PRIMARY KEY)")
	explains("late", "is being copied")
	block := func() string {
		exec(t, c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
		defer exec(t, c, "COMMIT")
		return one(t, c, "SELECT count(*) FROM account") + " " + one(t, c, "SELECT count(*) FROM late") + " " + one(t, c, "SHOW freshet.last_route")
	}
	if got := block(); got != "1000 0 oltp" {
		t.Errorf("a block beside a copy had %s", got)
	}
	exec(t, writer, "COMMIT")
	explains("late", "Route: columnar")
	if got := block(); got != "1000 0 columnar" {
		t.Errorf("a block after the copy had %s", got)
	}
}

// monitor asks the monitoring port, and returns the answer's status.
func (g *gateway) monitor(question string) string {
	g.t.Helper()
	response, err := http.Get("http://" + g.info.MonitorAddr.String() + "/" + question)
	if err != nil {
		g.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.Status
}

// phase is where the replication of a table is; empty: it is not known.
func phase(s server.Status, table string) string {
	for _, known := range s.Tables {
		if known.Table == table {
			return known.Phase
		}
	}
	return ""
}
