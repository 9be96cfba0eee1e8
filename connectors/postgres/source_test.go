package postgres_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cdc/sourcetest"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/pgserver"
)

// testbed is a real server, a source on it and a model that follows the source.
type testbed struct {
	t      *testing.T
	server *pgserver.Server
	url    string
	source *postgres.Source
	model  *sourcetest.Model
	stop   func() // ends following
}

func newTestbed(t *testing.T, schema string, options ...func(*postgres.Config)) *testbed {
	t.Helper()
	server := stand.Postgres(t)
	b := &testbed{t: t, server: server, url: server.URL("postgres"), model: sourcetest.NewModel()}
	b.exec(schema)
	b.source = b.newSource(options...)
	return b
}

func (b *testbed) newSource(options ...func(*postgres.Config)) *postgres.Source {
	b.t.Helper()
	cfg := postgres.Config{
		URL: b.url, CatalogInterval: 50 * time.Millisecond, StatusInterval: 100 * time.Millisecond, SlotWait: 10 * time.Second,
		Logger: slog.New(slog.NewTextHandler(b.t.Output(), nil)),
	}
	for _, o := range options {
		o(&cfg)
	}
	s, err := postgres.New(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(s.Close)
	return s
}

// follow starts the model.
func (b *testbed) follow() { b.stop = b.model.Start(b.t, b.source) }

// database is the testbed for the suite that every source must pass.
func (b *testbed) database(options ...func(*postgres.Config)) sourcetest.Database {
	return sourcetest.Database{URL: b.url, Open: func(testing.TB) cdc.Source { return b.newSource(options...) }}
}

func (b *testbed) exec(sql ...string) {
	b.t.Helper()
	stand.ExecAt(b.t, b.url, sql...)
}

// same catches up and compares.
func (b *testbed) same() {
	b.t.Helper()
	if err := b.model.CatchUpAndCompare(b.url); err != nil {
		b.t.Fatal(err)
	}
}

// await waits for a condition on the model.
func (b *testbed) await(what string, cond func() bool) {
	b.t.Helper()
	if err := b.model.Await(stand.Within(b.t, 20*time.Second), cond); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// stopped says whether the model was told that a table stopped with a code ("" for none).
func (b *testbed) stopped(name string) cdc.Code {
	if _, why := b.model.Table("public", name); why != nil {
		return why.Code
	}
	return ""
}

func TestSource_equalsTheDatabaseAfterRandomTransactions(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, sourcetest.Schema)
	m := sourcetest.EqualsTheDatabase(t, b.database())
	t.Logf("%d transactions, %d copies", m.Commits(), m.Copies())
}

func TestSource_copyMeetsTheStreamUnderWrites(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, sourcetest.Schema)
	for round := range 4 {
		sourcetest.CopyMeetsStream(t, b.database(func(c *postgres.Config) { c.Slot = fmt.Sprintf("round_%d", round) }), round)
	}
}

func TestSource_resumesThroughKillsOfTheServer(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, sourcetest.Schema)
	sourcetest.Resumes(t, b.database(), 4, sourcetest.Killed(t, b.server))
}

func TestSource_resumesFromAPositionWithoutLossOrRepetition(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, sourcetest.Schema)
	sourcetest.Resumes(t, b.database(), 4, func(stop func()) { stop() })
}

func TestSource_refusesPositionsThatTheSlotCannotServe(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	ctx := stand.Within(t, 20*time.Second)
	if _, err := b.source.Tables(ctx); err != nil {
		t.Fatal(err)
	}
	sourcetest.WantTerminal(t, b.source.Stream(ctx, cdc.Position{Major: 1}, b.model), cdc.CodeSlotLost)
	sourcetest.WantTerminal(t, b.source.Stream(ctx, cdc.Position{Major: 1 << 40}, b.model), cdc.CodeSourceMismatch)
}
