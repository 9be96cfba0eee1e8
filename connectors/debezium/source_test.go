//go:build kafka

package debezium_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cdc/sourcetest"
	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/stand"
)

func TestSource_copyMeetsTheStreamUnderWrites(t *testing.T) {
	b := newTestbed(t, sourcetest.Schema)
	sourcetest.CopyMeetsStream(t, b.database(), 1)
}

func TestSource_equalsTheDatabaseAfterRandomTransactions(t *testing.T) {
	b := newTestbed(t, sourcetest.Schema)
	m := sourcetest.EqualsTheDatabase(t, b.database())
	t.Logf("%d transactions, %d copies", m.Commits(), m.Copies())
}

func TestSource_resumesFromAPositionWithoutLossOrRepetition(t *testing.T) {
	b := newTestbed(t, sourcetest.Schema)
	sourcetest.Resumes(t, b.database(), 3, func(stop func()) { stop() })
}

func TestSource_resumesThroughKillsOfConnect(t *testing.T) {
	b := newTestbed(t, sourcetest.Schema)
	sourcetest.Resumes(t, b.database(), 2, sourcetest.Killed(t, b.stack.connect))
}

func TestSource_resumesThroughKillsOfTheBroker(t *testing.T) {
	b := newTestbed(t, sourcetest.Schema)
	sourcetest.Resumes(t, b.database(), 1, sourcetest.Killed(t, b.stack.broker))
}

func TestSource_resumesThroughKillsOfTheDatabase(t *testing.T) {
	b := newTestbed(t, sourcetest.Schema)
	sourcetest.Resumes(t, b.database(), 1, sourcetest.Killed(t, b.stack.postgres))
}

// allTypes has every type that is replicated, with values at the edges.
const allTypes = `
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE DOMAIN price AS numeric(10,2);
CREATE TABLE kinds (id int PRIMARY KEY, b bool, i2 int2, i8 int8, n numeric, n2 numeric(12,2), f4 float4, f8 float8, t text, v varchar(20),
	c char(8), d date, ts timestamp, ts3 timestamp(3), tz timestamptz, tm time, tm3 time(3), u uuid, ba bytea, j json, jb jsonb, m mood,
	p price, ch "char", "odd ""name" text, g bigint GENERATED ALWAYS AS (id * 2) STORED);
CREATE TABLE named (id int PRIMARY KEY, n name, v int);
CREATE TABLE scales (id int PRIMARY KEY, hundreds numeric(5,-2), small numeric(3,5), large numeric(76,38));
CREATE TABLE "tables 😀" (id int PRIMARY KEY, "ö 😀" text);
CREATE TABLE by_name (n name PRIMARY KEY);
CREATE TABLE by_index (a int NOT NULL UNIQUE, b int, t text); ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_a_key;
CREATE TABLE beside (id int PRIMARY KEY, a int NOT NULL, b text NOT NULL DEFAULT 'b', UNIQUE (a, b)); ALTER TABLE beside REPLICA IDENTITY USING INDEX beside_a_b_key;
CREATE TABLE whole (a int NOT NULL UNIQUE, b int, t text); ALTER TABLE whole REPLICA IDENTITY FULL, ALTER t SET STORAGE EXTERNAL;
`

