package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
)

// The constants of a prepared statement are read as the session's settings were when it was parsed.
func TestGateway_preparedStatementKeepsItsTimeZone(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE TABLE visit (id int PRIMARY KEY, at timestamptz NOT NULL);
INSERT INTO visit SELECT i, timestamptz '2024-01-01 00:00+00' + i * interval '1 hour' FROM generate_series(0, 99) i`)
	columnar, oltp := g.client(), g.client()
	exec(t, oltp, "SET freshet.route = oltp")
	const sql = "SELECT count(*) FROM visit WHERE at < '2024-01-02 00:00'"
	run := func(c *pgx.Conn) string {
		r := c.PgConn().ExecPrepared(t.Context(), "q", nil, nil, nil).Read()
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		return string(r.Rows[0][0])
	}
	for _, c := range []*pgx.Conn{columnar, oltp} {
		exec(t, c, "SET TimeZone = 'UTC'")
		if _, err := c.PgConn().Prepare(t.Context(), "q", sql, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, zone := range []string{"UTC", "Asia/Tokyo", "UTC"} {
		for _, c := range []*pgx.Conn{columnar, oltp} {
			exec(t, c, "SET TimeZone = '"+zone+"'")
		}
		got, want := run(columnar), run(oltp)
		route := one(t, columnar, "SHOW freshet.last_route")
		if got != want || (route == "columnar") != (zone == "UTC") {
			t.Errorf("in %s: %s by route %s, PostgreSQL says %s", zone, got, route, want)
		}
	}
}

// A driver may send BEGIN and a statement together: nothing of that changes how the statement's constants are read.
func TestGateway_statementPreparedWithItsBlockRunsOnTheReplica(t *testing.T) {
	t.Parallel()
	g := start(t, "CREATE TABLE item (id int PRIMARY KEY, n int NOT NULL); INSERT INTO item SELECT i, i FROM generate_series(1, 100) i")
	c := g.client()
	exec(t, c, "SET search_path = public")
	for _, first := range []struct{ name, sql, route string }{
		{"plain", "BEGIN READ ONLY", "columnar"},
		{"later", "BEGIN READ ONLY", "columnar"},       // after a SET that PostgreSQL has answered
		{"set", "SET TimeZone = 'Asia/Tokyo'", "oltp"}, // which PostgreSQL has not reported when the statement comes
	} {
		p := c.PgConn().StartPipeline(t.Context())
		p.SendQueryParams(first.sql, nil, nil, nil, nil)
		p.SendPrepare(first.name, "SELECT sum(n) FROM item", nil)
		if err := p.Sync(); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		exec(t, c, "ROLLBACK")
		if r := c.PgConn().ExecPrepared(t.Context(), first.name, nil, nil, nil).Read(); r.Err != nil {
			t.Fatal(r.Err)
		}
		if got := one(t, c, "SHOW freshet.last_route"); got != first.route {
			t.Errorf("prepared with %s: route %s, want %s", first.sql, got, first.route)
		}
	}
}

// JDBC's autosave=always sends each statement behind a SAVEPOINT whose answer it does not wait for. After a rollback to one, statements are on
// the block's snapshot again.
func TestGateway_statementPreparedWithASavepointRunsOnTheReplica(t *testing.T) {
	t.Parallel()
	c := start(t, "CREATE TABLE item (id int PRIMARY KEY, n int NOT NULL); INSERT INTO item SELECT i, i FROM generate_series(1, 100) i").client()
	saved := func(sql string) (answers []string) {
		ready := 0
		return exchange(t, c, append(append(messages{&pgproto3.Query{String: "SAVEPOINT autosave"}}, once(sql)...), &pgproto3.Sync{}), together, func(answer string) bool {
			if strings.HasPrefix(answer, "ReadyForQuery") {
				ready++
			}
			return ready == 2
		})
	}
	exec(t, c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	for _, failing := range []string{"", "SELECT 1 / (id - 3) FROM item", "SELECT missing FROM item", "UPDATE item SET n = 0"} {
		if failing != "" {
			if got := saved(failing); !slices.ContainsFunc(got, func(a string) bool { return strings.HasPrefix(a, "ErrorResponse") }) {
				t.Fatalf("%s: %q", failing, got)
			}
			exec(t, c, "ROLLBACK TO SAVEPOINT autosave")
		}
		if got := saved("SELECT sum(n) FROM item"); !slices.Contains(got, `DataRow ["5050"]`) {
			t.Errorf("after %q: %q", failing, got)
		}
		if got := one(t, c, "SHOW freshet.last_route"); got != "columnar" {
			t.Errorf("after %q: route %s: %s", failing, got, one(t, c, "SHOW freshet.last_reason"))
		}
	}
}

// Where a statement's messages come in several pieces, its parameters are those that were sent.
func TestGateway_keepsParametersUntilTheyAreUsed(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	c := g.client()
	for _, length := range []int{600, 3000, 10_000, 40_000} {
		parameter := strings.Repeat(".", 500) + "x" + strings.Repeat(".", length-501)
		exchange(t, c, messages{
			&pgproto3.Parse{Query: "SELECT count(*) FROM account WHERE id <= strpos($1, 'x')"}, &pgproto3.Flush{}, &pgproto3.Bind{Parameters: [][]byte{[]byte(parameter)}},
		}, together, func(answer string) bool { return answer == "ParseComplete" })
		got := untilReady(t, c, messages{&pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}, &pgproto3.Sync{}})
		if !slices.Contains(got, `DataRow ["501"]`) {
			t.Errorf("with a parameter of %d bytes: %q", length, got)
		}
		if route := one(t, c, "SHOW freshet.last_route"); route != "columnar" {
			t.Errorf("route %s: %s", route, one(t, c, "SHOW freshet.last_reason"))
		}
	}
}

// Pools ask by an empty statement whether a connection is alive: neither prepared statements nor settings change by that.
func TestGateway_knowsItsStatementsAfterAnEmptyOne(t *testing.T) {
	t.Parallel()
	g := start(t, "CREATE TABLE item (id int PRIMARY KEY, n int NOT NULL); INSERT INTO item SELECT i, i FROM generate_series(1, 100) i")
	c := g.client()
	if _, err := c.PgConn().Prepare(t.Context(), "a", "SELECT sum(n) FROM item", nil); err != nil {
		t.Fatal(err)
	}
	for _, empty := range []string{"", " ", ";", "-- alive?", "/* alive? */ ;\n"} {
		exec(t, c, empty)
		if r := c.PgConn().ExecParams(t.Context(), empty, nil, nil, nil, nil).Read(); r.Err != nil {
			t.Fatal(r.Err)
		}
		if r := c.PgConn().ExecPrepared(t.Context(), "a", nil, nil, nil).Read(); r.Err != nil {
			t.Fatal(r.Err)
		}
		if got := one(t, c, "SHOW freshet.last_route"); got != "columnar" {
			t.Errorf("after %q: route %s: %s", empty, got, one(t, c, "SHOW freshet.last_reason"))
		}
	}
}
