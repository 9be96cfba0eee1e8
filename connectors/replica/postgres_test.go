package replica_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/connectors/replica"
	"github.com/freshet-io/freshet/connectors/replica/engine"
	"github.com/freshet-io/freshet/e2e/stand"
)

const bankAccounts = 200

// schema has every type that a replica holds, and values at their edges.
const schema = `
CREATE TABLE bank (id int PRIMARY KEY, balance numeric(12,2) NOT NULL);
INSERT INTO bank SELECT i, 100 FROM generate_series(1, 200) i;
CREATE TABLE transfers (id bigserial PRIMARY KEY, source int NOT NULL, target int NOT NULL, amount numeric(12,2) NOT NULL);
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TABLE kinds (id int PRIMARY KEY, b bool, i2 int2, i8 int8, n numeric(38,10), u numeric, t text, c char(5),
  d date, ts timestamp, tz timestamptz, ti time, g uuid, y bytea, j jsonb, m mood, big text);
INSERT INTO kinds VALUES
 (1, true, -32768, 9223372036854775807, -1234567890.0123456789, 1.500, '', 'ab', '0044-03-15 BC', '1969-12-31 23:59:59.999999', 'infinity', '24:00', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\x00ff', '{"a": 1}', 'happy', repeat('x', 9000)),
 (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
 (3, false, 0, 0, 0, 'NaN', 'ünï', '', '-infinity', 'infinity', '2024-02-29 12:00:00+05:30', '00:00:00.000001', NULL, '', 'null', 'sad', NULL);`

// The same rows as each side spells its physical values.
const (
	pgKinds = `SELECT concat_ws('|', id, coalesce(b::text, '~'), coalesce(i2::text, '~'), coalesce(i8::text, '~'), coalesce((n*1e10)::numeric(50,0)::text, '~'),
	 coalesce(u::text, '~'), coalesce(t, '~'), coalesce(c::text, '~'),
	 CASE WHEN d = 'infinity' THEN '2147483647' WHEN d = '-infinity' THEN '-2147483648' ELSE coalesce((d - '1970-01-01'::date)::text, '~') END,
	 CASE WHEN ts = 'infinity' THEN '9223372036854775807' ELSE coalesce((extract(epoch FROM ts)*1000000)::bigint::text, '~') END,
	 CASE WHEN tz = 'infinity' THEN '9223372036854775807' ELSE coalesce((extract(epoch FROM tz)*1000000)::bigint::text, '~') END,
	 coalesce((extract(epoch FROM ti)*1000000)::bigint::text, '~'), coalesce(replace(g::text, '-', ''), '~'), coalesce(encode(y, 'hex'), '~'),
	 coalesce(j::text, '~'), coalesce(m::text, '~'), coalesce(md5(big), '~')) FROM kinds ORDER BY id`
	engineKinds = `SELECT concat(toString(id), '|', ifNull(toString(b), '~'), '|', ifNull(toString(i2), '~'), '|', ifNull(toString(i8), '~'), '|',
	 ifNull(toString(toInt256(n * toDecimal256('10000000000', 0))), '~'), '|', ifNull(u, '~'), '|', ifNull(t, '~'), '|', ifNull(c, '~'), '|',
	 ifNull(toString(d), '~'), '|', ifNull(toString(ts), '~'), '|', ifNull(toString(tz), '~'), '|', ifNull(toString(ti), '~'), '|',
	 ifNull(lower(hex(g)), '~'), '|', ifNull(lower(hex(y)), '~'), '|', ifNull(replaceRegexpAll(trimLeft(j), '" *:', '": '), '~'), '|', ifNull(m, '~'), '|', ifNull(lower(hex(MD5(big))), '~')) AS n
	 FROM %s ORDER BY id`
)

