package postgres_test

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/e2e/stand"
)

// asRole returns a URL for a role whose password is its name.
func asRole(t *testing.T, raw, role string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, role)
	return u.String()
}

// columns returns the names of a table's columns as the model knows them.
func (b *testbed) columns(table string) (names string) {
	def, _ := b.model.Table("public", table)
	if def == nil {
		return ""
	}
	for _, c := range def.Columns {
		names += c.Name + " "
	}
	return names
}

func TestStream_followsChangedDefinitions(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY, a text, b int NOT NULL DEFAULT 1); INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2)")
	b.follow()
	b.same()
	for _, step := range []struct{ name, ddl, columns string }{
		{"add column", "ALTER TABLE t ADD COLUMN c text", "id a b c "},
		{"add column with fast default", "ALTER TABLE t ADD COLUMN d int NOT NULL DEFAULT 7", "id a b c d "},
		{"rename column", "ALTER TABLE t RENAME COLUMN a TO aa", "id aa b c d "},
		{"drop column", "ALTER TABLE t DROP COLUMN c", "id aa b d "},
		{"change type", "ALTER TABLE t ALTER COLUMN b TYPE bigint", "id aa b d "},
		{"rewrite values", "ALTER TABLE t ALTER COLUMN b TYPE bigint USING b + 100", "id aa b d "},
		{"change in one transaction", `BEGIN; INSERT INTO t VALUES (50, 'in', 1, 1); ALTER TABLE t ADD e int; UPDATE t SET e = 5;
			ALTER TABLE t ADD f int; UPDATE t SET f = 6; COMMIT`, "id aa b d e f "},
		{"change the key", "ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (id, b)", "id aa b d e f "},
		{"allow NULL", "ALTER TABLE t ALTER COLUMN d DROP NOT NULL; UPDATE t SET d = NULL WHERE id = 1", "id aa b d e f "},
		{"create again", "DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, z text); INSERT INTO t VALUES (1, 'new')", "id z "},
	} {
		t.Run(step.name, func(t *testing.T) {
			before, _ := b.model.Table("public", "t")
			// Changes on both sides of the DDL, some seen before the catalog is looked at.
			b.exec("UPDATE t SET id = id + 1000 WHERE id = 2", step.ddl,
				"UPDATE t SET id = id + 2000 WHERE id < 2000", "UPDATE t SET id = id - 2000", "UPDATE t SET id = 2 WHERE id = 1002")
			b.await(step.name, func() bool {
				now, why := b.model.Table("public", "t")
				return now != nil && why == nil && now != before && b.columns("t") == step.columns
			})
			b.same()
		})
	}
}

// Changes under the former key reach the stream after the catalog has told of the new one.
func TestStream_followsAKeyThatChangedWhileItLagged(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, `CREATE TABLE t (id int PRIMARY KEY, b int NOT NULL); INSERT INTO t SELECT g, -g FROM generate_series(1, 100) g;
		CREATE TABLE p (id int PRIMARY KEY, b int) PARTITION BY RANGE (id); CREATE TABLE p1 PARTITION OF p DEFAULT;
		INSERT INTO p SELECT g, -g FROM generate_series(1, 100) g`)
	b.follow()
	b.same()
	b.stop()
	b.exec("UPDATE t SET id = id + 1000 WHERE id > 50", "DELETE FROM t WHERE id < 20",
		"ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (b)", "UPDATE t SET b = b - 1000 WHERE id < 30", "DELETE FROM t WHERE id = 40")
	b.exec("UPDATE p SET b = 7 WHERE id > 50", "DELETE FROM p WHERE id < 20",
		"ALTER TABLE p DROP CONSTRAINT p_pkey, ALTER b SET NOT NULL", "ALTER TABLE p ADD PRIMARY KEY (id, b)", "UPDATE p SET b = 8 WHERE id > 70")
	b.follow()
	b.same()
	for _, table := range []string{"t", "p"} {
		if def, why := b.model.Table("public", table); def == nil || why != nil {
			t.Errorf("table %s is not followed: %v", table, why)
		}
	}
	b.exec("UPDATE t SET b = b - 5000 WHERE id = 30", "DELETE FROM t WHERE id = 35")
	b.same()
}

