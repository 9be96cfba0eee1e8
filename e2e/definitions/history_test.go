package definitions

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/e2e/endpoint"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/pgserver"
)

// The tables of a history. Several of their columns are long enough to be left out of an update that does not change them.
var historyTables = []string{`"Plain"`, `"a.b"`, `"se""lect"`, "parted"}

const historySchema = `
CREATE SEQUENCE ids;
CREATE TYPE mood AS ENUM ('sad', 'glad');
CREATE FUNCTION long() RETURNS text LANGUAGE sql VOLATILE AS $$SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 90)$$;
CREATE TABLE "Plain" (id int PRIMARY KEY, a text, b jsonb, c text[], n numeric(9,2) DEFAULT 1.5, m mood DEFAULT 'sad', v int DEFAULT 0);
CREATE TABLE "a.b" (id int PRIMARY KEY, v int DEFAULT 0, a text, b jsonb, c text[], n numeric(9,2), m mood);
CREATE TABLE "se""lect" (LIKE "Plain" INCLUDING ALL);
CREATE TABLE parted (id int PRIMARY KEY, a text, b jsonb, c text[], n numeric(9,2), m mood, v int DEFAULT 0) PARTITION BY RANGE (id);
CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (0);
CREATE TABLE parted_high PARTITION OF parted FOR VALUES FROM (0) TO (1000000);`

