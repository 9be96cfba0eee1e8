package sourcetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Database is what the sources under test read. It speaks PostgreSQL's protocol and has Schema.
type Database struct {
	URL string
	// Open returns a new source that resumes where an earlier one ended, and cleans it up with the test.
	Open func(t testing.TB) cdc.Source
}

// patience bounds every wait of the suite.
const patience = 2 * time.Minute

// Start follows a source in the background until stop is called, at the latest when the test ends.
func (m *Model) Start(t testing.TB, src cdc.Source) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = m.Follow(ctx, src) // canceled, or the terminal error that Await returns
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	t.Cleanup(stop)
	return stop
}

// CatchUpAndCompare waits until the model has everything committed before the call, and compares it.
func (m *Model) CatchUpAndCompare(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := m.Await(ctx, func() bool { return !m.Position().IsZero() }); err != nil {
		return err
	}
	if err := m.CatchUp(ctx); err != nil {
		return err
	}
	return m.Compare(ctx, url)
}

// Sessions generates sessions that run side by side, each of which executes transactions one after another.
func Sessions(sessions, transactions int) *rapid.Generator[[][]Transaction] {
	return rapid.SliceOfN(rapid.SliceOfN(Transactions(), 1, transactions), 1, sessions)
}

// EqualsTheDatabase follows one source through many small rounds of random transactions, and compares after each.
func EqualsTheDatabase(t *testing.T, db Database) *Model {
	m := NewModel()
	m.Start(t, db.Open(t))
	rapid.Check(t, func(rt *rapid.T) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := Run(ctx, db.URL, Sessions(3, 6).Draw(rt, "sessions")); err != nil {
			rt.Fatal(err)
		}
		if err := m.CatchUpAndCompare(db.URL); err != nil {
			rt.Fatal(err)
		}
	})
	return m
}

// CopyMeetsStream takes the first copy while transactions run.
func CopyMeetsStream(t *testing.T, db Database, seed int) {
	m := NewModel()
	wait := runInBackground(t, db, seed)
	stop := m.Start(t, db.Open(t))
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if err := m.CatchUpAndCompare(db.URL); err != nil {
		t.Fatal(err)
	}
	stop()
}

// startLimit bounds the start of a server that was killed: those of Kafka are Java programs.
const startLimit = 5 * time.Minute

// Killed is an interruption for [Resumes] that leaves the source alone: a server that its stream needs is killed and started again.
func Killed(t *testing.T, server interface {
	Kill() error
	Start(context.Context) error
}) (interrupt func(stop func())) {
	return func(func()) {
		ctx, cancel := context.WithTimeout(t.Context(), startLimit)
		defer cancel()
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := server.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// Resumes interrupts the stream under load several times; interrupt says how, and gets
// a function that ends the source in use. A new source goes on from the model's position.
func Resumes(t *testing.T, db Database, rounds int, interrupt func(stop func())) {
	m := NewModel()
	stop := m.Start(t, db.Open(t))
	if err := m.CatchUpAndCompare(db.URL); err != nil {
		t.Fatal(err)
	}
	for round := range rounds {
		wait := runInBackground(t, db, 1000+round)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		commits := m.Commits()
		err := m.Await(ctx, func() bool { return m.Commits() > commits+10 })
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		interrupt(stop)
		stop()
		_ = wait() // fails where the interruption took the database away
		stop = m.Start(t, db.Open(t))
		if err := m.CatchUpAndCompare(db.URL); err != nil {
			t.Fatal(err)
		}
	}
}

// runInBackground executes random transactions; wait returns when they are done.
func runInBackground(t *testing.T, db Database, seed int) (wait func() error) {
	t.Helper()
	sessions := rapid.SliceOfN(rapid.SliceOfN(Transactions(), 80, 80), 3, 3).Example(seed)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, db.URL, sessions) }()
	wait = sync.OnceValue(func() error {
		defer cancel()
		return <-ended
	})
	t.Cleanup(func() {
		cancel()
		_ = wait()
	})
	return wait
}