// Whoever looks at the catalog before and after finds the same key. Changes made in between say which row by another.
func TestStream_copiesAnewWhereTheKeyWasAnotherMeanwhile(t *testing.T) {
	t.Parallel()
	const swap = "UPDATE t SET a = 2 WHERE b = 10; UPDATE t SET a = 1 WHERE b = 20; "
	b := newTestbed(t, "")
	b.follow()
	b.same()
	for _, c := range []struct{ name, schema, away, changes, back string }{
		{"primary key", "", "DROP CONSTRAINT t_pkey, ADD CONSTRAINT t_b PRIMARY KEY (b)", swap, "DROP CONSTRAINT t_b, ADD CONSTRAINT t_pkey PRIMARY KEY (a)"},
		{"primary key, for a delete", "", "DROP CONSTRAINT t_pkey, ADD CONSTRAINT t_b PRIMARY KEY (b)", "DELETE FROM t WHERE b = 10", "DROP CONSTRAINT t_b, ADD CONSTRAINT t_pkey PRIMARY KEY (a)"},
		{"more columns", "", "DROP CONSTRAINT t_pkey, ADD CONSTRAINT t_ab PRIMARY KEY (a, b)", "UPDATE t SET b = 30 - b; UPDATE t SET a = 3 - a", "DROP CONSTRAINT t_ab, ADD CONSTRAINT t_pkey PRIMARY KEY (a)"},
		{"index of the replica identity", "CREATE UNIQUE INDEX t_a ON t (a); CREATE UNIQUE INDEX t_b ON t (b); ALTER TABLE t REPLICA IDENTITY USING INDEX t_a, DROP CONSTRAINT t_pkey",
			"REPLICA IDENTITY USING INDEX t_b; DROP INDEX t_a", swap, "ADD CONSTRAINT t_a UNIQUE (a), REPLICA IDENTITY USING INDEX t_a"},
		{"partitions", "DROP TABLE t; CREATE TABLE t (a int NOT NULL, b int NOT NULL, CONSTRAINT t_pkey PRIMARY KEY (a, b)) PARTITION BY RANGE (b); CREATE TABLE t1 PARTITION OF t DEFAULT; INSERT INTO t VALUES (1, 10), (2, 20)",
			"DROP CONSTRAINT t_pkey, ADD CONSTRAINT t_b PRIMARY KEY (b)", swap, "DROP CONSTRAINT t_b, ADD CONSTRAINT t_pkey PRIMARY KEY (a, b)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			copies := b.model.Copies()
			b.exec("DROP TABLE IF EXISTS t; CREATE TABLE t (a int NOT NULL, b int NOT NULL, CONSTRAINT t_pkey PRIMARY KEY (a)); INSERT INTO t VALUES (1, 10), (2, 20); " + c.schema)
			b.await("the first copy", func() bool { return b.model.Copies() > copies })
			b.exec("INSERT INTO t VALUES (3, 30)")
			b.same()
			copies = b.model.Copies()
			b.exec("BEGIN; ALTER TABLE t " + c.away + "; " + c.changes + "; ALTER TABLE t " + c.back + "; COMMIT")
			b.await("a new copy", func() bool { return b.model.Copies() > copies })
			b.exec("UPDATE t SET a = a + 10", "DELETE FROM t WHERE a = 11")
			b.same()
			if n := b.model.Copies() - copies; n != 1 {
				t.Errorf("%d copies were taken, want one", n)
			}
		})
	}
}

func TestStream_followsTablesThatComeAndGo(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE first (id int PRIMARY KEY); CREATE SCHEMA hidden")
	b.follow()
	b.same()
	has := func(name string) func() bool {
		return func() bool { def, _ := b.model.Table("public", name); return def != nil }
	}
	b.exec("CREATE TABLE late (id int PRIMARY KEY, v text)",
		"INSERT INTO late SELECT g, 'v' || g FROM generate_series(1, 1000) g", "UPDATE late SET v = 'w' WHERE id < 100")
	b.await("a new table", has("late"))
	b.exec("UPDATE late SET v = 'z' WHERE id > 900")
	b.same()
	b.exec("ALTER TABLE late RENAME TO later")
	b.await("a renamed table", has("later"))
	b.exec("DELETE FROM later WHERE id < 10")
	b.same()
	b.exec("ALTER TABLE later SET SCHEMA hidden", "INSERT INTO hidden.later VALUES (5000)")
	b.await("a table out of the patterns", func() bool { return !has("later")() })
	b.exec("DROP TABLE first")
	b.await("a dropped table", func() bool { return !has("first")() })
	b.exec("ALTER TABLE hidden.later SET SCHEMA public", "INSERT INTO later VALUES (6000)")
	b.await("a table that comes back", has("later"))
	b.same()
}

