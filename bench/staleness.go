package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/freshet-io/freshet/bench/report"
	"github.com/freshet-io/freshet/bench/rig"
	"github.com/freshet-io/freshet/workload/driver"
)

// StalenessResult is what one freshness mode gave.
type StalenessResult struct {
	Mode string `json:"mode"`
	// StalenessMS is the age of the snapshot at the moment a query started on it.
	StalenessMS driver.Percentiles `json:"staleness_ms"`
	// FreshnessMS is HATtrick's score: the age, at a query's start, of the first commit that it did not see.
	FreshnessMS driver.Percentiles `json:"freshness_ms"`
	// LatencyMS is that of the analytical queries.
	LatencyMS             driver.Percentiles `json:"latency_ms"`
	TransactionsPerSecond float64            `json:"transactions_per_second"`
	QueriesPerSecond      float64            `json:"analytical_queries_per_second"`
	ColumnarShare         float64            `json:"columnar_share"`
	// Failures counts errors of the endpoint.
	Failures int64 `json:"failures"`
}

// StalenessResults is the outcome of [Staleness].
type StalenessResults struct {
	Modes   []StalenessResult `json:"modes"`
	Gateway GatewayMemory     `json:"gateway_memory"`
}

// Staleness measures how old snapshots are when queries start on them, at the full rate of
// transactions and with analytical clients that never pause, in each freshness mode.
func Staleness(ctx context.Context, o Options) (_ *report.Report, err error) {
	o.Rounds = 1 // of each mode
	o.Rig.Prepare = createMarker
	r, err := rig.Start(ctx, o.Rig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Stop(context.WithoutCancel(ctx))) }()
	out := &StalenessResults{}
	for _, mode := range []string{"bounded", "strong", "eventual"} {
		o.Progress("freshness " + mode)
		result, err := stalenessOf(ctx, o, r, mode)
		if err != nil {
			return nil, fmt.Errorf("freshness %s: %w", mode, err)
		}
		out.Modes = append(out.Modes, *result)
	}
	if out.Gateway, err = gatewayMemory(r); err != nil {
		return nil, err
	}
	return out.report(o), nil
}

// stalenessOf runs the load with one mode, and beside it the marker's writer and reader.
func stalenessOf(ctx context.Context, o Options, r *rig.Rig, mode string) (_ *StalenessResult, err error) {
	setup := "SET freshet.freshness = '" + mode + "'"
	m, err := startMarker(ctx, r, 5*time.Millisecond)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.stop()) }()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	type watched struct {
		h        *hdrhistogram.Histogram
		failures int
		err      error
	}
	done := make(chan watched, 1)
	go func() {
		h, failures, err := m.watch(watching, r.Endpoint(), setup, o.Warmup)
		done <- watched{h, failures, err}
	}()
	res, err := o.phase(ctx, r, load{o.Terminals, o.Analysts}, setup)
	stop()
	seen := <-done
	if err := errors.Join(err, seen.err); err != nil {
		return nil, err
	}
	out := &StalenessResult{
		Mode: mode, StalenessMS: res.StalenessMS, FreshnessMS: driver.Summarize(seen.h), LatencyMS: res.QueryLatencyMS,
		TransactionsPerSecond: res.TransactionsPerSecond, QueriesPerSecond: res.AnalyticalQueriesPerSecond,
		Failures: res.Failures + int64(seen.failures),
	}
	if out.LatencyMS.Count > 0 {
		out.ColumnarShare = float64(res.ColumnarQueries) / float64(out.LatencyMS.Count)
	}
	return out, nil
}

func (s *StalenessResults) report(o Options) *report.Report {
	r := o.describe("staleness", "Staleness of snapshots at the moment a query starts")
	r.AddSetting("marker", "a row that is committed 200 times a second, read every 20 ms beside the load")
	r.Data = s
	table := report.Table{Title: "By freshness mode", Columns: []string{
		"mode", "staleness p50 ms", "p99 ms", "max ms", "freshness p50 ms", "p99 ms", "latency p50 ms", "p99 ms", "transactions/s",
		"queries/s", "columnar", "errors"}}
	chart := report.Chart{Title: "Staleness at query start", Unit: "ms", Limit: 200,
		Series: []report.Series{{Name: "p50"}, {Name: "p99"}}}
	for _, m := range s.Modes {
		table.Rows = append(table.Rows, cells("%s|%.1f|%.1f|%.1f|%.1f|%.1f|%.1f|%.1f|%.0f|%.1f|%.0f %%|%d", m.Mode,
			m.StalenessMS.P50, m.StalenessMS.P99, m.StalenessMS.Max, m.FreshnessMS.P50, m.FreshnessMS.P99,
			m.LatencyMS.P50, m.LatencyMS.P99, m.TransactionsPerSecond, m.QueriesPerSecond, 100*m.ColumnarShare, m.Failures))
		chart.Labels = append(chart.Labels, m.Mode)
		chart.Series[0].Values = append(chart.Series[0].Values, m.StalenessMS.P50)
		chart.Series[1].Values = append(chart.Series[1].Values, m.StalenessMS.P99)
	}
	r.Tables, r.Charts = []report.Table{table}, []report.Chart{chart}
	bounded := s.Modes[0]
	failures := 0.0
	for _, m := range s.Modes {
		failures += float64(m.Failures)
	}
	r.AtMost("errors of the endpoint", failures, 0, "%.0f")
	p50, p99 := bounded.StalenessMS.P50, bounded.StalenessMS.P99
	if bounded.StalenessMS.Count == 0 { // no query ran on the replica
		p50, p99 = math.NaN(), math.NaN()
	}
	r.AtMost("staleness p50, bounded", p50, 60, "%.1f ms")
	r.AtMost("staleness p99, bounded", p99, 200, "%.1f ms")
	r.AtMost("gateway memory, peak", s.Gateway.Peak, 300, "%.0f MiB")
	return r
}