// TestReplica_equalsPostgreSQL transfers money from several clients while
// snapshots are taken, and compares all types with PostgreSQL in the end.
func TestReplica_equalsPostgreSQL(t *testing.T) {
	pg := stand.Postgres(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	db := connect(ctx, t, pg.URL("postgres"))
	exec(ctx, t, db, schema)
	src, err := postgres.New(postgres.Config{URL: pg.URL("postgres"), CatalogInterval: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	g, ctx := startGateway(t, src, func(c *replica.Config) { c.CompactInterval = 300 * time.Millisecond })
	awaitTables(ctx, t, g, src, "bank", "transfers", "kinds")

	clients, stop := sync.WaitGroup{}, make(chan struct{})
	for range 3 {
		conn := connect(ctx, t, pg.URL("postgres"))
		clients.Go(func() { transferMoney(ctx, t, conn, stop) })
	}
	for range 60 {
		checkBank(ctx, t, g)
	}
	close(stop)
	clients.Wait()

	exec(ctx, t, db, `UPDATE kinds SET i2 = 7 WHERE id = 1; UPDATE kinds SET id = 10, t = 'moved' WHERE id = 1`)
	exec(ctx, t, db, `DELETE FROM kinds WHERE id = 2; INSERT INTO kinds (id, c) VALUES (2, 'x'); TRUNCATE transfers`)
	awaitTables(ctx, t, g, src, "bank", "transfers", "kinds")
	compareKinds(ctx, t, db, g)
	exec(ctx, t, db, `ALTER TABLE bank ADD COLUMN note text DEFAULT 'none'; CREATE TABLE late (id int PRIMARY KEY); INSERT INTO late VALUES (1)`)
	exec(ctx, t, db, `UPDATE bank SET note = 'first' WHERE id = 1`)
	for {
		changed := g.r.Changed()
		awaitTables(ctx, t, g, src, "bank", "late")
		if b, ok := g.r.Table("public", "bank"); ok && len(b.Columns) == 3 {
			break
		}
		await(ctx, t, changed)
	}
	if got := scalar(ctx, t, g, "bank", []string{"note"}, "SELECT concat(toString(countIf(note = 'none')), ',', toString(countIf(note = 'first'))) AS n FROM %s"); got != "199,1" {
		t.Errorf("notes after ADD COLUMN: %s, want 199,1", got)
	}
}

// A base that the record names is of no use if the publication left changes of its table out since, though that was undone before the restart.
func TestReplica_copiesAnewWhatWasNotPublishedWhileItWasAway(t *testing.T) {
	pg := stand.Postgres(t)
	db := connect(t.Context(), t, pg.URL("postgres"))
	exec(t.Context(), t, db, "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 100)")
	open := func() *postgres.Source {
		src, err := postgres.New(postgres.Config{URL: pg.URL("postgres")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(src.Close)
		return src
	}
	src := open()
	g, ctx := startGateway(t, src, func(c *replica.Config) { c.CompactInterval = 100 * time.Millisecond })
	awaitTables(ctx, t, g, src, "t")
	for recorded := false; !recorded; {
		changed := g.r.Changed()
		const question = `SELECT toString(position(record, '"b_') > 0) AS n FROM %s.epochs ORDER BY serial DESC LIMIT 1`
		recorded = slices.Equal(query(ctx, t, g, fmt.Sprintf(question, engine.Quote(g.cfg.Database))), []string{"1"})
		if !recorded {
			await(ctx, t, changed)
		}
	}
	if err := g.stop(); err != nil {
		t.Fatal(err)
	}
	exec(ctx, t, db, "ALTER PUBLICATION freshet DROP TABLE t")
	exec(ctx, t, db, "DELETE FROM t WHERE id > 50")
	exec(ctx, t, db, "ALTER PUBLICATION freshet ADD TABLE t")
	src = open()
	g.src = src
	if err := g.start(); err != nil {
		t.Fatal(err)
	}
	awaitTables(ctx, t, g, src, "t")
	if got := scalar(ctx, t, g, "t", []string{"id"}, "SELECT toString(count()) AS n FROM %s"); got != "50" {
		t.Errorf("%s rows, want 50", got)
	}
}

// awaitTables waits until the replica has all that is committed now, and serves the tables.
func awaitTables(ctx context.Context, t *testing.T, g *gateway, src *postgres.Source, tables ...string) {
	t.Helper()
	for {
		changed := g.r.Changed()
		p, err := src.Current(ctx)
		if err != nil { // as long as the stream has not found that the server has all that was told before
			await(ctx, t, changed)
			continue
		}
		s, err := g.acquire(ctx, replica.Request{Min: p})
		if err != nil {
			t.Fatal(err)
		}
		s.Release()
		ready := 0
		for _, name := range tables {
			if _, ok := g.r.Table("public", name); ok {
				ready++
			}
		}
		if ready == len(tables) {
			return
		}
		await(ctx, t, changed)
	}
}

func connect(ctx context.Context, t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func exec(ctx context.Context, t *testing.T, db *pgx.Conn, sql string) {
	t.Helper()
	if _, err := db.Exec(ctx, sql); err != nil {
		t.Fatal(err)
	}
}

func transferMoney(ctx context.Context, t *testing.T, db *pgx.Conn, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		// In the order of the keys, so that no two clients wait for each other.
		a := 1 + rand.IntN(bankAccounts-1)
		b := a + 1 + rand.IntN(bankAccounts-a)
		sql := fmt.Sprintf(`BEGIN; UPDATE bank SET balance = balance - 1.25 WHERE id = %d; UPDATE bank SET balance = balance + 1.25 WHERE id = %d;
			INSERT INTO transfers (source, target, amount) VALUES (%d, %d, 1.25); COMMIT`, a, b, a, b)
		if _, err := db.Exec(ctx, sql); err != nil {
			t.Error(err)
			return
		}
	}
}

// checkBank compares the balances with the transfers on one snapshot.
func checkBank(ctx context.Context, t *testing.T, g *gateway) {
	t.Helper()
	s, err := g.acquire(ctx, replica.Request{Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	bank, _ := g.r.Table("public", "bank")
	transfers, _ := g.r.Table("public", "transfers")
	b, _ := s.Relation(bank.ID, []string{"id", "balance"})
	x, _ := s.Relation(transfers.ID, []string{"source", "target", "amount"})
	got := query(ctx, t, g, fmt.Sprintf(`SELECT concat(toString(sum(balance)), ',', toString(countIf(balance != 100 - ifNull(o.v, 0) + ifNull(i.v, 0)))) AS n
		FROM %s AS b LEFT JOIN (SELECT source, sum(amount) AS v FROM %s GROUP BY source) AS o ON o.source = b.id
		LEFT JOIN (SELECT target, sum(amount) AS v FROM %s GROUP BY target) AS i ON i.target = b.id`, b, x, x))
	if got[0] != "20000,0" {
		t.Errorf("at %v: sum of balances, accounts that differ from their transfers: %s", s.Position(), got[0])
	}
}

func compareKinds(ctx context.Context, t *testing.T, db *pgx.Conn, g *gateway) {
	t.Helper()
	rows, err := db.Query(ctx, pgKinds)
	if err != nil {
		t.Fatal(err)
	}
	want, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], " |", "|")
	}
	got := selectFrom(ctx, t, g, "kinds", nil, engineKinds)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-PostgreSQL +replica):\n%s", diff)
	}
}

func query(ctx context.Context, t *testing.T, g *gateway, sql string) []string {
	t.Helper()
	c, err := engine.Dial(ctx, engine.Config{Addr: g.cfg.Addr, User: g.cfg.User, Password: g.cfg.Password})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rows, err := c.Strings(ctx, sql)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// selectFrom runs a query on the newest snapshot's relation of a table; without columns it has all.
func selectFrom(ctx context.Context, t *testing.T, g *gateway, table string, columns []string, sql string) []string {
	t.Helper()
	s, err := g.acquire(ctx, replica.Request{Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	def, ok := g.r.Table("public", table)
	if !ok {
		t.Fatalf("table %s is not ready", table)
	}
	if columns == nil {
		for _, c := range def.Columns {
			columns = append(columns, c.Name)
		}
	}
	relation, _ := s.Relation(def.ID, columns)
	return query(ctx, t, g, fmt.Sprintf(sql, relation))
}

func scalar(ctx context.Context, t *testing.T, g *gateway, table string, columns []string, sql string) string {
	t.Helper()
	return selectFrom(ctx, t, g, table, columns, sql)[0]
}