func TestStream_stopsTablesAndTakesThemUpAgain(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY, v int); CREATE TABLE bystander (id int PRIMARY KEY)")
	b.follow()
	b.same()
	stoppedWith := func(code cdc.Code) func() bool { return func() bool { return b.stopped("t") == code } }
	b.exec("ALTER TABLE t ALTER id TYPE int4range USING int4range(id, id + 1)", "INSERT INTO t VALUES ('[1,1]', 1)", "INSERT INTO bystander VALUES (1)")
	b.await("a key of an unsupported type", stoppedWith(cdc.CodeUnsupportedType))
	b.same()
	b.exec("ALTER TABLE t ALTER id TYPE int USING lower(id)", "UPDATE t SET v = 2")
	b.await("the type goes away", stoppedWith(""))
	b.same()
	b.exec("ALTER TABLE t DROP CONSTRAINT t_pkey")
	b.await("no key", stoppedWith(cdc.CodeNoKey))
	// Not published any more, the table can be updated by the application.
	b.exec("UPDATE t SET v = 3", "INSERT INTO bystander VALUES (2)")
	b.same()
	b.exec("ALTER TABLE t ADD PRIMARY KEY (id)")
	b.await("a key again", stoppedWith(""))
	b.exec("UPDATE t SET v = 4")
	b.same()
}

func TestStream_leavesColumnsOutAndTakesThemIn(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, '{1}')")
	b.follow()
	b.same()
	omits := func(columns, omitted string) func() bool {
		return func() bool {
			def, why := b.model.Table("public", "t")
			if def == nil || why != nil {
				return false
			}
			names := ""
			for _, c := range def.Omitted {
				names += c.Name
			}
			return b.columns("t") == columns && names == omitted
		}
	}
	for _, step := range []struct{ ddl, columns, omitted string }{
		{"ALTER TABLE t ADD COLUMN p point DEFAULT '(1,1)', ADD COLUMN w int", "id v w ", "p"},
		{"ALTER TABLE t ALTER v TYPE interval[] USING v::interval[]", "id w ", "vp"},
		{"ALTER TABLE t ALTER v TYPE text USING v[1]", "id v w ", "p"},
		{"ALTER TABLE t DROP COLUMN p", "id v w ", ""},
		{"ALTER TABLE t ALTER v TYPE text[] USING ARRAY[NULL, v]", "id v w ", ""},
	} {
		b.exec("BEGIN; INSERT INTO t (id, v) SELECT max(id) + 1, '{2}' FROM t; "+step.ddl+"; UPDATE t SET id = -id; COMMIT",
			"UPDATE t SET id = abs(id) + 100")
		b.await(step.ddl, omits(step.columns, step.omitted))
		b.same()
	}
}

func TestStream_followsPartitionsThatComeAndGo(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, `CREATE TABLE p (id int PRIMARY KEY, v text) PARTITION BY RANGE (id); CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM (0) TO (10);
		INSERT INTO p VALUES (1, 'a'), (2, 'b')`)
	b.follow()
	b.same()
	for _, step := range []struct {
		name, ddl string
		id        int // in a partition that is there afterwards
	}{
		{"create partition", "CREATE TABLE p_2 PARTITION OF p FOR VALUES FROM (10) TO (20); INSERT INTO p VALUES (11, 'c')", 1},
		{"attach partition", `CREATE TABLE p_3 (id int PRIMARY KEY, v text); INSERT INTO p_3 VALUES (25, 'd');
			ALTER TABLE p ATTACH PARTITION p_3 FOR VALUES FROM (20) TO (30)`, 25},
		{"detach partition", "ALTER TABLE p DETACH PARTITION p_2", 25},
		{"truncate one partition", "TRUNCATE p_3", 25},
		{"drop partition", "DROP TABLE p_1", 25},
	} {
		copies := b.model.Copies()
		b.exec(step.ddl)
		b.await(step.name, func() bool { return b.model.Copies() > copies })
		b.exec(fmt.Sprintf("INSERT INTO p VALUES (%d, 'x') ON CONFLICT DO NOTHING; UPDATE p SET v = v || '!' WHERE id = %[1]d", step.id))
		b.same()
	}
}

