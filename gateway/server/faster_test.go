package server_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/gateway/server"
	"github.com/freshet-io/freshet/workload/ch"
)

// sales are two large tables and a small one, each with a second index.
var sales = []string{
	"CREATE TABLE customer (c_custkey int PRIMARY KEY, c_name text)",
	"CREATE TABLE orders (o_orderkey int PRIMARY KEY, o_custkey int, o_total int)",
	"CREATE TABLE line (l_orderkey int, l_number int, l_amount int, PRIMARY KEY (l_orderkey, l_number))",
	"CREATE TABLE small (s_key int PRIMARY KEY, s_custkey int)",
	"INSERT INTO customer SELECT i, 'Customer ' || i FROM generate_series(1, 15000) AS i",
	"INSERT INTO orders SELECT i, i % 15000 + 1, i % 977 FROM generate_series(1, 150000) AS i",
	"INSERT INTO line SELECT i / 4, i % 4, i % 100 FROM generate_series(4, 100003) AS i",
	"INSERT INTO small SELECT i, i % 150 FROM generate_series(1, 3000) AS i",
	"CREATE INDEX ON orders (o_custkey)",
	"CREATE INDEX ON orders (o_total)",
	"CREATE INDEX ON small (s_custkey)",
	"ANALYZE",
}

const indexed = "PostgreSQL answers it from an index"

// wantRoute asks how the last statement ran.
func wantRoute(t *testing.T, c *pgx.Conn, sql, want, reason string) {
	t.Helper()
	if route, why := one(t, c, "SHOW freshet.last_route"), one(t, c, "SHOW freshet.last_reason"); route != want || reason != "" && why != reason {
		t.Errorf("%s: route %s (%s), want %s", sql, route, why, want)
	}
}

func TestGateway_leavesToPostgreSQLWhatItAnswersFromAnIndex(t *testing.T) {
	t.Parallel()
	g := start(t, sales...)
	auto := g.client()
	columnar, oltp := g.routes()
	for _, c := range []struct {
		sql  string
		args []string
	}{
		{sql: "SELECT * FROM orders WHERE o_custkey = 7 ORDER BY o_orderkey"},
		{sql: "SELECT * FROM orders WHERE o_custkey = $1 ORDER BY o_orderkey", args: []string{"8"}},
		{sql: "SELECT * FROM line WHERE l_orderkey = 5 ORDER BY l_number"},
		{sql: "SELECT * FROM orders WHERE o_orderkey IN (3, 4, 5) ORDER BY o_orderkey"},
		{sql: "SELECT * FROM orders WHERE o_orderkey = ANY ($1) ORDER BY o_orderkey", args: []string{"{3,4,5}"}},
		{sql: "SELECT * FROM orders WHERE o_orderkey BETWEEN $1 AND $2 ORDER BY o_orderkey", args: []string{"10", "20"}},
		{sql: "SELECT max(o_orderkey) FROM orders"},
		{sql: "SELECT * FROM orders WHERE o_orderkey > 500 ORDER BY o_orderkey LIMIT 10"},
		{sql: "SELECT o_orderkey, o_total FROM orders ORDER BY o_orderkey DESC LIMIT 10"},
		{sql: "SELECT EXISTS (SELECT FROM orders WHERE o_custkey = 7)"},
		{sql: "SELECT c_name, o_total FROM customer JOIN orders ON o_custkey = c_custkey WHERE c_custkey = 9 ORDER BY o_orderkey"},
		{sql: "SELECT sum(o_total) FROM customer JOIN orders ON o_custkey = c_custkey WHERE c_name = 'Customer 12'"},
		{sql: "SELECT count(*) FROM customer JOIN orders ON o_orderkey BETWEEN c_custkey * 10 AND c_custkey * 10 + 1"},
	} {
		got, want := strings.Join(query(t, auto, c.sql, c.args...), "\n"), strings.Join(query(t, oltp, c.sql, c.args...), "\n")
		if got != want {
			t.Errorf("%s: %s, want %s", c.sql, got, want)
		}
		wantRoute(t, auto, c.sql, "oltp", indexed)
		if strings.Contains(c.sql, "c_custkey * 10") {
			continue // the replica needs long
		}
		query(t, columnar, c.sql, c.args...)
		wantRoute(t, columnar, c.sql, "columnar", "")
	}
	if lines := strings.Join(query(t, auto, "EXPLAIN (FRESHET) SELECT * FROM orders WHERE o_custkey = 11"), "\n"); !strings.Contains(lines, "Reason: "+indexed) {
		t.Errorf("EXPLAIN says\n%s", lines)
	}
	exec(t, auto, "BEGIN READ ONLY")
	query(t, auto, "SELECT sum(o_total) FROM orders")
	query(t, auto, "SELECT * FROM orders WHERE o_custkey = 7")
	wantRoute(t, auto, "in a block with a snapshot", "columnar", "")
	exec(t, auto, "COMMIT")
}

func TestGateway_keepsOnTheReplicaWhatPostgreSQLReadsALotFor(t *testing.T) {
	t.Parallel()
	g := start(t, sales...)
	auto := g.client()
	for _, c := range []struct {
		sql  string
		args []string
	}{
		{sql: "SELECT sum(o_total) FROM orders"},
		{sql: "SELECT count(*) FROM orders"},
		{sql: "SELECT o_custkey, sum(o_total) FROM orders GROUP BY o_custkey ORDER BY 2 DESC, 1 LIMIT 10"},
		{sql: "SELECT sum(o_total) FROM orders WHERE o_orderkey BETWEEN $1 AND $2", args: []string{"10", "140000"}},
		{sql: "SELECT c_name, sum(o_total) FROM customer JOIN orders ON o_custkey = c_custkey GROUP BY c_name ORDER BY 2 DESC, 1 LIMIT 3"},
		{sql: "SELECT * FROM small WHERE s_custkey = 7"},
		{sql: "SELECT max(s_key) FROM small"},
	} {
		query(t, auto, c.sql, c.args...)
		wantRoute(t, auto, c.sql, "columnar", "")
	}
	// Few rows are no reason to take PostgreSQL for many, nor a short page for a long one.
	for _, c := range []struct{ few, many string }{
		{"SELECT sum(o_total) FROM orders WHERE o_total < 1", "SELECT sum(o_total) FROM orders WHERE o_total < 900"},
		{"SELECT * FROM orders ORDER BY o_orderkey LIMIT 5", "SELECT * FROM orders ORDER BY o_orderkey LIMIT 90000"},
	} {
		query(t, auto, c.few)
		wantRoute(t, auto, c.few, "oltp", indexed)
		query(t, auto, c.many)
		wantRoute(t, auto, c.many, "columnar", "")
	}
}

// The least database there is of the benchmark has the most that PostgreSQL could answer from an index.
func TestGateway_keepsBenchmarksOnTheReplica(t *testing.T) {
	t.Parallel()
	g := startWith(t, func(c *server.Config) {
		if err := ch.Load(t.Context(), ch.LoadConfig{DSN: c.PostgresURL, Warehouses: 1, Seed: 7}); err != nil {
			t.Fatal(err)
		}
	})
	exec(t, g.connect(g.oltp.URL("postgres")), "ANALYZE")
	auto := g.client()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, q := range slices.Concat(ch.Queries(), ch.BatchDBQueries(rng), []ch.Query{ch.JoinGrpAgg(rng)}) {
		query(t, auto, q.Text())
		wantRoute(t, auto, q.Name, "columnar", "")
	}
}
