package clients

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/e2e/endpoint"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/gateway/server"
)

// The versions of the drivers.
const (
	psycopgVersion    = "3.2.10"
	sqlalchemyVersion = "2.0.43"
	nodeVersion       = "8.16.3"
	jdbcVersion       = "42.7.8"
)

const schema = `CREATE TABLE item (id int PRIMARY KEY, name text NOT NULL, price numeric(10,2), at timestamp, day date, flag boolean);
INSERT INTO item SELECT g, 'item ' || g, CASE WHEN g % 11 = 0 THEN NULL ELSE (g * 37 % 10000) / 100.0 END,
	timestamp '2020-01-01' + g * interval '1 hour 0.25 s', date '2020-01-01' + g, CASE g % 3 WHEN 0 THEN true WHEN 1 THEN false END
FROM generate_series(1, 300) g`

// urls starts everything and returns PostgreSQL's URL and the gateway's.
func urls(t *testing.T) (direct, through string) {
	t.Helper()
	postgres, engine := stand.Postgres(t), stand.Engine(t)
	direct = postgres.URL("postgres")
	conn, err := pgx.Connect(t.Context(), direct)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	e := endpoint.Start(t, postgres, engine, "postgres", func(c *server.Config) { c.Route.LagLimit = time.Minute })
	e.AwaitTables(t, "public.item")
	return direct, e.URL("postgres")
}

func TestClients_seeNoDifference(t *testing.T) {
	direct, through := urls(t)
	for _, client := range []struct {
		name  string
		needs []string
		make  func(t *testing.T) func(url string) *exec.Cmd
	}{
		{"psql", []string{"psql"}, psql},
		{"pgbench", []string{"pgbench"}, pgbench},
		{"psycopg", []string{"python3"}, python("with_psycopg.py")},
		{"SQLAlchemy", []string{"python3"}, python("with_sqlalchemy.py")},
		{"node-postgres", []string{"node", "npm"}, node},
		{"JDBC", []string{"java", "mvn"}, jdbc},
	} {
		t.Run(client.name, func(t *testing.T) {
			for _, tool := range client.needs {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skipf("%s is not installed here; .ci/run installs it", tool)
				}
			}
			command := client.make(t)
			want, got := output(t, command(direct)), output(t, command(through))
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s prints something else through the gateway (-PostgreSQL +gateway):\n%s", client.name, d)
			}
			if len(want) == 0 {
				t.Error("it prints nothing")
			}
		})
	}
	t.Run("reads went to the replica", func(t *testing.T) {
		conn, err := pgx.Connect(t.Context(), through)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		var route, reason string
		if _, err := conn.Exec(t.Context(), "SELECT flag, count(*) FROM item GROUP BY flag"); err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRow(t.Context(), "SELECT current_setting('freshet.last_route'), current_setting('freshet.last_reason')").Scan(&route, &reason); err != nil {
			t.Fatal(err)
		}
		if route != "columnar" {
			t.Errorf("the route is %s (%s): nothing but the relay was compared", route, reason)
		}
	})
}

// output runs a program and returns the lines that it prints.
func output(t *testing.T, cmd *exec.Cmd) []string {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd.Path, err, &out)
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

func psql(t *testing.T) func(string) *exec.Cmd {
	return func(url string) *exec.Cmd {
		return exec.Command("psql", "-X", "-f", "testdata/psql.sql", url)
	}
}

// pgbench prints rates, which differ: what is compared is that it ran to its end without a failed transaction.
func pgbench(t *testing.T) func(string) *exec.Cmd {
	return func(url string) *exec.Cmd {
		return exec.Command("sh", "-ec", `pgbench -i -q -s 1 "$1" 2>/dev/null
for mode in simple extended prepared; do
	pgbench -n -c 4 -t 25 -M $mode "$1" 2>&1 | grep -E 'processed|failed'
	pgbench -n -S -c 4 -t 25 -M $mode "$1" 2>&1 | grep -E 'processed|failed'
done
psql -XAt -c 'SELECT count(*) > 0 FROM pgbench_history' "$1"`, "sh", url)
	}
}

// folder returns a folder that outlives the test, for what a package manager installs, and whether it is still to be filled.
func folder(t *testing.T, name string) (dir string, missing bool) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(cache, "freshet", "clients", name)
	_, err = os.Stat(filepath.Join(dir, "complete"))
	if err != nil {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir, err != nil
}

func install(t *testing.T, dir string, commands ...[]string) {
	t.Helper()
	for _, args := range commands {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "complete"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func python(script string) func(t *testing.T) func(string) *exec.Cmd {
	return func(t *testing.T) func(string) *exec.Cmd {
		dir, missing := folder(t, fmt.Sprintf("python-%s-%s", psycopgVersion, sqlalchemyVersion))
		if missing {
			install(t, dir, []string{"python3", "-m", "venv", dir},
				[]string{filepath.Join(dir, "bin", "pip"), "install", "-q", "psycopg[binary]==" + psycopgVersion, "sqlalchemy==" + sqlalchemyVersion})
		}
		return func(url string) *exec.Cmd {
			return exec.Command(filepath.Join(dir, "bin", "python"), "-B", filepath.Join("testdata", script), url)
		}
	}
}

func node(t *testing.T) func(string) *exec.Cmd {
	dir, missing := folder(t, "node-"+nodeVersion)
	if missing {
		install(t, dir, []string{"npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir, "pg@" + nodeVersion})
	}
	return func(url string) *exec.Cmd {
		cmd := exec.Command("node", "testdata/node.js", url)
		cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"))
		return cmd
	}
}

func jdbc(t *testing.T) func(string) *exec.Cmd {
	dir, missing := folder(t, "jdbc-"+jdbcVersion)
	if missing {
		install(t, dir, []string{"mvn", "-q", "dependency:copy", "-Dartifact=org.postgresql:postgresql:" + jdbcVersion, "-DoutputDirectory=" + dir})
	}
	return func(text string) *exec.Cmd {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		password, _ := u.User.Password()
		return exec.Command("java", "-cp", filepath.Join(dir, "postgresql-"+jdbcVersion+".jar"), "testdata/Jdbc.java",
			"jdbc:postgresql://"+u.Host+u.Path, u.User.Username(), password)
	}
}
