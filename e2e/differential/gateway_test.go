package differential

import (
	"context"
	"errors"
	"flag"
	"testing"
	"time"

	"github.com/freshet-io/freshet/e2e/differential/sqlgen"
	"github.com/freshet-io/freshet/e2e/endpoint"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/gateway/server"
	"github.com/freshet-io/freshet/local/pgserver"
)

var (
	gatewayQueries = flag.Int("gateway-queries", 1600, "queries to compare through the gateway")
	viewQueries    = flag.Int("view-queries", 1200, "queries to compare through the gateway as views")
)

// Through the endpoint everything takes part: the change stream, the replica's deltas and deaths under
// changing rows, the dispatcher, and PostgreSQL's own answers where the gateway relays.
func TestGateway_equalsPostgreSQLWhileRowsChange(t *testing.T) {
	compareThroughGateway(t, *gatewayQueries, false)
}

// What a view's query is, PostgreSQL prints in its own words.
func TestGateway_viewsEqualPostgreSQL(t *testing.T) {
	compareThroughGateway(t, *viewQueries, true)
}

func compareThroughGateway(t *testing.T, queries int, views bool) {
	t.Helper()
	t.Parallel() // one session alone leaves half of the machine idle
	const database = "worlds"
	postgres := stand.Postgres(t, func(c *pgserver.Config) { c.Settings = map[string]string{"jit": "off", "fsync": "off"} })
	if err := administer(t.Context(), postgres, "CREATE DATABASE "+database); err != nil {
		t.Fatal(err)
	}
	gateway := endpoint.Start(t, postgres, stand.Engine(t), database, func(c *server.Config) { c.Include = []string{"*.*"} })
	cfg := Config{
		Seed: *firstSeed + 1000, Queries: queries, PerWorld: 400, Workers: 1, Until: time.Now().Add(*timeLimit),
		Dir: *reproducers, ReduceLimit: *reduceLimit,
		Open: func(ctx context.Context, w *sqlgen.World) (Sides, error) {
			w.Schema = worldDatabase(w)
			if err := CreateWorld(ctx, postgres.URL(database), w); err != nil {
				return Sides{}, err
			}
			var names []string
			for _, table := range w.Tables {
				names = append(names, w.Schema+"."+table.Name)
			}
			gateway.AwaitTables(t, names...)
			s, err := Connect(ctx, postgres.URL(database), w)
			if err != nil {
				return Sides{}, err
			}
			through, err := OpenGateway(ctx, gateway.URL(database), w)
			if err != nil {
				return Sides{}, err
			}
			sides := Sides{World: w, Postgres: s, Columnar: through,
				Churn: func(ctx context.Context, n uint64) error {
					for _, sql := range w.Churn(n) {
						if err := s.Exec(ctx, sql); err != nil {
							return err
						}
					}
					return nil
				},
				Close: func(ctx context.Context) error {
					return errors.Join(through.Close(ctx), s.Exec(ctx, "DROP SCHEMA "+w.Schema+" CASCADE"), s.Close(ctx))
				},
			}
			if views {
				sides.Through = (&Views{postgres: s, schema: w.Schema}).Through
			}
			return sides, nil
		},
	}
	if cfg.Dir == "" {
		cfg.Dir = t.ArtifactDir()
	}
	requireEqual(t, cfg, minColumnar-10) // fewer worlds than in the direct comparison: the share varies more
}