// What a partition had is not the table's any more when it goes, though the rows that came to it by the table are in the stream.
func TestStream_copiesAnewWhereAPartitionCameAndWent(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, `CREATE TABLE p (id int PRIMARY KEY, v text) PARTITION BY RANGE (id); CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM (0) TO (10);
		INSERT INTO p VALUES (1, 'a'); CREATE TYPE mood AS ENUM ('sad'); CREATE TABLE q (id int PRIMARY KEY, m mood) PARTITION BY RANGE (id);
		CREATE TABLE q_1 PARTITION OF q FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (id); CREATE TABLE q_11 PARTITION OF q_1 FOR VALUES FROM (0) TO (5)`)
	b.follow()
	b.same()
	for _, c := range []struct{ name, transaction string }{
		{"dropped", "CREATE TABLE tmp PARTITION OF p FOR VALUES FROM (10) TO (20); INSERT INTO p VALUES (11, 'x'); DROP TABLE tmp"},
		{"detached", "CREATE TABLE tmp PARTITION OF p FOR VALUES FROM (10) TO (20); INSERT INTO p VALUES (1, 'y') ON CONFLICT (id) DO UPDATE SET v = 'z'; INSERT INTO tmp VALUES (12, 'x'); ALTER TABLE p DETACH PARTITION tmp; DROP TABLE tmp"},
		{"emptied another", "CREATE TABLE tmp PARTITION OF p FOR VALUES FROM (10) TO (20); UPDATE p SET id = 13 WHERE id = 1; ALTER TABLE p DETACH PARTITION tmp; INSERT INTO p SELECT 1, v FROM tmp; DROP TABLE tmp"},
		{"below, with a type of its own", "CREATE TABLE tmp PARTITION OF q_1 FOR VALUES FROM (5) TO (10); INSERT INTO q VALUES (5, 'sad'); DROP TABLE tmp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			copies := b.model.Copies()
			b.exec("BEGIN; " + c.transaction + "; COMMIT")
			b.await("a new copy", func() bool { return b.model.Copies() > copies })
			b.exec("UPDATE p SET v = v || '!'", "INSERT INTO q VALUES (2, 'sad')", "DELETE FROM q")
			b.same()
			if n := b.model.Copies() - copies; n != 1 {
				t.Errorf("%d copies were taken, want one", n)
			}
		})
	}
}

func TestCopy_stopsOnlyTheTableThatWasDropped(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY); INSERT INTO b VALUES (1)")
	ctx := stand.Within(t, 20*time.Second)
	found, err := b.source.Tables(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b.exec("DROP TABLE a")
	sink := &countingSink{}
	if _, err := b.source.Copy(ctx, []cdc.TableID{found[0].Table.ID, found[1].Table.ID}, sink); err != nil {
		t.Fatal(err)
	}
	if sink.rows != 1 || len(sink.stopped) != 1 || sink.stopped[0].Table != "public.a" {
		t.Errorf("copied %d rows, stopped %v", sink.rows, sink.stopped)
	}
}

func TestCopy_stopsOnlyTheTableThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE broken (id int PRIMARY KEY); CREATE TABLE whole (id int PRIMARY KEY); INSERT INTO broken VALUES (1); INSERT INTO whole VALUES (1)")
	ctx := stand.Within(t, 20*time.Second)
	var file string
	if err := stand.Connect(t, b.url).QueryRow(ctx, "SELECT current_setting('data_directory') || '/' || pg_relation_filepath('broken')").Scan(&file); err != nil {
		t.Fatal(err)
	}
	if err := b.server.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Repeat([]byte{0xff}, 8192), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.server.Start(ctx); err != nil {
		t.Fatal(err)
	}
	b.follow()
	b.await("the other table", func() bool {
		def, why := b.model.Table("public", "whole")
		return def != nil && why == nil && b.model.Copies() > 0
	})
	stopped := func() bool { return b.stopped("broken") == cdc.CodeUnrepresentable }
	b.await("the table stops", stopped)
	copies := b.model.Copies()
	for i := range 3 {
		b.exec(fmt.Sprintf("INSERT INTO whole VALUES (%d)", 10+i))
		b.same()
	}
	b.await("the table is stopped still", stopped)
	if n := b.model.Copies() - copies; n > 5 { // the first looks at the catalog may each have it tried once more
		t.Errorf("%d more copies were tried of what only a person can mend", n)
	}
}
