//go:build kafka

package cockroachdb_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/cockroachdb"
	"github.com/freshet-io/freshet/connectors/cockroachdb/changefeedtest"
	"github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/e2e/endpoint"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/gateway/server"
)

// bank has the types that the analytical route takes from a CockroachDB, and one that it does not.
const bank = `
	CREATE TABLE account (id bigint PRIMARY KEY, owner text NOT NULL, note varchar, balance numeric(12,2) NOT NULL, opened date NOT NULL,
		touched timestamp NOT NULL, active boolean NOT NULL, key uuid NOT NULL, entries bigint NOT NULL, rate double precision NOT NULL);
	CREATE TABLE entry (id bigint PRIMARY KEY, account bigint NOT NULL, amount numeric(12,2) NOT NULL, at timestamp NOT NULL);
	INSERT INTO account SELECT i, 'owner ' || i % 7, CASE WHEN i % 3 = 0 THEN 'n' || i END, 100, date '2026-01-01' + i, timestamp '2026-01-01' + i * interval '1 hour 1 second',
		i % 2 = 0, md5(i::text)::uuid, 0, i / 3.0 FROM generate_series(1, 40) i`

const accounts, totalBalance = 40, "4000.00"

// transfer moves money between two accounts, in one transaction over both tables.
func transfer(ctx context.Context, c *pgx.Conn, r *rand.Rand, id int) error {
	from, to, cents := r.IntN(accounts)+1, r.IntN(accounts)+1, r.IntN(5000)
	move := func(account, cents, id int) string {
		return fmt.Sprintf(`UPDATE account SET balance = balance + %[2]d / 100.0, entries = entries + 1, touched = touched + interval '1 millisecond' WHERE id = %[1]d;
			INSERT INTO entry VALUES (%[3]d, %[1]d, %[2]d / 100.0, timestamp '2026-06-01' + %[3]d * interval '1 second');`, account, cents, id)
	}
	_, err := c.PgConn().Exec(ctx, "BEGIN;"+move(from, -cents, 2*id)+move(to, cents, 2*id+1)+"COMMIT").ReadAll()
	return err
}

// rowsOf returns an answer as text.
func rowsOf(t *testing.T, c *pgx.Conn, sql string) string {
	t.Helper()
	result := c.PgConn().ExecParams(stand.Within(t, time.Minute), sql, nil, nil, nil, nil).Read()
	if result.Err != nil {
		t.Fatalf("%s: %v", sql, result.Err)
	}
	var b strings.Builder
	for _, f := range result.FieldDescriptions {
		fmt.Fprintf(&b, "%s:%d ", f.Name, f.DataTypeOID)
	}
	for _, row := range result.Rows {
		fmt.Fprintf(&b, "\n%q", row)
	}
	return b.String()
}

// columnarQueries are in the subset that is translated for a CockroachDB.
var columnarQueries = []string{
	"SELECT count(*), sum(balance), min(balance), max(opened), min(touched), sum(entries), count(DISTINCT owner), count(note) FROM account",
	"SELECT owner, count(*) AS n, sum(balance) FROM account WHERE active GROUP BY owner HAVING count(*) > 1 ORDER BY n DESC, owner",
	"SELECT id, note, balance, opened, touched, active, key FROM account WHERE NOT balance > 90.5 OR note IS NULL ORDER BY note NULLS FIRST, id LIMIT 20",
	"SELECT a.owner, sum(e.amount), max(e.at) FROM account a JOIN entry e ON e.account = a.id WHERE e.at >= '2026-06-01 00:00:10' AND a.opened BETWEEN '2026-01-01' AND DATE '2026-12-31' GROUP BY a.owner ORDER BY 1",
	"SELECT a.id, count(e.id) FROM account a LEFT JOIN entry e ON e.account = a.id AND e.amount < 0 WHERE a.owner IN ('owner 1', 'owner 2') GROUP BY a.id ORDER BY a.id",
	"SELECT DISTINCT owner FROM account ORDER BY owner",
}

// relayedQueries are not, and go to the database.
var relayedQueries = []string{
	"SELECT avg(balance) FROM account", "SELECT sum(entries / 2) FROM account", "SELECT sum(rate) FROM account", "SELECT id FROM account ORDER BY note, id",
	"SELECT count(*) FROM account WHERE owner LIKE 'owner%'",
}

// A gateway whose source is a changefeed: the stand-in for CockroachDB answers and describes statements as PostgreSQL does, which
// for the columnar queries is what CockroachDB documents too.
func TestGateway_answersFromAChangefeed(t *testing.T) {
	b := newTestbedOf(t, bank, changefeedtest.Wrapped)
	gateway := endpoint.Start(t, b.server, stand.Engine(t), "postgres", func(c *server.Config) {
		c.CockroachDB = &cockroachdb.Transport{Kafka: kafka.Config{Brokers: []string{b.broker.Address()}}, Database: b.e}
	})
	gateway.AwaitTables(t, "public.account", "public.entry")
	direct, client, writer := stand.Connect(t, b.url), stand.Connect(t, gateway.URL("postgres")), stand.Connect(t, gateway.URL("postgres"))

	// While money moves, every snapshot has whole transactions over both tables.
	ctx := stand.Within(t, 4*time.Minute)
	const transfers = 300
	done := make(chan error, 1)
	go func() {
		r := rand.New(rand.NewPCG(1, 2))
		for i := range transfers {
			if err := transfer(ctx, writer, r, i); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	stand.Exec(t, client, "SET freshet.route = 'columnar'; SET freshet.freshness = 'eventual'")
	moving := true
	for n := 0; moving || n < 10; n++ {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			moving = false
		default:
		}
		if got := rowsOf(t, client, "SELECT sum(balance) FROM account"); !strings.HasSuffix(got, `["`+totalBalance+`"]`) {
			t.Fatalf("the sum of all balances is %s, want %s", got, totalBalance)
		}
		torn := rowsOf(t, client, "SELECT a.id, a.entries, count(e.id) FROM account a LEFT JOIN entry e ON e.account = a.id GROUP BY a.id, a.entries HAVING a.entries <> count(e.id)")
		if strings.Contains(torn, "\n") {
			t.Fatalf("accounts and entries of different transactions: %s", torn)
		}
	}

	stand.Exec(t, client, "SET freshet.freshness = 'strong'")
	for _, sql := range columnarQueries {
		if diff := cmp.Diff(rowsOf(t, direct, sql), rowsOf(t, client, sql)); diff != "" {
			t.Errorf("%s (-database +gateway):\n%s", sql, diff)
		}
	}
	if got := rowsOf(t, client, "SHOW freshet.last_route"); !strings.Contains(got, `"columnar"`) {
		t.Errorf("the last route is %s", got)
	}
	stand.Exec(t, client, "SET freshet.route = 'auto'")
	wantRelayed := func(sql string) {
		t.Helper()
		if diff := cmp.Diff(rowsOf(t, direct, sql), rowsOf(t, client, sql)); diff != "" {
			t.Errorf("%s (-database +gateway):\n%s", sql, diff)
		}
		if got := rowsOf(t, client, "SHOW freshet.last_route"); !strings.Contains(got, `"oltp"`) {
			t.Errorf("%s: the route is %s", sql, got)
		}
	}
	for _, sql := range relayedQueries {
		wantRelayed(sql)
	}
	stand.Exec(t, client, "BEGIN READ ONLY") // which may be AS OF another time
	wantRelayed(columnarQueries[0])
	stand.Exec(t, client, "COMMIT")
}
