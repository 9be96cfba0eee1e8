package differential

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/differential/sqlgen"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/gateway/engine"
	"github.com/freshet-io/freshet/gateway/timezone"
	"github.com/freshet-io/freshet/local/pgserver"
)

var (
	firstSeed = flag.Uint64("seed", 1, "seed of the first world")
	workers   = flag.Int("workers", 3, "worlds worked on at a time")
)

// runID keeps the databases of several runs on one server apart.
var runID = os.Getpid()

func startPostgres(t *testing.T) *pgserver.Server {
	t.Helper()
	return stand.Postgres(t, func(c *pgserver.Config) {
		c.Settings = map[string]string{"jit": "off", "fsync": "off", "max_parallel_workers_per_gather": "0"}
	})
}

func worldDatabase(w *sqlgen.World) string { return fmt.Sprintf("w%d_%d", w.Seed, runID) }

// openPostgres loads a world into a database of its own and connects to it. The database goes with close.
func openPostgres(ctx context.Context, server *pgserver.Server, w *sqlgen.World) (s *Postgres, close func(context.Context) error, err error) {
	name := worldDatabase(w)
	if err := administer(ctx, server, "CREATE DATABASE "+name+" STRATEGY file_copy"); err != nil {
		return nil, nil, err
	}
	if err := CreateWorld(ctx, server.URL(name), w); err != nil {
		return nil, nil, err
	}
	s, err = Connect(ctx, server.URL(name), w)
	return s, func(ctx context.Context) error {
		return administer(ctx, server, "DROP DATABASE "+name+" (FORCE)")
	}, err
}

// openZones returns the time zones as the server and the engine have them.
func openZones(t *testing.T, server *pgserver.Server, a EngineAddress) *timezone.Directory {
	t.Helper()
	source, err := postgres.New(postgres.Config{URL: server.URL("postgres"), Slot: "unused", Include: []string{"*.*"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	client, err := engine.Open(t.Context(), engine.Config{Addr: a.TCP, Database: "default", User: a.User, Password: a.Password})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	zones, err := timezone.NewDirectory(source, client, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return zones
}

func administer(ctx context.Context, server *pgserver.Server, sql string) error {
	conn, err := pgconn.Connect(ctx, server.URL("postgres"))
	if err != nil {
		return fmt.Errorf("connect as administrator: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
		return fmt.Errorf("administer: %s: %w", sql, err)
	}
	return nil
}
