package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cdc/sourcetest"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/stand"
)

// A data folder put back to an earlier state, as by a snapshot of its volume, stays on its timeline. Once the log has grown beyond the replica's
// position, positions say nothing either.
func TestStream_refusesADataFolderThatWasPutBack(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY, note text)")
	ctx := stand.Within(t, time.Minute)
	b.follow()
	b.exec("INSERT INTO t VALUES (1, 'kept')")
	b.same()
	b.stop()
	putBack := stand.KeepFolder(t, b.server)
	b.source = b.newSource()
	b.follow()
	b.exec("INSERT INTO t VALUES (2, 'lost')")
	b.same()
	b.stop()
	told, kept := b.model.Position(), b.source.Bookmark(b.model.Position())

	// What is still there is what it was.
	again := b.newSource()
	if err := again.Restore(kept); err != nil {
		t.Fatal(err)
	}
	b.source = again
	commits := b.model.Commits()
	b.follow()
	b.exec("INSERT INTO t VALUES (3, 'lost as well')")
	b.await("changes after the restart", func() bool { return b.model.Commits() > commits })
	b.same()
	b.stop()
	putBack()
	restarted := b.newSource()
	if err := restarted.Restore(kept); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*postgres.Source{b.source, restarted} {
		if at, err := s.Current(ctx); err == nil {
			t.Errorf("the server is said to be at %s before it has shown what was told", at)
		}
	}
	b.exec("INSERT INTO t VALUES (2, 'other')", "INSERT INTO t SELECT g, repeat('x', 200) FROM generate_series(100, 20000) g", "SELECT pg_switch_wal()")
	err := b.source.Stream(ctx, b.model.Position(), b.model)
	for terminal := new(cdc.TerminalError); !errors.As(err, &terminal) && ctx.Err() == nil; { // of connections that ended with the server
		err = b.source.Stream(ctx, b.model.Position(), b.model)
	}
	sourcetest.WantTerminal(t, err, cdc.CodeSourceMismatch)
	sourcetest.WantTerminal(t, restarted.Stream(ctx, told, b.model), cdc.CodeSourceMismatch)
}

// It may be that nothing was told since that state but how far the log was. What the server has written in that place since would be passed over.
func TestStream_refusesADataFolderThatWasPutBackWhileNothingHappened(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY, note text)")
	ctx := stand.Within(t, time.Minute)
	b.follow()
	b.exec("INSERT INTO t VALUES (1, 'kept')")
	b.same()
	b.stop()
	putBack := stand.KeepFolder(t, b.server)
	before := b.model.Position()
	b.exec("SELECT pg_switch_wal()")
	b.follow()
	b.await("a watermark after the restart", func() bool { return before.Before(b.model.Position()) })
	b.same()
	b.stop()
	told, kept := b.model.Position(), b.source.Bookmark(b.model.Position())
	putBack()
	b.exec("INSERT INTO t VALUES (2, 'passed over')", "SELECT pg_switch_wal()", "SELECT pg_logical_emit_message(false, 'x', repeat('x', 1000000))", "SELECT pg_switch_wal()")
	again := b.newSource()
	if err := again.Restore(kept); err != nil {
		t.Fatal(err)
	}
	err := again.Stream(ctx, told, b.model)
	for terminal := new(cdc.TerminalError); !errors.As(err, &terminal) && ctx.Err() == nil; { // of connections that ended with the server
		err = again.Stream(ctx, told, b.model)
	}
	sourcetest.WantTerminal(t, err, cdc.CodeSourceMismatch)
}
