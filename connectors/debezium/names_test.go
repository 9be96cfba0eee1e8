//go:build kafka

package debezium_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cdc/sourcetest"
	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/e2e/stand"
)

// Debezium gives tables whose names differ in special characters only, or are written in another script, one topic.
func TestStream_tellsTablesOfOneTopicApart(t *testing.T) {
	b := newTestbed(t, `CREATE TABLE x_y (id int PRIMARY KEY, v text); INSERT INTO x_y VALUES (1, 'one'), (2, 'two');
		CREATE TABLE "x y" (id int PRIMARY KEY, v text); CREATE TABLE "счёт" (id int PRIMARY KEY, v text); CREATE TABLE "чеки" (id int PRIMARY KEY, n int);
		CREATE TABLE others (id int PRIMARY KEY);
		CREATE TABLE keyless (a int UNIQUE NOT NULL, v text); ALTER TABLE keyless REPLICA IDENTITY FULL;
		CREATE TABLE "key-less" (LIKE keyless INCLUDING ALL); ALTER TABLE "key-less" REPLICA IDENTITY FULL`)
	m := sourcetest.NewModel()
	m.Start(t, b.newSource())
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`INSERT INTO "x y" VALUES (1, 'other'), (10, 'intruder'); UPDATE x_y SET v = v || '!'; DELETE FROM "x y" WHERE id = 1`,
		`BEGIN; INSERT INTO x_y SELECT g, 'x_y' FROM generate_series(100, 199) g; INSERT INTO "x y" SELECT g, 'x y' FROM generate_series(100, 199) g; TRUNCATE "x y"; INSERT INTO "x y" VALUES (1, 'after'); COMMIT`,
		`INSERT INTO "счёт" VALUES (1, 'a'); INSERT INTO "чеки" VALUES (1, 1); TRUNCATE "счёт"; INSERT INTO "чеки" VALUES (2, 2)`,
		`INSERT INTO keyless VALUES (1, 'k'), (2, 'k'); INSERT INTO "key-less" VALUES (1, 'l'); UPDATE keyless SET a = 3 WHERE a = 1; DELETE FROM "key-less"`,
	} {
		b.exec(sql)
		if err := m.CatchUpAndCompare(b.url); err != nil {
			t.Fatalf("after %s: %v", sql, err)
		}
	}
	if n := m.Copies(); n != 1 {
		t.Errorf("%d copies were taken, want 1", n)
	}
	// Rows of a table that is gone, or has another name, when they are read.
	for i, sql := range [][]string{
		{`INSERT INTO "x y" VALUES (500, 'intruder')`, `DROP TABLE "x y"`},
		{`CREATE TABLE "x y" (id int PRIMARY KEY, v text)`},
		{`INSERT INTO "x y" VALUES (501, 'intruder'); TRUNCATE "x y"`, `DROP TABLE "x y"`},
		{`INSERT INTO "чеки" VALUES (3, 3)`, `ALTER TABLE "чеки" RENAME TO receipts`, `INSERT INTO receipts VALUES (4, 4)`},
		{`INSERT INTO "счёт" VALUES (7, 'b')`, `BEGIN; ALTER TABLE x_y RENAME TO swap; ALTER TABLE "счёт" RENAME TO x_y; ALTER TABLE swap RENAME TO "счёт"; COMMIT`, `INSERT INTO x_y VALUES (8, 'c')`},
	} {
		b.exec(append(sql, fmt.Sprintf(`INSERT INTO others VALUES (%d)`, i))...)
		err := m.Await(stand.Within(t, time.Minute), func() bool { return m.CatchUpAndCompare(b.url) == nil })
		if err != nil {
			t.Fatalf("after %s: %v; %v", sql, err, m.CatchUpAndCompare(b.url))
		}
	}
}

func TestStream_stopsTablesThatKafkaTakesForOthers(t *testing.T) {
	b := newTestbed(t, `CREATE SCHEMA app; CREATE SCHEMA app_user; CREATE SCHEMA "app.x"; CREATE TABLE app.user_role (id int PRIMARY KEY); CREATE TABLE app_user.role (id int PRIMARY KEY);
		CREATE TABLE app."x.y" (id int PRIMARY KEY, v text); CREATE TABLE "app.x".y (id int PRIMARY KEY)`)
	m := sourcetest.NewModel()
	m.Start(t, b.newSource(func(c *debezium.Config) { c.Postgres.Include = []string{"*.*"} }))
	check := func(sql string, replicated, stopped [2]string) {
		t.Helper()
		b.exec(sql)
		ctx := stand.Within(t, time.Minute)
		if err := m.Await(ctx, func() bool {
			_, good := m.Table(replicated[0], replicated[1])
			_, bad := m.Table(stopped[0], stopped[1])
			return good == nil && bad != nil && bad.Code == cdc.CodeConfiguration && m.CatchUpAndCompare(b.url) == nil
		}); err != nil {
			_, good := m.Table(replicated[0], replicated[1])
			_, bad := m.Table(stopped[0], stopped[1])
			t.Fatalf("after %s: %v; %v, %v; %v", sql, err, good, bad, m.CatchUpAndCompare(b.url))
		}
	}
	check(`INSERT INTO app.user_role VALUES (1); INSERT INTO app_user.role VALUES (2)`, [2]string{"app", "user_role"}, [2]string{"app_user", "role"})
	check(`INSERT INTO app."x.y" VALUES (1); INSERT INTO "app.x".y VALUES (2); UPDATE app."x.y" SET v = 'new'`, [2]string{"app", "x.y"}, [2]string{"app.x", "y"})
	// Of tables that come later, too, and of a topic whose table is gone.
	check(`CREATE TABLE app_user."role.x" (id int PRIMARY KEY); CREATE TABLE app.user_role_x (id int PRIMARY KEY)`, [2]string{"app_user", "role.x"}, [2]string{"app", "user_role_x"})
	check(`INSERT INTO app.user_role_x VALUES (1); INSERT INTO app_user."role.x" VALUES (2)`, [2]string{"app_user", "role.x"}, [2]string{"app", "user_role_x"})
	check(`DROP TABLE app_user."role.x"`, [2]string{"app", "user_role"}, [2]string{"app", "user_role_x"})
	check(`ALTER TABLE app_user.role RENAME TO roles; INSERT INTO app_user.roles VALUES (3)`, [2]string{"app_user", "roles"}, [2]string{"app", "user_role_x"})
}
