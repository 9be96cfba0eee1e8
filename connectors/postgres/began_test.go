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

// undoneAll says that nothing was committed since a server was started.
func undoneAll(cdc.Position, cdc.Position, time.Time) (bool, error) { return false, nil }

// resumed returns the companion of a source whose consumer goes on from a bookmark.
func (b *testbed) resumed(bookmark []byte) (*postgres.Source, postgres.Companion) {
	b.t.Helper()
	s := b.newSource()
	c := s.Companion()
	if err := c.Restore(bookmark); err != nil {
		b.t.Fatal(err)
	}
	return s, c
}

// followed makes sure that a companion follows the server for a consumer at a position, and returns what to keep with
// the position.
func (b *testbed) followed(s *postgres.Source, c postgres.Companion, at cdc.Position) []byte {
	b.t.Helper()
	ctx := stand.Within(b.t, time.Minute)
	if err := c.Follow(ctx, at, undoneAll); err != nil {
		b.t.Fatal(err)
	}
	if _, err := s.Current(ctx); err != nil {
		b.t.Fatalf("of the server that is followed: %v", err)
	}
	return s.Bookmark(at)
}

// Who does not read the log finds out by where it ended when its server was started.
func TestCompanion_followsAServerThatHasWhatWasTold(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	ctx := stand.Within(t, time.Minute)
	source := b.source
	c := source.Companion()
	b.followed(source, c, cdc.Position{})
	restart := func(end func() error) {
		t.Helper()
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if err := b.server.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	tell := func() cdc.Position {
		t.Helper()
		b.exec("SELECT pg_switch_wal()", "INSERT INTO t SELECT coalesce(max(id), 0) + 1 FROM t")
		w, err := c.ReadLog(ctx)
		for ; err != nil && ctx.Err() == nil; w, err = c.ReadLog(ctx) { // of connections that ended with the server
		}
		if err := c.Tell(w.Inserted, w.At); err != nil {
			t.Fatal(err)
		}
		return w.Inserted
	}
	var kept []byte
	var at cdc.Position
	for _, end := range []func() error{func() error { return b.server.Stop(ctx) }, b.server.Kill} {
		at = tell()
		kept = source.Bookmark(at)
		restart(end)
		b.exec("SELECT pg_switch_wal()", "CREATE TABLE later AS SELECT FROM generate_series(1, 1000)", "DROP TABLE later")
		if _, err := source.Current(ctx); err == nil {
			t.Error("a server that was started anew is taken for the one before")
		}
		source, c = b.resumed(kept)
		kept = b.followed(source, c, at)
		b.exec("CHECKPOINT")
		source, c = b.resumed(kept)
		b.followed(source, c, at)
	}

	// After a shutdown nothing but its checkpoint tells, and that is gone with the next one.
	at = tell()
	kept = source.Bookmark(at)
	restart(func() error { return b.server.Stop(ctx) })
	b.exec("CHECKPOINT")
	_, c = b.resumed(kept)
	sourcetest.WantTerminal(t, c.Follow(ctx, at, undoneAll), cdc.CodeSourceMismatch)
}

func TestCompanion_refusesAServerThatLacksWhatWasTold(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	ctx := stand.Within(t, time.Minute)
	c := b.source.Companion()
	b.followed(b.source, c, cdc.Position{})
	before, err := c.ReadLog(ctx)
	if err != nil {
		t.Fatal(err)
	}
	early := b.source.Bookmark(before.Inserted)
	putBack := stand.KeepFolder(t, b.server)
	source, c := b.resumed(early)
	b.followed(source, c, before.Inserted)
	b.exec("INSERT INTO t VALUES (1)")
	lost, err := c.ReadLog(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Tell(lost.Inserted, lost.At); err != nil {
		t.Fatal(err)
	}
	late := source.Bookmark(lost.Inserted)
	putBack()
	b.exec("INSERT INTO t VALUES (2)", "SELECT pg_switch_wal()", "INSERT INTO t VALUES (3)")
	_, c = b.resumed(late)
	sourcetest.WantTerminal(t, c.Follow(ctx, before.Inserted, undoneAll), cdc.CodeSourceMismatch)

	// Who was told of nothing that is lost goes on, but not with what comes from elsewhere and was committed before the
	// server was started.
	source, c = b.resumed(early)
	b.followed(source, c, before.Inserted)
	sourcetest.WantTerminal(t, c.Tell(lost.Inserted, lost.At), cdc.CodeSourceMismatch)
	after, err := c.ReadLog(ctx)
	if err := errors.Join(err, c.Tell(after.Inserted, after.At), c.Tell(lost.Inserted, time.Time{})); err != nil {
		t.Error(err)
	}
}
