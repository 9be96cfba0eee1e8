package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/e2e/stand"
)

// version asks for the version of table t.
func (b *testbed) version(ctx context.Context) (string, error) {
	b.t.Helper()
	conn, err := pgx.Connect(ctx, b.url)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var oid uint32
	if err := conn.QueryRow(ctx, "SELECT 't'::regclass::oid").Scan(&oid); err != nil {
		b.t.Fatal(err)
	}
	versions, err := b.source.Versions(ctx, []cdc.TableID{cdc.TableID(oid)})
	return versions[cdc.TableID(oid)], err
}

func (b *testbed) mustVersion() string {
	b.t.Helper()
	v, err := b.version(stand.Within(b.t, 10*time.Second))
	if err != nil || v == "" {
		b.t.Fatalf("version %q, %v", v, err)
	}
	return v
}

func TestVersions_changeWithWhatTheStreamDoesNotTell(t *testing.T) {
	t.Parallel()
	const schema = `DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TYPE mood AS ENUM ('sad'); CREATE DOMAIN temper AS mood; CREATE DOMAIN temper2 AS temper;`
	const plain = schema + "CREATE TABLE t (id int PRIMARY KEY, v int, m temper2); INSERT INTO t VALUES (1, 1, 'sad')"
	const parted = schema + `CREATE TABLE t (id int PRIMARY KEY, v int) PARTITION BY RANGE (id); CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0) TO (10);
		CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM (10) TO (20) PARTITION BY RANGE (id); CREATE TABLE t_20 PARTITION OF t_2 FOR VALUES FROM (12) TO (20);
		CREATE TABLE t_3 (id int PRIMARY KEY, v int)`
	b := newTestbed(t, plain)
	for _, c := range []struct {
		name, schema string
		ddl          []string
		changes      bool
	}{
		{"rows", plain, []string{"INSERT INTO t VALUES (2); UPDATE t SET v = 2"}, false},
		{"truncate", plain, []string{"TRUNCATE t"}, false},
		{"vacuum full", plain, []string{"VACUUM FULL t"}, false},
		{"cluster", plain, []string{"CLUSTER t USING t_pkey"}, false},
		{"analyze", plain, []string{"ANALYZE t"}, false},
		{"index", plain, []string{"CREATE INDEX ON t (v)"}, false},
		{"grant", plain, []string{"GRANT SELECT ON t TO PUBLIC"}, false},
		{"rewrite of values", plain, []string{"ALTER TABLE t ALTER v TYPE int USING v + 1"}, true},
		{"column that came and went", plain, []string{"BEGIN; ALTER TABLE t ADD c int; ALTER TABLE t DROP c; COMMIT"}, true},
		{"rename", plain, []string{"BEGIN; ALTER TABLE t RENAME TO old; CREATE VIEW t AS SELECT 1; DROP VIEW t; ALTER TABLE old RENAME COLUMN v TO w; ALTER TABLE old RENAME TO t; COMMIT"}, true},
		{"vacuum what tells of labels", plain, []string{"VACUUM FREEZE pg_enum", "VACUUM FULL pg_enum"}, false},
		{"label of an enumeration below domains", plain, []string{"ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'"}, true},
		{"label that was renamed and has its name back", plain, []string{"BEGIN; ALTER TYPE mood RENAME VALUE 'sad' TO 'x'; ALTER TYPE mood RENAME VALUE 'x' TO 'sad'; COMMIT"}, true},
		{"label between others", plain, []string{"ALTER TYPE mood ADD VALUE 'blue' BEFORE 'sad'"}, true},
		{"row-level security", plain, []string{"ALTER TABLE t ENABLE ROW LEVEL SECURITY"}, true},
		{"child", plain, []string{"CREATE TABLE child () INHERITS (t)"}, true},
		{"rows of partitions", parted, []string{"INSERT INTO t VALUES (1, 1)"}, false},
		{"attach", parted, []string{"ALTER TABLE t ATTACH PARTITION t_3 FOR VALUES FROM (20) TO (30)"}, true},
		{"attach below", parted, []string{"CREATE TABLE t_21 PARTITION OF t_2 FOR VALUES FROM (10) TO (12)"}, true},
		{"detach", parted, []string{"ALTER TABLE t DETACH PARTITION t_1"}, true},
		{"detach concurrently", parted, []string{"ALTER TABLE t DETACH PARTITION t_1 CONCURRENTLY"}, true},
		{"detach and attach", parted, []string{"BEGIN; ALTER TABLE t DETACH PARTITION t_1; ALTER TABLE t ATTACH PARTITION t_1 FOR VALUES FROM (0) TO (10); COMMIT"}, true},
		{"detach and attach what is partitioned", parted, []string{"BEGIN; ALTER TABLE t DETACH PARTITION t_2; ALTER TABLE t ATTACH PARTITION t_2 FOR VALUES FROM (10) TO (20); COMMIT"}, true},
		{"vacuum partitions and what tells of them", parted, []string{"VACUUM FREEZE ANALYZE t", "VACUUM FREEZE pg_inherits", "VACUUM FULL pg_inherits"}, false},
		{"index and check of partitions", parted, []string{"CREATE INDEX ON t (v); ALTER TABLE t ADD CHECK (v < 9)"}, false},
		{"truncate a partition", parted, []string{"TRUNCATE t_1"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.exec(c.schema)
			before := b.mustVersion()
			b.exec(c.ddl...)
			if after := b.mustVersion(); (after != before) != c.changes {
				t.Errorf("version %s, then %s: want a change: %t", before, after, c.changes)
			}
		})
	}
}

