package driver_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/freshet-io/freshet/workload/ch/chtest"
	"github.com/freshet-io/freshet/workload/driver"
)

func TestDriver_runsEverythingOnPostgreSQL(t *testing.T) {
	dsn := chtest.Load(t)
	d, err := driver.New(driver.Config{
		OLTP: dsn, Endpoint: dsn, Postgres: dsn, Warehouses: 1, Seed: 3,
		TransactionClients: 3, AnalyticalClients: 1, Queries: driver.BatchDBQueries, Check: true, CompareAtEnd: true,
		AnalyticalCores: []int{0}, Warmup: 100 * time.Millisecond, Duration: 2 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	report, err := d.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if report.Violations != 0 {
		t.Errorf("%d violations: %s", report.Violations, report.FirstViolation)
	}
	if report.AnswersCompared != 37 || report.AnswersDifferent != 0 {
		t.Errorf("%d answers compared, %d different: %v", report.AnswersCompared, report.AnswersDifferent, report.Differences)
	}
	if report.TransactionsPerSecond == 0 || report.AnalyticalQueriesPerSecond == 0 {
		t.Errorf("%.0f transactions/s, %.1f queries/s", report.TransactionsPerSecond, report.AnalyticalQueriesPerSecond)
	}
	if p := d.Progress(); p.Phase != driver.Finished || p.Transactions == 0 || p.Queries == 0 {
		t.Errorf("progress after the end: %+v", p)
	}
	testJSON(t, report)
}

// testJSON holds the names that scripts read from a report.
func testJSON(t *testing.T, report *driver.Report) {
	data, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"transactions_per_second", "analytical_queries_per_second", "staleness_ms", "snapshots_checked", "violations",
		"answers_compared", "answers_different", "settings",
	} {
		if _, ok := fields[name]; !ok {
			t.Errorf("the report has no %s: %s", name, data)
		}
	}
	staleness, _ := fields["staleness_ms"].(map[string]any)
	for _, name := range []string{"p50", "p99"} {
		if _, ok := staleness[name]; !ok {
			t.Errorf("staleness_ms has no %s: %s", name, data)
		}
	}
}

func TestDriver_endsAtTheFirstFailure(t *testing.T) {
	d, err := driver.New(driver.Config{
		OLTP: "postgres://nobody@127.0.0.1:1/none", Warehouses: 1, TransactionClients: 2, Duration: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, err := d.Run(t.Context()); err == nil || time.Since(start) > 30*time.Second {
		t.Errorf("Run returned %v after %v, want an error at once", err, time.Since(start))
	}
}

func TestConfig_isChecked(t *testing.T) {
	for name, cfg := range map[string]driver.Config{
		"transactions without DSN":      {TransactionClients: 1, Warehouses: 1},
		"transactions without scale":    {TransactionClients: 1, OLTP: "x"},
		"analytics without endpoint":    {AnalyticalClients: 1},
		"comparison without PostgreSQL": {Endpoint: "x", CompareAtEnd: true},
		"unknown query set":             {Queries: "tpch"},
	} {
		if _, err := driver.New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
