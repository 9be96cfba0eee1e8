package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cdc/sourcetest"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/pgserver"
)

// standbySlot is the physical slot by which the standby streams.
const standbySlot = "standby"

// withStandby returns a testbed whose server has a standby, as CloudNativePG sets them up. The server may wait for the standby before it tells
// streams of slots that the standby has a copy of.
func withStandby(t *testing.T, waits bool) (b *testbed, standby *pgserver.Server) {
	t.Helper()
	both := map[string]string{"sync_replication_slots": "on", "hot_standby_feedback": "on", "wal_receiver_status_interval": "1"}
	dir, ctx := stand.Dir(t), stand.Within(t, 2*time.Minute)
	primary := stand.Postgres(t, func(c *pgserver.Config) {
		c.DataDir, c.Settings = filepath.Join(dir, "primary"), maps.Clone(both)
		if waits {
			c.Settings["synchronized_standby_slots"] = standbySlot
		}
	})
	b = &testbed{t: t, server: primary, url: primary.URL("postgres"), model: sourcetest.NewModel()}
	b.exec(sourcetest.Schema, "SELECT pg_create_physical_replication_slot('"+standbySlot+"')")
	if err := primary.Stop(ctx); err != nil { // what is copied is complete
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "standby")
	copyLike(t, filepath.Join(dir, "primary"), copied)
	if err := primary.Start(ctx); err != nil {
		t.Fatal(err)
	}
	b.url = primary.URL("postgres")
	standby = stand.Postgres(t, func(c *pgserver.Config) {
		c.DataDir, c.Settings = copied, both
		c.Settings["primary_slot_name"] = standbySlot
		c.Settings["primary_conninfo"] = fmt.Sprintf("host=127.0.0.1 port=%d user=%s password=%s dbname=postgres", primary.Port(), pgserver.Superuser, primary.Password())
	})
	return b, standby
}

// copyLike copies a server's data folder for the same owner, as a standby's.
func copyLike(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		target := to + strings.TrimPrefix(path, from)
		if d.IsDir() {
			err = os.Mkdir(target, 0o700)
		} else {
			var data []byte
			if data, err = os.ReadFile(path); err == nil {
				err = os.WriteFile(target, data, 0o600)
			}
		}
		owner := info.Sys().(*syscall.Stat_t)
		return errors.Join(err, os.Chown(target, int(owner.Uid), int(owner.Gid)))
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "standby.signal"), nil, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// awaitCopyOfSlot waits until the standby has a copy of the slot with which it could be promoted. The slot must move once for that,
// beyond a record that a server writes every 15 s.
func (b *testbed) awaitCopyOfSlot(standby *pgserver.Server) {
	b.t.Helper()
	conn, ctx, again := stand.Connect(b.t, standby.URL("postgres")), stand.Within(b.t, time.Minute), time.NewTicker(200*time.Millisecond)
	defer again.Stop()
	for there := false; !there; <-again.C {
		b.exec("SELECT pg_log_standby_snapshot()")
		err := conn.QueryRow(ctx, "SELECT count(*) = 1 FROM pg_replication_slots WHERE slot_name = 'freshet' AND synced AND NOT temporary").Scan(&there)
		if err != nil {
			b.t.Fatalf("the standby has no copy of the slot: %v", err)
		}
	}
}

func withFailover(c *postgres.Config) { c.Failover = true }

// restored is the source of a replica that kept a bookmark.
func (b *testbed) restored(kept []byte) *postgres.Source {
	b.t.Helper()
	s := b.newSource(withFailover)
	if err := s.Restore(kept); err != nil {
		b.t.Fatal(err)
	}
	return s
}

func TestStream_goesOnWithAPromotedStandby(t *testing.T) {
	t.Parallel()
	b, standby := withStandby(t, true)
	b.source = b.newSource(withFailover)
	b.follow()
	b.exec("INSERT INTO plain (id, note) SELECT g, 'before' FROM generate_series(1, 1000) g")
	b.same()
	copies := b.model.Copies()
	b.awaitCopyOfSlot(standby)
	b.exec("UPDATE plain SET note = 'told' WHERE id % 2 = 0")
	b.same()
	if err := b.server.Kill(); err != nil {
		t.Fatal(err)
	}
	b.stop()
	kept := b.source.Bookmark(b.model.Position())
	b.url = standby.URL("postgres")
	b.exec("SELECT pg_promote()")
	b.exec("DELETE FROM plain WHERE id > 900", "INSERT INTO plain (id, note) VALUES (5000, 'after')")
	told := b.model.Commits()
	b.source = b.restored(kept)
	if at, err := b.source.Current(t.Context()); err == nil {
		t.Errorf("the new primary is said to be at %s before its log is followed", at)
	}
	b.follow()
	b.await("changes from the new primary", func() bool { return b.model.Commits() > told })
	b.same()
	if again := b.model.Copies(); again != copies {
		t.Errorf("%d copies after the failover, %d before: the slot was not carried over", again, copies)
	}
}

func TestStream_refusesAServerThatLostWhatWasTold(t *testing.T) {
	t.Parallel()
	b, standby := withStandby(t, false)
	b.source = b.newSource(withFailover)
	b.follow()
	b.exec("INSERT INTO plain (id, note) VALUES (1, 'kept')")
	b.same()
	b.awaitCopyOfSlot(standby)
	ctx := stand.Within(t, time.Minute)
	if err := standby.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	b.exec("INSERT INTO plain (id, note) VALUES (2, 'lost')")
	b.same()
	if err := b.server.Kill(); err != nil {
		t.Fatal(err)
	}
	b.stop()
	told, kept := b.model.Position(), b.source.Bookmark(b.model.Position())
	if err := standby.Start(ctx); err != nil {
		t.Fatal(err)
	}
	b.url = standby.URL("postgres")
	b.exec("SELECT pg_promote()", "INSERT INTO plain (id, note) VALUES (2, 'other')", "SELECT pg_switch_wal()") // positions are beyond those of before
	again := b.restored(kept)
	sourcetest.WantTerminal(t, again.Stream(ctx, told, b.model), cdc.CodeSourceMismatch)
	_, err := again.Copy(ctx, nil, anySink{})
	sourcetest.WantTerminal(t, err, cdc.CodeSourceMismatch)
	if err := again.Restore(nil); err != nil { // all is copied anew
		t.Fatal(err)
	}
	if _, err := again.Copy(ctx, nil, anySink{}); err != nil {
		t.Error(err)
	}
}

// anySink takes whatever is copied.
type anySink struct{}

func (anySink) Begin(context.Context, cdc.Position, []*cdc.Table) error     { return nil }
func (anySink) Rows(context.Context, *cdc.Table, []cdc.Row) error           { return nil }
func (anySink) Done(context.Context, *cdc.Table) error                      { return nil }
func (anySink) Stopped(context.Context, cdc.TableID, *cdc.TableError) error { return nil }

func TestCopy_waitsForStandbys(t *testing.T) {
	t.Parallel()
	b, standby := withStandby(t, true)
	source, ctx := b.newSource(withFailover), stand.Within(t, 2*time.Minute)
	found, err := source.Tables(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var ids []cdc.TableID
	for _, d := range found {
		ids = append(ids, d.Table.ID)
	}
	if err := standby.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	b.exec("INSERT INTO plain (id) VALUES (1)")
	if _, err := source.Copy(stand.Within(t, 2*time.Second), ids, anySink{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a copy of what the standby lacks ended with %v", err)
	}
	if err := standby.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := source.Copy(ctx, ids, anySink{}); err != nil {
		t.Error(err)
	}
}