func TestVersions_leaveOutTablesThatAreGone(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	versions, err := b.source.Versions(stand.Within(t, 10*time.Second), []cdc.TableID{7})
	if err != nil || len(versions) != 0 {
		t.Errorf("versions %v, %v; want none", versions, err)
	}
}

// A commit that waits for a synchronous standby is streamed, but nobody sees it yet.
func TestVersions_waitForWhatTheStreamIsAheadOf(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY, v int); CREATE TABLE other (id int PRIMARY KEY)")
	b.follow()
	b.same()
	before := b.mustVersion()
	b.exec("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()")
	// The setting holds for commits a moment after it was read: from the first one on that waits.
	var released atomic.Bool
	probed := make(chan struct{})
	go func() {
		defer close(probed)
		for i := 2; !released.Load(); i++ {
			b.exec("SET synchronous_commit = on", fmt.Sprintf("INSERT INTO other VALUES (%d)", i))
		}
	}()
	b.exec(`DO $$ BEGIN
		WHILE NOT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep') LOOP PERFORM pg_sleep(0.01), pg_stat_clear_snapshot(); END LOOP;
	END $$`)
	commits := b.model.Commits()
	committed := make(chan struct{})
	go func() {
		defer close(committed)
		b.exec("SET synchronous_commit = on", "BEGIN; ALTER TABLE t ALTER v TYPE int USING 1; INSERT INTO other VALUES (1); COMMIT")
	}()
	b.await("the transaction in the stream", func() bool { return b.model.Commits() > commits })

	_, err := b.version(stand.Within(t, 300*time.Millisecond))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while the commit waits: error %v, want none but the deadline's", err)
	}
	released.Store(true)
	b.exec("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
	<-committed
	<-probed
	if b.mustVersion() == before {
		t.Error("the version does not show the change")
	}
}

func TestStream_copiesNothingAnewForRewritesThatKeepRows(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT g, g FROM generate_series(1, 100) g")
	b.follow()
	b.same()
	copies := b.model.Copies()
	b.exec("VACUUM FULL t", "CLUSTER t USING t_pkey", "UPDATE t SET v = 0", "TRUNCATE t", "INSERT INTO t VALUES (1, 1)", "ANALYZE t",
		"CREATE TABLE last (id int PRIMARY KEY)")
	b.await("the table created last", func() bool { def, _ := b.model.Table("public", "last"); return def != nil })
	b.same()
	if n := b.model.Copies() - copies; n != 1 {
		t.Errorf("%d copies were taken, want that of the new table alone", n)
	}
}
