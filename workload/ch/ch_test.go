package ch_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/workload/ch"
	"github.com/freshet-io/freshet/workload/ch/chtest"
)

func TestBenchmark_onPostgreSQL(t *testing.T) {
	dsn := chtest.Load(t)
	conn := chtest.Connect(t, dsn)
	t.Run("Load_makesThePopulationOfClause4_3_3", func(t *testing.T) { testPopulation(t, conn) })
	t.Run("Load_isDetermined", func(t *testing.T) { testDetermined(t, conn) })
	t.Run("Queries_run", func(t *testing.T) { testQueries(t, conn) })
	t.Run("Terminal_keepsConstantSize", func(t *testing.T) { testConstantSize(t, dsn, conn) })
	t.Run("Terminal_runsTheMix", func(t *testing.T) { testMix(t, dsn, conn) })
}

func count(t *testing.T, conn *pgx.Conn, sql string) int64 {
	t.Helper()
	var n int64
	if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func testPopulation(t *testing.T, conn *pgx.Conn) {
	want := map[string]int64{
		"warehouse": 1, "district": 10, "customer": 30_000, "history": 30_000, "new_order": 9_000, "orders": 30_000,
		"item": 100_000, "stock": 100_000, "supplier": 10_000, "nation": 62, "region": 5,
		"order_line": count(t, conn, "SELECT sum(o_ol_cnt) FROM orders"),
	}
	got := make(map[string]int64)
	for _, table := range ch.Tables {
		got[table] = count(t, conn, "SELECT count(*) FROM "+table)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	broken := map[string]string{
		"a district with a customer number without an order": `SELECT count(*) FROM (SELECT o_d_id FROM orders
			GROUP BY o_d_id HAVING count(DISTINCT o_c_id) <> 3000) AS x`,
		"an order with a number of lines outside 5 to 15": "SELECT count(*) FROM orders WHERE o_ol_cnt NOT BETWEEN 5 AND 15",
		"delivered lines that cost something":             "SELECT count(*) FROM order_line WHERE ol_o_id < 2101 AND ol_amount <> 0",
		"undelivered lines that are delivered":            "SELECT count(*) FROM order_line WHERE ol_o_id >= 2101 AND ol_delivery_d IS NOT NULL",
		"a last name that no customer has":                "SELECT 1000 - count(DISTINCT c_last) FROM customer WHERE c_d_id = 1",
		"customers without a nation":                      "SELECT count(*) FROM customer WHERE ascii(c_state) NOT IN (SELECT n_nationkey FROM nation)",
		"stock without a supplier":                        "SELECT count(*) FROM stock WHERE mod(s_w_id * s_i_id, 10000) NOT IN (SELECT su_suppkey FROM supplier)",
	}
	for what, sql := range broken {
		if n := count(t, conn, sql); n != 0 {
			t.Errorf("%s: %d", what, n)
		}
	}
	bad := count(t, conn, "SELECT count(*) FROM customer WHERE c_credit = 'BC'")
	if bad < 2_700 || bad > 3_300 {
		t.Errorf("%d customers of 30,000 have bad credit, want 10 %%", bad)
	}
}

// testDetermined pins digests of the data for the test's seed: the order of loading and the number of workers must not change it.
func testDetermined(t *testing.T, conn *pgx.Conn) {
	want := map[string]string{
		"item": "715d1715b67dce643a257af292b26112", "orders": "d7e54fb5ce92be2c5cf8f21124f89ad7",
		"stock": "992969d68a624fcf6547021149cf9ace",
	}
	got := make(map[string]string)
	for table := range want {
		var digest string
		sql := "SELECT md5(string_agg(md5(x::text), '' ORDER BY x::text)) FROM " + table + " AS x"
		if err := conn.QueryRow(t.Context(), sql).Scan(&digest); err != nil {
			t.Fatal(err)
		}
		got[table] = digest
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("digests (-want +got):\n%s", diff)
	}
}

func testQueries(t *testing.T, conn *pgx.Conn) {
	rng := rand.New(rand.NewPCG(1, 2))
	queries := append(ch.Queries(), ch.JoinGrpAgg(rng))
	for range 5 {
		queries = append(queries, ch.BatchDBQueries(rng)...)
	}
	// On the initial population these four select nothing: no customer is in credit, and no line was delivered late.
	mayBeEmpty := map[string]bool{"Q11": true, "Q20": true, "Q21": true, "Q22": true}
	for _, q := range queries {
		inline := textRows(t, conn, q.Text())
		if len(inline) == 0 && !mayBeEmpty[q.Name] {
			t.Errorf("%s returns nothing:\n%s", q.Name, q.Text())
		}
		if len(q.Args) == 0 {
			continue
		}
		rows, err := conn.Query(t.Context(), q.SQL, append([]any{pgx.QueryExecModeExec}, q.Args...)...)
		if err != nil {
			t.Fatalf("%s: %v", q.Name, err)
		}
		n := 0
		for rows.Next() {
			n++
		}
		if err := rows.Err(); err != nil || n != len(inline) {
			t.Errorf("%s with parameters: %d rows and error %v, want %d as with literals", q.Name, n, err, len(inline))
		}
	}
}

func textRows(t *testing.T, conn *pgx.Conn, sql string) [][][]byte {
	t.Helper()
	results, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return results[0].Rows
}

// runTerminals runs n transactions on some terminals and returns the outcomes by transaction.
func runTerminals(t *testing.T, dsn string, n int64, cfg ch.TerminalConfig) (outcomes map[ch.Transaction]int, rolledBack int) {
	t.Helper()
	g, ctx := errgroup.WithContext(t.Context())
	var left atomic.Int64
	left.Store(n)
	results := make(chan ch.Outcome, n)
	for i := range 4 {
		g.Go(func() error {
			conn, err := pgx.Connect(ctx, dsn)
			if err != nil {
				return err
			}
			defer conn.Close(context.WithoutCancel(ctx))
			cfg := cfg
			cfg.Warehouses, cfg.Number, cfg.Seed, cfg.Now = 1, i, 11, time.Now
			terminal, err := ch.NewTerminal(ctx, conn, cfg)
			if err != nil {
				return err
			}
			for left.Add(-1) >= 0 {
				o, err := terminal.Run(ctx)
				if err != nil {
					return err
				}
				results <- o
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	close(results)
	outcomes = make(map[ch.Transaction]int)
	for o := range results {
		outcomes[o.Transaction]++
		if o.RolledBack {
			rolledBack++
		}
	}
	return outcomes, rolledBack
}

func testConstantSize(t *testing.T, dsn string, conn *pgx.Conn) {
	outcomes, _ := runTerminals(t, dsn, 500, ch.TerminalConfig{Mix: ch.NewOrderOnly, ConstantSize: true})
	if outcomes[ch.NewOrder] != 500 {
		t.Errorf("%v, want 500 New-Orders", outcomes)
	}
	if n := count(t, conn, "SELECT count(*) FROM orders"); n != 30_000 {
		t.Errorf("%d orders, want 30,000 as before", n)
	}
	if n := count(t, conn, "SELECT count(*) - (SELECT sum(o_ol_cnt) FROM orders) FROM order_line"); n != 0 {
		t.Errorf("%d order lines too many", n)
	}
}

func testMix(t *testing.T, dsn string, conn *pgx.Conn) {
	newOrders := count(t, conn, "SELECT sum(d_next_o_id) FROM district")
	history := count(t, conn, "SELECT count(*) FROM history")
	const n = 4000
	outcomes, rolledBack := runTerminals(t, dsn, n, ch.TerminalConfig{Mix: ch.StandardMix})
	for kind, weight := range ch.StandardMix {
		share := 100 * float64(outcomes[ch.Transaction(kind)]) / n
		if share < 0.85*float64(weight)-0.5 || share > 1.15*float64(weight)+0.5 {
			t.Errorf("%s: %.1f %%, want %d %%", ch.Transaction(kind), share, weight)
		}
	}
	if rolledBack == 0 || rolledBack > 50 {
		t.Errorf("%d of %d New-Orders rolled back, want about 1 %%", rolledBack, outcomes[ch.NewOrder])
	}
	if got := count(t, conn, "SELECT sum(d_next_o_id) FROM district") - newOrders; got != int64(outcomes[ch.NewOrder]-rolledBack) {
		t.Errorf("the districts counted %d orders, the terminals %d", got, outcomes[ch.NewOrder]-rolledBack)
	}
	if got := count(t, conn, "SELECT count(*) FROM history") - history; got != int64(outcomes[ch.Payment]) {
		t.Errorf("history has %d new rows after %d payments", got, outcomes[ch.Payment])
	}
}
