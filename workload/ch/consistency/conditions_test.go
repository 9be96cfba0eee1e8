package consistency_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/workload/ch/chtest"
	"github.com/freshet-io/freshet/workload/ch/consistency"
	"github.com/freshet-io/freshet/workload/driver"
	"github.com/freshet-io/freshet/workload/invariant"
)

// plants break conditions, each by the least change that does.
var plants = []struct {
	name, plant, undo string
	breaks            []string
}{
	{"a warehouse paid too much", "UPDATE warehouse SET w_ytd = w_ytd + 1", "UPDATE warehouse SET w_ytd = w_ytd - 1",
		[]string{"condition 1", "condition 8"}},
	{"a warehouse without districts", "UPDATE district SET d_w_id = 2", "UPDATE district SET d_w_id = 1",
		[]string{"condition 1", "condition 2", "condition 9"}},
	{"an order's number lost", "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3",
		"UPDATE district SET d_next_o_id = d_next_o_id - 1 WHERE d_id = 3", []string{"condition 2"}},
	{"a gap in new orders", "DELETE FROM new_order WHERE no_d_id = 2 AND no_o_id = 2500",
		"INSERT INTO new_order VALUES (2500, 2, 1)", []string{"condition 11", "condition 3", "condition 5"}},
	{"a line lost", "CREATE TABLE kept AS SELECT * FROM order_line WHERE ol_d_id = 4 AND ol_o_id = 2900 AND ol_number = 2;" +
		"DELETE FROM order_line WHERE ol_d_id = 4 AND ol_o_id = 2900 AND ol_number = 2",
		"INSERT INTO order_line SELECT * FROM kept; DROP TABLE kept", []string{"condition 4", "condition 6"}},
	{"a delivered order without carrier", "UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 5 AND o_id = 5",
		"UPDATE orders SET o_carrier_id = 1 WHERE o_d_id = 5 AND o_id = 5", []string{"condition 5", "condition 7"}},
	{"a new order without its order", "INSERT INTO new_order VALUES (3001, 6, 1)", "DELETE FROM new_order WHERE no_o_id = 3001",
		[]string{"condition 11", "condition 2", "condition 5, new orders without an order"}},
	{"lines of two orders mixed up",
		"UPDATE orders SET o_ol_cnt = o_ol_cnt + CASE o_id WHEN 7 THEN 1 ELSE -1 END WHERE o_d_id = 7 AND o_id IN (7, 8)",
		"UPDATE orders SET o_ol_cnt = o_ol_cnt - CASE o_id WHEN 7 THEN 1 ELSE -1 END WHERE o_d_id = 7 AND o_id IN (7, 8)",
		[]string{"condition 6"}},
	{"half of a delivery", "UPDATE order_line SET ol_delivery_d = now() WHERE ol_d_id = 8 AND ol_o_id = 2800 AND ol_number = 1",
		"UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 8 AND ol_o_id = 2800 AND ol_number = 1",
		[]string{"condition 10", "condition 12", "condition 7"}},
	{"a payment at another district", "UPDATE history SET h_d_id = 2 WHERE h_d_id = 1 AND h_c_id = 1",
		"UPDATE history SET h_d_id = 1 WHERE h_d_id = 2 AND h_c_d_id = 1", []string{"condition 9"}},
	{"a payment lost", "UPDATE history SET h_amount = 11 WHERE h_c_d_id = 1 AND h_c_id = 2",
		"UPDATE history SET h_amount = 10 WHERE h_c_d_id = 1 AND h_c_id = 2",
		[]string{"condition 10", "condition 8", "condition 9"}},
	{"a wrong balance", "UPDATE customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 WHERE c_id = 9",
		"UPDATE customer SET c_balance = c_balance - 1, c_ytd_payment = c_ytd_payment + 1 WHERE c_id = 9", []string{"condition 10"}},
	{"a delivery counted twice", "UPDATE customer SET c_delivery_cnt = 1 WHERE c_d_id = 1 AND c_id = 10",
		"UPDATE customer SET c_delivery_cnt = 0 WHERE c_id = 10", []string{"condition 11"}},
	{"a payment counted twice", "UPDATE customer SET c_ytd_payment = 20 WHERE c_d_id = 1 AND c_id = 11",
		"UPDATE customer SET c_ytd_payment = 10 WHERE c_id = 11", []string{"condition 12"}},
}

func TestConditions_onPostgreSQL(t *testing.T) {
	dsn := chtest.Load(t)
	conn := chtest.Connect(t, dsn)
	t.Run("findEveryPlantedViolation", func(t *testing.T) { testPlants(t, conn) })
	t.Run("holdUnderLoad", func(t *testing.T) { testLoad(t, dsn) })
}

func testPlants(t *testing.T, conn *pgx.Conn) {
	checker := invariant.NewChecker(consistency.Conditions(false))
	if found := broken(t, checker, conn); len(found) != 0 {
		t.Fatalf("the initial population breaks %q: %s", found, checker.Counts().First)
	}
	covered := make(map[string]bool)
	for _, p := range plants {
		exec(t, conn, p.plant)
		if diff := cmp.Diff(p.breaks, broken(t, checker, conn)); diff != "" {
			t.Errorf("%s breaks (-want +got):\n%s", p.name, diff)
		}
		exec(t, conn, p.undo)
		for _, b := range p.breaks {
			covered[b] = true
		}
	}
	if found := broken(t, checker, conn); len(found) != 0 {
		t.Errorf("after undoing all plants %q are broken", found)
	}
	for _, c := range consistency.Conditions(false) {
		if !covered[c.Name] {
			t.Errorf("no plant breaks %s", c.Name)
		}
	}
}

func exec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// broken returns the names of the broken checks, sorted.
func broken(t *testing.T, checker *invariant.Checker, conn *pgx.Conn) []string {
	t.Helper()
	violations, err := checker.Snapshot(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range violations {
		names = append(names, v.Check)
	}
	slices.Sort(names)
	return names
}

// testLoad checks snapshots while transactions run. PostgreSQL's snapshots are right by definition, so that a violation would
// be the condition's or a transaction's fault.
func testLoad(t *testing.T, dsn string) {
	conn := chtest.Connect(t, dsn)
	d, err := driver.New(driver.Config{OLTP: dsn, Warehouses: 1, Seed: 3, TransactionClients: 3})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	var report *driver.Report
	go func() {
		var err error
		report, err = d.Run(ctx)
		ended <- err
	}()
	checker := invariant.NewChecker(consistency.Conditions(false))
	for range 3 {
		if found := broken(t, checker, conn); len(found) != 0 {
			t.Errorf("%q are broken under load: %s", found, checker.Counts().First)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if report.TransactionsPerSecond == 0 {
		t.Error("no transaction ran meanwhile")
	}
}
