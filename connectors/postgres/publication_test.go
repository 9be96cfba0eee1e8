package postgres_test

import (
	"fmt"
	"testing"

	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/stand"
)

func TestStream_takesTablesUpThatSomebodyUnpublished(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	b.follow()
	b.same()
	copies := b.model.Copies()
	b.exec("ALTER PUBLICATION freshet DROP TABLE t; INSERT INTO t VALUES (1)")
	b.await("a new copy", func() bool { return b.model.Copies() > copies })
	b.exec("INSERT INTO t VALUES (2)")
	b.same()

	// Whoever looks afterwards finds the publication as it was.
	for _, meanwhile := range []string{
		"BEGIN; ALTER PUBLICATION freshet DROP TABLE t; INSERT INTO t VALUES (3); ALTER PUBLICATION freshet ADD TABLE t; COMMIT",
		"BEGIN; ALTER PUBLICATION freshet SET (publish = 'insert'); DELETE FROM t WHERE id = 3; ALTER PUBLICATION freshet SET (publish = 'insert, update, delete, truncate'); COMMIT",
		"BEGIN; ALTER PUBLICATION freshet SET TABLE t WHERE (id > 9); INSERT INTO t VALUES (4); ALTER PUBLICATION freshet SET TABLE t; COMMIT",
	} {
		copies = b.model.Copies()
		b.exec(meanwhile)
		b.await("a new copy after "+meanwhile, func() bool { return b.model.Copies() > copies })
		b.same()
	}

	b.stop()
	copies = b.model.Copies()
	b.exec("ALTER PUBLICATION freshet SET (publish = 'insert')", "DELETE FROM t WHERE id = 1")
	b.source = b.newSource()
	b.follow()
	b.await("a new copy after a restart", func() bool { return b.model.Copies() > copies })
	b.same()
}

// What the publication left out while nobody watched is missing for good unless the tables are copied anew, though it is found as it was left.
func TestSource_copiesAnewWhatThePublicationLeftOutWhileItWasAway(t *testing.T) {
	t.Parallel()
	const whole = "publish = 'insert, update, delete, truncate', publish_via_partition_root = true, publish_generated_columns = stored"
	b := newTestbed(t, `CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE other (id int PRIMARY KEY);
		CREATE SCHEMA unselected; CREATE TABLE unselected.u (id int PRIMARY KEY)`)
	b.follow()
	b.same()
	for id, c := range []struct {
		name             string
		leaveOut, undone string
		copies           int
	}{
		{"nothing", "", "", 0},
		{"another table", "ALTER PUBLICATION freshet ADD TABLE ONLY unselected.u", "ALTER PUBLICATION freshet DROP TABLE unselected.u", 0},
		{"table", "ALTER PUBLICATION freshet DROP TABLE t", "ALTER PUBLICATION freshet ADD TABLE ONLY t", 1},
		{"rows", "ALTER PUBLICATION freshet SET TABLE other, t WHERE (id < 0)", "ALTER PUBLICATION freshet SET TABLE other, t", 1},
		{"operations", "ALTER PUBLICATION freshet SET (publish = 'truncate')", "ALTER PUBLICATION freshet SET (" + whole + ")", 1},
		{"name", "ALTER PUBLICATION freshet RENAME TO away", "ALTER PUBLICATION away RENAME TO freshet", 1},
		{"publication", "DROP PUBLICATION freshet", "CREATE PUBLICATION freshet FOR TABLE ONLY other, ONLY t WITH (" + whole + ")", 1},
		{"table that is not added again", "ALTER PUBLICATION freshet DROP TABLE t", "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.stop()
			copies := b.model.Copies()
			b.exec(c.leaveOut, fmt.Sprintf("INSERT INTO t VALUES (%d)", 10*id), c.undone, fmt.Sprintf("INSERT INTO t VALUES (%d)", 10*id+1))
			b.source = b.newSource()
			b.follow()
			b.same()
			if n := b.model.Copies() - copies; n != c.copies {
				t.Errorf("%d copies were taken, want %d", n, c.copies)
			}
		})
	}
}

// A lock that the application holds on one table keeps no other table off the publication.
func TestStream_publishesWhatItCanWhileATableIsLocked(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE SCHEMA chosen; CREATE TABLE chosen.locked (id int PRIMARY KEY)", func(c *postgres.Config) { c.Include = []string{"public.*", "chosen.*"} })
	b.follow()
	b.same()
	holder := stand.Connect(t, b.url)
	stand.Exec(t, holder, "BEGIN; LOCK TABLE chosen.locked IN SHARE UPDATE EXCLUSIVE MODE")
	b.exec("ALTER SCHEMA chosen RENAME TO left_out; CREATE TABLE late (id int PRIMARY KEY); INSERT INTO late VALUES (1)")
	b.await("the table created meanwhile", func() bool { def, why := b.model.Table("public", "late"); return def != nil && why == nil })
	stand.Exec(t, holder, "COMMIT")
	b.exec("INSERT INTO late VALUES (2)")
	b.same()
}