// Statements of a history, over a table $t, another one $o and a number $n. What the state does not allow fails, and is rolled back by itself.
var (
	historyRows = []string{
		"INSERT INTO $t (id, a, b, c) SELECT nextval('ids'), long(), jsonb_build_object('k', long(), 'n', 1.50), ARRAY[long(), NULL, ''] FROM generate_series(1, 30 * $n)",
		"INSERT INTO $t (id, c, m, n) VALUES (nextval('ids'), '[0:1]={a,\"b,\"}', 'glad', -0.01), (nextval('ids'), '{}', NULL, NULL)",
		"INSERT INTO $t (id) SELECT id FROM $o ON CONFLICT DO NOTHING",
		"UPDATE $t SET v = 1",
		"UPDATE $t SET v = 2 WHERE id % 3 = $n % 3",
		"UPDATE $t SET a = long(), m = 'glad' WHERE id % 5 = $n % 5",
		"UPDATE $t SET b = NULL, c = c || 'z'::text WHERE id % 5 = $n % 5",
		"UPDATE $t SET id = -id WHERE id % 4 = $n % 4",
		"UPDATE $t SET id = id + 100000 WHERE id % 7 = $n % 7; UPDATE $t SET id = id - 100000 WHERE id > 100000",
		"DELETE FROM $t WHERE id % 6 = $n % 6",
		"TRUNCATE $t",
		"DO $$ BEGIN FOR i IN 1..20 LOOP BEGIN UPDATE $t SET v = i WHERE id % 20 = i; IF i % 3 = 0 THEN RAISE 'undone'; END IF; EXCEPTION WHEN raise_exception THEN NULL; END; END LOOP; END $$",
	}
	historyDefinitions = []string{
		"ALTER TABLE $t ADD COLUMN x$n numeric(12,3) DEFAULT 7.25",
		"ALTER TABLE $t ADD COLUMN x$n text NOT NULL DEFAULT 'fast'",
		"ALTER TABLE $t ADD COLUMN x$n uuid[] DEFAULT ARRAY[gen_random_uuid()]",
		"ALTER TABLE $t DROP COLUMN x$n",
		"ALTER TABLE $t RENAME COLUMN x$n TO \"_Version $n\"",
		"ALTER TABLE $t RENAME COLUMN a TO swapped; ALTER TABLE $t RENAME COLUMN v TO a; ALTER TABLE $t RENAME COLUMN swapped TO v",
		"ALTER TABLE $t ALTER n TYPE numeric(12,4)", "ALTER TABLE $t ALTER n TYPE numeric(9,2)", "ALTER TABLE $t ALTER n TYPE text", "ALTER TABLE $t ALTER n TYPE numeric USING n::numeric",
		"ALTER TABLE $t ALTER b TYPE text", "ALTER TABLE $t ALTER b TYPE jsonb USING to_jsonb(b)", "ALTER TABLE $t ALTER b TYPE text[] USING ARRAY[b::text]",
		"ALTER TABLE $t ALTER v TYPE bigint USING v + 5; ALTER TABLE $t ALTER v TYPE int USING v - 7",
		"ALTER TABLE $t ALTER m DROP DEFAULT, ALTER m TYPE text", "ALTER TABLE $t ALTER m TYPE mood USING m::text::mood",
		"ALTER TYPE mood ADD VALUE IF NOT EXISTS 'calm' BEFORE 'sad'", "ALTER TYPE mood RENAME VALUE 'sad' TO 'x'; ALTER TYPE mood RENAME VALUE 'glad' TO 'sad'; ALTER TYPE mood RENAME VALUE 'x' TO 'glad'",
		"ALTER TABLE $t REPLICA IDENTITY FULL", "ALTER TABLE $t REPLICA IDENTITY DEFAULT",
		"ALTER TABLE $t REPLICA IDENTITY NOTHING; INSERT INTO $t (id) VALUES (nextval('ids')); ALTER TABLE $t REPLICA IDENTITY DEFAULT",
		"ALTER TABLE parted_high REPLICA IDENTITY FULL; UPDATE parted SET id = id + 1000 WHERE id % 3 = 1; ALTER TABLE parted_high REPLICA IDENTITY DEFAULT",
		"CREATE UNIQUE INDEX other_key ON parted_high (id, v); ALTER TABLE parted_high ALTER v SET NOT NULL, REPLICA IDENTITY USING INDEX other_key; DELETE FROM parted WHERE id % 3 = 1; ALTER TABLE parted_high REPLICA IDENTITY DEFAULT, ALTER v DROP NOT NULL; DROP INDEX other_key",
		"ALTER PUBLICATION freshet DROP TABLE $t; DELETE FROM $t WHERE id % 4 = 1; ALTER PUBLICATION freshet ADD TABLE $t",
		"CREATE TABLE for_a_while PARTITION OF parted DEFAULT; INSERT INTO parted (id) VALUES (1000000 + nextval('ids')); DROP TABLE for_a_while",
		"ALTER TABLE parted DETACH PARTITION parted_low; DELETE FROM parted_low WHERE id % 2 = 0; ALTER TABLE parted ATTACH PARTITION parted_low FOR VALUES FROM (MINVALUE) TO (0)",
	}
	// of those that are not partitioned
	historyReplacements = []string{
		"ALTER TABLE $t RENAME TO swapped; ALTER TABLE $o RENAME TO $t; ALTER TABLE swapped RENAME TO $o",
		"CREATE TABLE again (LIKE $t INCLUDING ALL); INSERT INTO again SELECT * FROM $t WHERE id % 2 = 0; DROP TABLE $t; ALTER TABLE again RENAME TO $t",
	}
)

// TestHistory_leavesTheReplicaEqual has transactions at random that mix changes of rows and of definitions, and compares all tables row for row after
// every few of them. An own test, for what keeps no sum: values that an update leaves out, types that change, rows that come and go.
func TestHistory_leavesTheReplicaEqual(t *testing.T) {
	seed := *randomSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-random-seed %d", seed)
	postgres := stand.Postgres(t, func(c *pgserver.Config) { c.Settings = map[string]string{"max_prepared_transactions": "5"} })
	engine := stand.Engine(t)
	stand.Exec(t, stand.Connect(t, postgres.URL("postgres")), "CREATE DATABASE "+database)
	h := &history{rand: rand.New(rand.NewPCG(seed, 0)), direct: stand.Connect(t, postgres.URL(database))}
	stand.Exec(t, h.direct, historySchema)
	g := endpoint.Start(t, postgres, engine, database)
	h.columnar = stand.Connect(t, g.URL(database))
	stand.Exec(t, h.columnar, "SET freshet.freshness = 'strong'; SET freshet.route = 'columnar'")
	deadline := time.Now().Add(*randomFor)
	for rounds := 0; rounds < 3 || time.Now().Before(deadline); rounds++ {
		for range 1 + h.rand.IntN(5) {
			if err := h.transaction(t.Context()); err != nil {
				t.Fatalf("%v\nafter:\n%s", err, strings.Join(h.done, "\n"))
			}
		}
		if err := h.compare(t.Context()); err != nil {
			t.Fatalf("%v\ntables: %+v\nafter:\n%s", err, g.Status().Tables, strings.Join(h.done, "\n"))
		}
	}
	t.Logf("%d statements, %d of which PostgreSQL refused", len(h.done), h.refused)
}