var edges = []string{
	`INSERT INTO kinds VALUES (1, true, -32768, 9007199254740993, 123.4500, -0.10, 0.1, 1e-7, E'h"é\\u\n\u0001€😀', 'v', 'c', '2026-02-03',
		'2026-02-03 04:05:06.789012', '2026-02-03 04:05:06.789', '2026-02-03 04:05:06.789012+05', '24:00:00', '04:05:06.789',
		'6f1c1b1e-0000-4000-8000-000000000001', '\xdeadbeef', '{"a": 1.50}', '{"a": 1.50}', 'sad', 1.5, 'x', 'o')`,
	`INSERT INTO kinds VALUES (2, false, 32767, -9223372036854775808, 'NaN', 0, 'NaN', '-Infinity', '', '', '', 'infinity', 'infinity', '-infinity',
		'infinity', '00:00', '00:00', NULL, '', '1', '1', 'happy', -1.5, '', NULL)`,
	`INSERT INTO kinds VALUES (3, false, 5, 9223372036854775807, 'Infinity', 0, '-infinity', '-0', '', '', '', '-infinity', '-infinity',
		'0044-03-15 BC', '-infinity', '00:00', '00:00')`,
	`INSERT INTO kinds VALUES (4, false, 5, 1, 1e30, 9999999999.99, 3.4028235e38, 1.7976931348623157e308, '', '', '', '0044-03-15 BC', '20000-01-01',
		'1500-01-01', '0044-03-15 12:00:00.5 BC', '23:59:59.999999', '00:00')`,
	`INSERT INTO kinds (id, n, tz, d) VALUES (5, -1e-20, '12000-01-01', '5874897-12-31'), (6, 0.00, '0001-01-01', '4713-01-01 BC'),
		(7, '-Infinity', '2000-02-29 23:59:59.999999', '1900-02-28'), (8, 100000000.00010000, '1600-02-29', '2000-01-01'), (9, 0.00001, NULL, NULL)`,
	`INSERT INTO kinds (id) VALUES (10)`, `INSERT INTO kinds (id, ch) VALUES (11, '\303'), (12, '\'), (13, ''); UPDATE kinds SET ch = '\377' WHERE id = 13`,
	`INSERT INTO scales VALUES (1, 1234567, 0.00999, repeat('9', 38)::numeric + ('0.' || repeat('9', 38))::numeric), (2, -49, -0.00001, -0.5), (3, NULL, NULL, NULL)`,
	`INSERT INTO "tables 😀" VALUES (1, 'a')`, `UPDATE "tables 😀" SET "ö 😀" = '😀'`,
	`INSERT INTO by_index VALUES (1, 1, 'x'), (2, 2, 'y')`, `UPDATE by_index SET a = 3 WHERE a = 1`, `UPDATE by_index SET t = 'z' WHERE a = 2`,
	`INSERT INTO beside VALUES (1, 1), (2, 2), (3, 3)`, `UPDATE beside SET a = a + 10`, `UPDATE beside SET id = id + 10`, `UPDATE beside SET id = 1, a = 1, b = 'c' WHERE id = 11`,
	`UPDATE beside SET b = b || 'd'; UPDATE beside SET a = 5 WHERE id = 12; DELETE FROM beside WHERE id = 13`,
	`INSERT INTO whole SELECT g, g, repeat('long', 3000) FROM generate_series(1, 3) g`, `UPDATE whole SET b = 5`, `UPDATE whole SET a = 10 WHERE a = 1`, `DELETE FROM whole WHERE a = 2`,
	`TRUNCATE by_index, whole; INSERT INTO by_index VALUES (4, 4, 'again')`, `DELETE FROM by_index`, `INSERT INTO named VALUES (1, 'n', 1)`, `UPDATE named SET n = 'm', v = 2`,
	`UPDATE kinds SET id = id + 100 WHERE id < 5`, `DELETE FROM kinds WHERE id = 10`,
}

func TestStream_carriesAllTypes(t *testing.T) {
	b := newTestbed(t, allTypes)
	m := sourcetest.NewModel()
	m.Start(t, b.newSource())
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
	for _, sql := range edges {
		b.exec(sql)
		if err := m.CatchUpAndCompare(b.url); err != nil {
			t.Fatalf("after %s: %v", sql, err)
		}
	}
	if m.Copies() != 1 {
		t.Errorf("%d copies were taken, want 1: rows did not fit their tables", m.Copies())
	}
	if _, why := m.Table("public", "by_name"); why == nil || why.Code != cdc.CodeUnsupportedType {
		t.Errorf("the table with a key of type name stopped with %v", why)
	}
	if named, why := m.Table("public", "named"); why != nil || len(named.Omitted) != 1 {
		t.Errorf("the table with a column of type name leaves out %v, stopped with %v", named.Omitted, why)
	}
}

