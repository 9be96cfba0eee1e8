package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

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
	ended  chan error
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
func (b *testbed) follow() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.model.Follow(ctx, b.source) }()
	b.ended = ended
	done := false
	b.stop = func() {
		if !done {
			done = true
			cancel()
			<-ended
		}
	}
	b.t.Cleanup(b.stop)
}

// within bounds what a test waits for.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func (b *testbed) exec(sql ...string) {
	b.t.Helper()
	ctx := within(b.t, time.Minute)
	conn, err := pgx.Connect(ctx, b.url)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, s := range sql {
		if _, err := conn.Exec(ctx, s, pgx.QueryExecModeSimpleProtocol); err != nil {
			b.t.Fatalf("%s: %v", s, err)
		}
	}
}

// same catches up and compares.
func (b *testbed) same() {
	b.t.Helper()
	if err := b.catchUpAndCompare(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *testbed) catchUpAndCompare() error {
	ctx := within(b.t, 30*time.Second)
	if err := b.model.Await(ctx, func() bool { return !b.model.Position().IsZero() }); err != nil {
		return err
	}
	if err := b.model.CatchUp(ctx); err != nil {
		return err
	}
	return b.model.Compare(ctx, b.url)
}

// await waits for a condition on the model.
func (b *testbed) await(what string, cond func() bool) {
	b.t.Helper()
	if err := b.model.Await(within(b.t, 20*time.Second), cond); err != nil {
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
	b := newTestbed(t, sourcetest.Schema)
	b.follow()
	transactions := rapid.SliceOfN(sourcetest.Transactions(), 1, 6)
	rapid.Check(t, func(rt *rapid.T) {
		sessions := rapid.SliceOfN(transactions, 1, 3).Draw(rt, "sessions")
		if err := sourcetest.Run(within(t, time.Minute), b.url, sessions); err != nil {
			rt.Fatal(err)
		}
		if err := b.catchUpAndCompare(); err != nil {
			rt.Fatal(err)
		}
	})
	if n := b.model.Copies(); n > 20 {
		t.Errorf("%d copies were taken; only truncating a partitioned table calls for a new one", n)
	}
	t.Logf("%d transactions, %d copies", b.model.Commits(), b.model.Copies())
}

func TestSource_copyMeetsTheStreamUnderWrites(t *testing.T) {
	b := newTestbed(t, sourcetest.Schema)
	for round := range 5 {
		slot := func(c *postgres.Config) { c.Slot = fmt.Sprintf("round_%d", round) }
		b.source, b.model = b.newSource(slot), sourcetest.NewModel()
		wrote := make(chan error, 1)
		seed := round
		go func() {
			sessions := rapid.SliceOfN(rapid.SliceOfN(sourcetest.Transactions(), 60, 60), 3, 3).Example(seed)
			wrote <- sourcetest.Run(within(t, time.Minute), b.url, sessions)
		}()
		b.follow()
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
		b.same()
		b.stop()
		if err := b.source.DropSlotAndPublication(within(t, 20*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSource_resumesThroughKillsOfTheServer(t *testing.T) {
	b := newTestbed(t, sourcetest.Schema)
	b.follow()
	b.same()
	for round := range 4 {
		wrote := make(chan error, 1)
		ctx, cancel := context.WithCancel(within(t, time.Minute))
		go func() {
			sessions := rapid.SliceOfN(rapid.SliceOfN(sourcetest.Transactions(), 200, 200), 2, 2).Example(100 + round)
			wrote <- sourcetest.Run(ctx, b.url, sessions)
		}()
		commits := b.model.Commits()
		b.await("commits", func() bool { return b.model.Commits() > commits+20 })
		if err := b.server.Kill(); err != nil {
			t.Fatal(err)
		}
		<-wrote // fails, with the server gone
		cancel()
		if err := b.server.Start(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		b.same()
	}
}

func TestSource_resumesFromAPositionWithoutLossOrRepetition(t *testing.T) {
	b := newTestbed(t, sourcetest.Schema)
	b.follow()
	b.same()
	for round := range 5 {
		wrote := make(chan error, 1)
		go func() {
			sessions := rapid.SliceOfN(rapid.SliceOfN(sourcetest.Transactions(), 80, 80), 2, 2).Example(200 + round)
			wrote <- sourcetest.Run(within(t, time.Minute), b.url, sessions)
		}()
		commits := b.model.Commits()
		b.await("commits", func() bool { return b.model.Commits() > commits+10 })
		b.stop()
		b.source = b.newSource() // as a gateway that was restarted
		b.follow()
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
		b.same()
	}
}

func TestSource_refusesPositionsThatTheSlotCannotServe(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	ctx := within(t, 20*time.Second)
	if _, err := b.source.Tables(ctx); err != nil {
		t.Fatal(err)
	}
	wantTerminal(t, b.source.Stream(ctx, cdc.Position{Major: 1}, b.model), cdc.CodeSlotLost)
	wantTerminal(t, b.source.Stream(ctx, cdc.Position{Major: 1 << 40}, b.model), cdc.CodeSourceMismatch)
}

func wantTerminal(t *testing.T, err error, code cdc.Code) {
	t.Helper()
	var terminal *cdc.TerminalError
	if !errors.As(err, &terminal) || terminal.Code != code || terminal.Remedy == "" {
		t.Fatalf("error %v, want a terminal error %s with a remedy", err, code)
	}
}