// history is a session that changes tables, and one that reads them from the replica.
type history struct {
	rand             *rand.Rand
	direct, columnar *pgx.Conn
	done             []string
	refused          int
}

// transaction runs some statements in one transaction, which then ends in one way or another.
func (h *history) transaction(ctx context.Context) error {
	if err := h.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	defines := h.rand.IntN(3) == 0 // the others are applied to the tables as they are, rather than copied with them
	for range 1 + h.rand.IntN(6) {
		if err := h.step(ctx, defines); err != nil {
			return err
		}
	}
	switch h.rand.IntN(8) {
	case 0:
		return h.exec(ctx, "ROLLBACK")
	case 1:
		return errors.Join(h.exec(ctx, "PREPARE TRANSACTION 'history'"), h.exec(ctx, "COMMIT PREPARED 'history'"))
	}
	return h.exec(ctx, "COMMIT")
}

// step runs one statement, of rows or also of definitions, in a subtransaction, which it may roll back.
func (h *history) step(ctx context.Context, defines bool) error {
	list, tables := historyRows, historyTables
	switch n := h.rand.IntN(8); {
	case !defines || n > 2:
	case n == 0:
		list, tables = historyReplacements, historyTables[:3]
	default:
		list = historyDefinitions
	}
	i := h.rand.IntN(len(tables))
	other := tables[(i+1+h.rand.IntN(len(tables)-1))%len(tables)]
	sql := strings.NewReplacer("$t", tables[i], "$o", other, "$n", fmt.Sprint(h.rand.IntN(4))).Replace(one(h.rand, list))
	if err := h.exec(ctx, "SAVEPOINT s"); err != nil {
		return err
	}
	err := h.exec(ctx, sql)
	if _, ok := errors.AsType[*pgconn.PgError](err); ok {
		h.refused++
	} else if err != nil {
		return err
	}
	if err != nil || h.rand.IntN(10) == 0 {
		return h.exec(ctx, "ROLLBACK TO s")
	}
	return nil
}

func (h *history) exec(ctx context.Context, sql string) error {
	h.done = append(h.done, sql+";")
	if _, err := h.direct.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// compare compares all tables, once the replica has them.
func (h *history) compare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, table := range historyTables {
		want, err := sortedRows(ctx, h.direct, "SELECT * FROM "+table)
		if err != nil {
			return err
		}
		got, err := sortedRows(ctx, h.columnar, "SELECT * FROM "+table)
		for refused(err) && ctx.Err() == nil {
			got, err = sortedRows(ctx, h.columnar, "SELECT * FROM "+table)
		}
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("table %s, PostgreSQL's rows (-) and the replica's (+):\n%s", table, diff)
		}
	}
	return nil
}

// sortedRows returns a query's rows in an order of their own.
func sortedRows(ctx context.Context, conn *pgx.Conn, sql string) ([]string, error) {
	results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sql, err)
	}
	out := make([]string, 0, len(results[0].Rows))
	for _, row := range results[0].Rows {
		out = append(out, fmt.Sprintf("%q", row))
	}
	slices.Sort(out)
	return out, nil
}