// otherTypes has types that are not replicated, of every kind: what Debezium makes of them must not hold the stream up.
const otherTypes = `
CREATE EXTENSION IF NOT EXISTS hstore; CREATE EXTENSION IF NOT EXISTS citext;
CREATE COLLATION loose (provider = icu, locale = 'und', deterministic = false);
CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TYPE pair AS (a int, b text); CREATE TYPE span AS RANGE (subtype = float8);
CREATE DOMAIN tags AS text[];
CREATE TABLE others (id int PRIMARY KEY, v int, ta text[], ia int[][], na numeric[], da date[], tza timestamptz[], ea mood[], ja jsonb[], ba bytea[], ua uuid[],
	dm tags, iv interval, ttz timetz, ip inet, net cidr, mac macaddr, mac8 macaddr8, m money, bi bit(3), vb varbit, o oid, ls pg_lsn, xid xid8,
	pt point, ln line, sg lseg, bx box, pth path, poly polygon, ci circle, r4 int4range, rn numrange, rts tstzrange, rd daterange, mr int4multirange,
	own span, p pair, pa pair[], x xml, tv tsvector, tq tsquery, h hstore, cit citext, lo text COLLATE loose, vg int GENERATED ALWAYS AS (id + 1), w text);
`

const otherValues = `INSERT INTO others VALUES (%d, 1, ARRAY['a', NULL, 'b "c"'], '{{1,2},{3,4}}', '{1.50,NaN}', '{infinity,0044-03-15 BC}', '{-infinity,2026-01-01}', '{sad}',
	ARRAY['{"a":1}'::jsonb, NULL], '{"\\x00"}', ARRAY[gen_random_uuid()], '{x}', '1 year -2 days 03:04:05.678', '24:00:00+15', '::1/64', '10.0.0.0/8', '08:00:2b:01:02:03',
	'08:00:2b:01:02:03:04:05', '-12.34', '101', '10101', 42, '16/B374D848', '7', '(1,2)', '{1,2,3}', '[(1,2),(3,4)]', '((1,2),(3,4))', '[(1,2),(3,4)]', '((1,2),(3,4))',
	'<(1,2),3>', '[1,5)', 'empty', '[,infinity)', '[2026-01-01,)', '{[1,2),[5,9)}', '[1.5,)', '(1,"x y")', ARRAY['(1,x)'::pair], '<a/>', 'a:1 b:2', 'a & b',
	'a=>1, b=>NULL', 'Text', 'loose', DEFAULT, 'last')`

func TestStream_leavesOutColumnsOfOtherTypes(t *testing.T) {
	b := newTestbed(t, otherTypes)
	m := sourcetest.NewModel()
	m.Start(t, b.newSource())
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		fmt.Sprintf(otherValues, 1), fmt.Sprintf(otherValues, 2), "INSERT INTO others (id, w) VALUES (3, 'nothing else')",
		"UPDATE others SET v = v + 1", "UPDATE others SET ta = '{}', pt = NULL, h = '', w = 'new'", "UPDATE others SET id = id + 10 WHERE id = 2", "DELETE FROM others WHERE id = 1",
		"ALTER TABLE others DROP COLUMN vg", // PostgreSQL does not publish it, nor updates of a whole row that has one
		"ALTER TABLE others REPLICA IDENTITY FULL", fmt.Sprintf(strings.Replace(otherValues, "DEFAULT, ", "", 1), 4), "UPDATE others SET id = id + 10, tv = 'z'", "DELETE FROM others WHERE id = 14",
	} {
		b.exec(sql)
		if err := m.CatchUpAndCompare(b.url); err != nil {
			t.Fatalf("after %s: %v", sql, err)
		}
	}
	def, why := m.Table("public", "others")
	if why != nil || len(def.Columns) != 3 {
		t.Errorf("replicated are %v, stopped with %v", def.Columns, why)
	}
}

