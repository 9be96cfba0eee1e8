package server_test

import (
	"net/url"
	"slices"
	"testing"

	"github.com/freshet-io/freshet/gateway/server"
)

// The operator gives the builtin database's roles these rights, and no more.
func TestServer_followsByARoleThatIsNoSuperuser(t *testing.T) {
	t.Parallel()
	owner := url.UserPassword("app", "app")
	g := startWith(t, func(c *server.Config) {
		u, err := url.Parse(c.PostgresURL)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword("units", "units")
		c.PostgresURL = u.String()
	},
		"CREATE ROLE app LOGIN PASSWORD 'app'", "CREATE ROLE units LOGIN REPLICATION PASSWORD 'units'", "ALTER DATABASE postgres OWNER TO app", "GRANT app TO units",
		"SET ROLE app", "CREATE TABLE early(id int PRIMARY KEY, n int NOT NULL)", "INSERT INTO early SELECT i, i FROM generate_series(1, 10) AS i")
	client := g.clientOf(owner)
	exec(t, client, "CREATE TABLE late(id int PRIMARY KEY, n int NOT NULL)")
	exec(t, client, "INSERT INTO late SELECT i, 2 * i FROM generate_series(1, 10) AS i")
	exec(t, client, "ALTER TABLE early ADD COLUMN more int")
	exec(t, client, "INSERT INTO early VALUES (11, 11, 1)")
	g.await(func(s server.Status) bool {
		return len(s.Tables) == 2 && !slices.ContainsFunc(s.Tables, func(t server.TableStatus) bool { return t.Phase != "ready" })
	})
	exec(t, client, "SET freshet.freshness = 'strong'; SET freshet.route = 'columnar'")
	for sql, want := range map[string]string{"SELECT sum(n), count(more) FROM early": "66|1", "SELECT sum(n) FROM late": "110"} {
		if got := query(t, client, sql); len(got) != 1 || got[0] != want {
			t.Errorf("%s gives %q, want %s", sql, got, want)
		}
	}
}
