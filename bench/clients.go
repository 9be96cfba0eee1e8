package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/freshet-io/freshet/bench/report"
	"github.com/freshet-io/freshet/workload/ch"
	"github.com/freshet-io/freshet/workload/driver"
)

// Clients runs clients of both kinds against a platform that runs already, whose data must be the CH-benCHmark's.
func Clients(ctx context.Context, cfg driver.Config) (*report.Report, error) {
	w, err := ch.Warehouses(ctx, cfg.OLTP)
	if err != nil {
		return nil, err
	}
	if w == 0 {
		return nil, fmt.Errorf("run clients: the database has no CH-benCHmark tables; load them with freshet bench load --oltp URL")
	}
	cfg.Warehouses = w
	d, err := driver.New(cfg)
	if err != nil {
		return nil, err
	}
	result, err := d.Run(ctx)
	if err != nil {
		return nil, err
	}
	return clientsReport(result), nil
}

func clientsReport(d *driver.Report) *report.Report {
	r := &report.Report{Name: "clients", Title: "Clients on a running platform", Measured: time.Now(), Data: d}
	r.AddSetting("warehouses", d.Settings.Warehouses)
	r.AddSetting("transactional clients", d.Settings.TransactionClients)
	r.AddSetting("analytical clients", fmt.Sprintf("%d, queries %s", d.Settings.AnalyticalClients, d.Settings.Queries))
	r.AddSetting("seconds", fmt.Sprintf("%.1f", d.Seconds))
	summary := report.Table{Title: "Rates", Columns: []string{"", ""}, Rows: [][]string{
		cells("transactions/s|%.0f", d.TransactionsPerSecond),
		cells("analytical queries/s|%.1f", d.AnalyticalQueriesPerSecond),
		cells("staleness p50 ms|%.1f", d.StalenessMS.P50), cells("staleness p99 ms|%.1f", d.StalenessMS.P99),
		cells("snapshots checked|%d", d.SnapshotsChecked), cells("violations|%d", d.Violations),
		cells("answers compared|%d", d.AnswersCompared), cells("answers different|%d", d.AnswersDifferent),
	}}
	transactions := report.Table{Title: "Transactions", Columns: []string{"", "count", "rolled back", "retries", "p50 ms", "p99 ms"}}
	for _, name := range slices.Sorted(maps.Keys(d.Transactions)) {
		t := d.Transactions[name]
		transactions.Rows = append(transactions.Rows, cells("%s|%d|%d|%d|%.1f|%.1f",
			name, t.Count, t.RolledBack, t.Retries, t.LatencyMS.P50, t.LatencyMS.P99))
	}
	queries := report.Table{Title: "Queries", Columns: []string{"", "count", "p50 ms", "p99 ms"}}
	for _, name := range slices.Sorted(maps.Keys(d.Queries)) {
		p := d.Queries[name]
		queries.Rows = append(queries.Rows, cells("%s|%d|%.1f|%.1f", name, p.Count, p.P50, p.P99))
	}
	r.Tables = []report.Table{summary, transactions, queries}
	if d.SnapshotsChecked > 0 {
		r.AtMost("violations", float64(d.Violations), 0, "%.0f")
	}
	if d.AnswersCompared > 0 {
		r.AtMost("answers different", float64(d.AnswersDifferent), 0, "%.0f")
	}
	return r
}