func TestStream_followsTablesAndDefinitions(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY, a text, b int NOT NULL DEFAULT 1); INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2)")
	m := sourcetest.NewModel()
	m.Start(t, b.newSource())
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
	for _, ddl := range []string{
		"ALTER TABLE t ADD COLUMN c text",
		"ALTER TABLE t RENAME COLUMN a TO aa",
		"ALTER TABLE t DROP COLUMN c",
		"ALTER TABLE t ALTER COLUMN b TYPE bigint USING b + 100",
		"BEGIN; INSERT INTO t VALUES (50, 'in', 1); ALTER TABLE t ADD e int; UPDATE t SET e = 5; COMMIT",
		"CREATE TABLE late (id int PRIMARY KEY, v text); INSERT INTO late SELECT g, 'v' FROM generate_series(1, 100) g",
		"ALTER TABLE late RENAME TO later; UPDATE later SET v = 'w'",
		"DROP TABLE later; CREATE TABLE later (id int PRIMARY KEY); INSERT INTO later VALUES (1)",
	} {
		b.exec("UPDATE t SET id = id + 1000 WHERE id = 2", ddl, "UPDATE t SET id = 2 WHERE id = 1002")
		err := m.Await(stand.Within(t, time.Minute), func() bool { return m.CatchUpAndCompare(b.url) == nil })
		if err != nil {
			t.Fatalf("after %s: %v; %v", ddl, err, m.CatchUpAndCompare(b.url))
		}
	}
}

func TestStream_takesOneCopyForAChangeUnderLoad(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY, a text); INSERT INTO t SELECT g, 'x' FROM generate_series(1, 50) g")
	m := sourcetest.NewModel()
	m.Start(t, b.newSource())
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
	// More transactions of the old shape are on their way than a table may have misfits.
	var before []string
	for i := range 50 {
		before = append(before, fmt.Sprintf("UPDATE t SET a = 'y' WHERE id = %d", i))
	}
	b.exec(append(before, "ALTER TABLE t ADD COLUMN c int NOT NULL DEFAULT 5", "UPDATE t SET c = 6 WHERE id < 10")...)
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
	def, why := m.Table("public", "t")
	if why != nil || len(def.Columns) != 3 {
		t.Errorf("the table has %d columns and stopped with %v", len(def.Columns), why)
	}
	if n := m.Copies(); n > 3 {
		t.Errorf("%d copies were taken, want the first and one or two more", n)
	}
}

func TestStream_keepsWatermarksFreshWhileIdle(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE foreign_to_us (a int)")
	m := sourcetest.NewModel()
	m.Start(t, b.newSource())
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
	check := func(what string) {
		start := time.Now()
		if err := m.Await(stand.Within(t, 30*time.Second), func() bool { return m.LastWatermark().Time.After(start) }); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		t.Logf("%s: the watermark passed the start after %s", what, time.Since(start))
	}
	check("nothing happens")
	conn, err := pgx.Connect(t.Context(), b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "BEGIN; INSERT INTO t SELECT generate_series(1, 5000)"); err != nil {
		t.Fatal(err)
	}
	check("a transaction is open")
	b.exec("INSERT INTO foreign_to_us SELECT generate_series(1, 5000)")
	check("others write")
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
}

func TestStream_reportsLostHistory(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	m := sourcetest.NewModel()
	stop := m.Start(t, b.newSource())
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
	stop()
	src := b.newSource(func(c *debezium.Config) { c.StallLimit = 3 * time.Second })
	ctx := stand.Within(t, 3*time.Minute)
	sourcetest.WantTerminal(t, src.Stream(ctx, cdc.Position{Major: 1}, m), cdc.CodeHistoryLost)
	sourcetest.WantTerminal(t, src.Stream(ctx, cdc.Position{Major: 1 << 40}, m), cdc.CodeSourceMismatch)

	// Rows that expire before they are read are missed when Connect has gone on.
	at := m.Position()
	b.exec("INSERT INTO t SELECT generate_series(1, 100)")
	b.awaitRecords(fmt.Sprintf("%s.public.t", b.name), 100)
	b.expire(fmt.Sprintf("%s.public.t", b.name))
	sourcetest.WantTerminal(t, src.Stream(ctx, at, m), cdc.CodeHistoryLost)

	b.deleteTopic(b.name + ".transaction")
	err := src.Stream(ctx, at, m)
	for terminal := new(cdc.TerminalError); ctx.Err() == nil && !errors.As(err, &terminal); {
		err = src.Stream(ctx, at, m) // the broker forgets a topic little by little
	}
	sourcetest.WantTerminal(t, err, cdc.CodeHistoryLost)
}

