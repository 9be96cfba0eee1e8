//go:build kafka

package debezium_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cdc/sourcetest"
	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/e2e/stand"
)

// resume returns a source that goes on from a bookmark.
func (b *testbed) resume(bookmark []byte) *debezium.Source {
	b.t.Helper()
	s := b.newSource()
	if err := s.Restore(bookmark); err != nil {
		b.t.Fatal(err)
	}
	return s
}

// refuses expects that a stream ends because the server was restored, once connections that ended with the server are
// replaced.
func (b *testbed) refuses(src *debezium.Source, from cdc.Position, h cdc.Handler) {
	b.t.Helper()
	ctx := stand.Within(b.t, 2*time.Minute)
	err := src.Stream(ctx, from, h)
	for terminal := new(cdc.TerminalError); !errors.As(err, &terminal) && ctx.Err() == nil; {
		err = src.Stream(ctx, from, h)
	}
	sourcetest.WantTerminal(b.t, err, cdc.CodeSourceMismatch)
	b.t.Log(err)
}

// outgrow has the log of a server pass where another one's was.
func (b *testbed) outgrow() {
	b.exec("INSERT INTO t VALUES (2, 'other')", "SELECT pg_switch_wal()",
		"INSERT INTO t SELECT g, repeat('x', 200) FROM generate_series(100, 20000) g", "SELECT pg_switch_wal()", "INSERT INTO t VALUES (4, 'new')")
}

// A data folder that was put back to an earlier state stays on its timeline, and Debezium goes on from where it was.
func TestStream_refusesADataFolderThatWasPutBack(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY, note text)")
	m, src := sourcetest.NewModel(), b.newSource()
	stop := m.Start(t, src)
	b.exec("INSERT INTO t VALUES (1, 'kept')")
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
	stop()
	before, early := m.Position(), src.Bookmark(m.Position())
	putBack := stand.KeepFolder(t, b.stack.postgres)

	// What is still there is what it was.
	src = b.resume(early)
	stop = m.Start(t, src)
	b.exec("INSERT INTO t VALUES (2, 'lost')")
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
	stop()
	told, kept := m.Position(), src.Bookmark(m.Position())

	putBack()
	if at, err := src.Current(stand.Within(t, time.Minute)); err == nil {
		t.Errorf("the server is said to be at %s before it has shown what was told", at)
	}
	if log := src.Log(); log.Started == "" {
		t.Error("it is not told which server was followed")
	}
	b.outgrow()
	b.refuses(src, told, m)
	b.refuses(b.resume(kept), told, m)
	// Nor does a replica find it out too late that was behind, and was told nothing of what was undone: it is in the
	// topics.
	b.refuses(b.resume(early), before, &countingHandler{done: func() {}})
}

func TestStream_goesOnWithAServerThatWasStartedAnew(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY, note text)")
	m, src, rows := sourcetest.NewModel(), b.newSource(), 0
	stop := m.Start(t, src)
	same := func() {
		t.Helper()
		rows++
		b.exec(fmt.Sprintf("INSERT INTO t VALUES (%d)", rows))
		if err := m.CatchUpAndCompare(b.url); err != nil {
			t.Fatal(err)
		}
	}
	same()
	for what, end := range map[string]func(context.Context) error{
		"shut down": b.stack.postgres.Stop, "killed": func(context.Context) error { return b.stack.postgres.Kill() },
	} {
		before := src.Log()
		if err := end(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := b.stack.postgres.Start(stand.Within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		same()
		if after := src.Log(); after == before || after.Timeline != before.Timeline {
			t.Errorf("of a server that was %s and started anew, %v is followed after %v", what, after, before)
		}
		// Where its log ended then is kept, for who was not there.
		b.exec("CHECKPOINT")
		stop()
		kept := src.Bookmark(m.Position())
		src = b.resume(kept)
		stop = m.Start(t, src)
		same()
	}
}

// Who did not notice that a server was started was told of what it has written since.
func TestStream_goesOnWithAServerThatWasStartedUnnoticed(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY, note text)")
	m, src := sourcetest.NewModel(), b.newSource()
	stop := m.Start(t, src)
	for id := range 2 { // the first may be in the copy
		b.exec(fmt.Sprintf("INSERT INTO t VALUES (%d)", id))
		if err := m.CatchUpAndCompare(b.url); err != nil {
			t.Fatal(err)
		}
	}
	kept := src.Bookmark(m.Position())
	if err := b.stack.postgres.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := b.stack.postgres.Start(stand.Within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	for id := range 20 {
		b.exec(fmt.Sprintf("INSERT INTO t VALUES (%d)", 10+id))
	}
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
	stop()
	stop = m.Start(t, b.resume(kept))
	defer stop()
	b.exec("INSERT INTO t VALUES (2)")
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
}
