package differential

import (
	"context"
	"errors"
	"flag"
	"testing"
	"time"

	"github.com/freshet-io/freshet/e2e/differential/sqlgen"
	"github.com/freshet-io/freshet/e2e/stand"
)

var (
	queryCount  = flag.Int("queries", 10000, "queries to compare")
	perWorld    = flag.Int("per-world", 400, "queries on one world")
	reproducers = flag.String("reproducers", "", "folder for reproducers of differences; empty for the test's own")
	reduceLimit = flag.Int("reduce", 250, "runs spent on making one difference small")
	timeLimit   = flag.Duration("for", 25*time.Minute, "fail if the queries take longer than this")
)

// minColumnar is the share of the answered queries that the columnar route must answer, in percent.
const minColumnar = 60

func TestColumnarRoute_equalsPostgreSQL(t *testing.T) {
	t.Parallel()
	server := startPostgres(t)
	columnar := stand.Engine(t)
	address := EngineAddress{HTTP: columnar.HTTPAddr(), TCP: columnar.TCPAddr(), User: columnar.User, Password: columnar.Password}
	zones := openZones(t, server, address)
	cfg := Config{
		Seed: *firstSeed, Queries: *queryCount, PerWorld: *perWorld, Workers: *workers, Until: time.Now().Add(*timeLimit),
		Dir: *reproducers, ReduceLimit: *reduceLimit,
		Open: func(ctx context.Context, w *sqlgen.World) (Sides, error) {
			s, closeWorld, err := openPostgres(ctx, server, w)
			if err != nil {
				return Sides{}, err
			}
			name := worldDatabase(w)
			direct, err := OpenDirect(ctx, address, zones, server.URL(name), name, w)
			if err != nil {
				return Sides{}, err
			}
			return Sides{World: w, Postgres: s, Columnar: direct, Close: func(ctx context.Context) error {
				return errors.Join(direct.Close(ctx), closeWorld(ctx))
			}}, nil
		},
	}
	if cfg.Dir == "" {
		cfg.Dir = t.ArtifactDir()
	}
	t.Logf("worlds from seed %d", cfg.Seed)
	requireEqual(t, cfg, minColumnar)
}

func requireEqual(t *testing.T, cfg Config, minShare float64) {
	t.Helper()
	started := time.Now()
	report, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	text := report.Findings()
	if testing.Verbose() {
		text = report.String()
	}
	t.Logf("in %s\n%s", time.Since(started).Round(time.Second), text)
	if report.Queries < cfg.Queries {
		t.Errorf("only %d of %d queries ran within -for %s", report.Queries, cfg.Queries, *timeLimit)
	}
	if n := total(report.Differences); n > 0 {
		t.Errorf("%d answers differ from PostgreSQL's; reproducers are in %s", n, cfg.Dir)
	}
	if n := total(report.Defects); n > 0 {
		t.Errorf("the engine failed on %d translated queries; reproducers are in %s", n, cfg.Dir)
	}
	if report.Share() < minShare {
		t.Errorf("%.1f %% of the queries went columnar, want at least %.0f %%", report.Share(), minShare)
	}
}