func TestTables_createsNoSlotForTopicsThatHaveAHistory(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	m := sourcetest.NewModel()
	stop := m.Start(t, b.newSource())
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
	stop()
	b.removeConnector()
	direct, err := postgres.New(postgres.Config{URL: b.url, Slot: b.name})
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	ctx := stand.Within(t, time.Minute)
	if err := direct.DropSlotAndPublication(ctx); err != nil {
		t.Fatal(err)
	}
	src := b.newSource()
	sourcetest.WantTerminal(t, src.Stream(ctx, m.Position(), m), cdc.CodeSlotLost)
	_, err = src.Tables(ctx)
	sourcetest.WantTerminal(t, err, cdc.CodeSlotLost)
	if err := src.Remove(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := src.Tables(ctx); err != nil {
		t.Errorf("after Remove: %v", err)
	}
}

func TestStream_tellsThatTheSlotWasMadeAnew(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	m := sourcetest.NewModel()
	stop := m.Start(t, b.newSource())
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
	stop()
	b.removeConnector()
	b.awaitFreeSlot()
	b.exec(fmt.Sprintf("SELECT pg_drop_replication_slot('%s')", b.name), "INSERT INTO t VALUES (1)",
		fmt.Sprintf("SELECT pg_create_logical_replication_slot('%s', 'pgoutput')", b.name))
	src, ctx := b.newSource(), stand.Within(t, 2*time.Minute)
	if _, err := src.Tables(ctx); err != nil {
		t.Fatal(err)
	}
	sourcetest.WantTerminal(t, src.Stream(ctx, m.Position(), m), cdc.CodeSlotLost)
}

// noSink receives a copy of no tables.
type noSink struct{ cdc.CopySink }

func (noSink) Begin(context.Context, cdc.Position, []*cdc.Table) error { return nil }

// countingHandler counts what a stream hands over, without keeping it.
type countingHandler struct {
	changes, largest, commits int
	heap                      uint64
	done                      context.CancelFunc
}

func (h *countingHandler) Changes(_ context.Context, changes []cdc.Change) error {
	h.largest = max(h.largest, len(changes))
	if before := h.changes; before/20_000 != (before+len(changes))/20_000 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		h.heap = max(h.heap, m.HeapAlloc)
	}
	h.changes += len(changes)
	return nil
}

func (h *countingHandler) Commit(context.Context, cdc.Commit) error {
	h.commits++
	h.done()
	return nil
}

func (h *countingHandler) Watermark(context.Context, cdc.Watermark) error   { return nil }
func (h *countingHandler) Discovered(context.Context, cdc.Discovered) error { return nil }
func (h *countingHandler) Dropped(context.Context, cdc.TableID) error       { return nil }

func TestStream_handsOverALargeTransactionInBoundedMemory(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE big (id int PRIMARY KEY, v bigint, t text)")
	src := b.newSource(func(c *debezium.Config) { c.MemoryBytes = 8 << 20 })
	if _, err := src.Tables(stand.Within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	// A connector that starts for the first time begins at the log's end: Copy waits until it has.
	at, err := src.Copy(stand.Within(t, 3*time.Minute), nil, noSink{})
	if err != nil {
		t.Fatal(err)
	}
	const rows = 200_000
	b.exec(fmt.Sprintf("INSERT INTO big SELECT g, g * 2, 'some text of row ' || g FROM generate_series(1, %d) g", rows))
	ctx, cancel := context.WithCancel(stand.Within(t, 8*time.Minute))
	h := &countingHandler{done: cancel}
	if err := src.Stream(ctx, at, h); h.commits != 1 {
		t.Fatalf("%d commits, error %v", h.commits, err)
	}
	if h.changes != rows || h.largest > 1000 {
		t.Errorf("%d changes, %d in one call; want %d, at most 1,000 in one", h.changes, h.largest, rows)
	}
	t.Logf("the heap grew to %d MB", h.heap>>20)
	if h.heap > 96<<20 {
		t.Errorf("the heap grew to %d MB, want 96 at most", h.heap>>20)
	}
}
