package bench_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/freshet-io/freshet/bench"
	"github.com/freshet-io/freshet/bench/report"
	"github.com/freshet-io/freshet/bench/rig"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/toolchain"
)

// TestBenchmarks_runToTheirEnd runs each benchmark at the least scale. It judges no figure but those that hold at any scale.
func TestBenchmarks_runToTheirEnd(t *testing.T) {
	o := options(t)
	for _, b := range []struct {
		name string
		run  func(context.Context, bench.Options) (*report.Report, error)
	}{{"ch", bench.CH}, {"reports", bench.Reports}, {"staleness", bench.Staleness}, {"light", bench.Light}, {"apply", bench.Apply}, {"scan", bench.Scan}, {"shares", bench.Shares}} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel() // no figure is judged
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			o := o
			o.Progress = func(step string) { t.Log(step) }
			r, err := b.run(ctx, o.Complete())
			if err != nil {
				t.Fatal(err)
			}
			var text, page, data bytes.Buffer
			if err := errors.Join(r.Text(&text), r.HTML(&page), r.JSON(&data)); err != nil {
				t.Fatal(err)
			}
			t.Log(text.String())
			checkResult(t, r.Data)
		})
	}
}

func options(t *testing.T) bench.Options {
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := stand.BuildEngine(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	o := bench.DefaultOptions()
	o.Rig = rig.Config{Cache: cache, GatewayExecutable: stand.BuildFreshet(t), EngineExecutable: engine, Warehouses: 1, Seed: 1}
	o.Duration, o.Warmup, o.Rounds, o.Analysts = 2*time.Second, 500*time.Millisecond, 1, 2
	return o
}

func checkSpeeds(t *testing.T, result *bench.QuerySpeeds, queries int) {
	if result.AnswersDifferent != 0 || len(result.Queries) != queries {
		t.Errorf("%d of %d answers differ: %s", result.AnswersDifferent, len(result.Queries), result.Differences)
	}
	for _, q := range result.Queries {
		if !q.Columnar {
			t.Errorf("%s did not run on the columnar route", q.Query)
		}
	}
}

// checkResult checks what must hold on any machine: work was done, on the columnar route, with right answers.
func checkResult(t *testing.T, data any) {
	switch result := data.(type) {
	case *bench.QuerySpeeds:
		checkSpeeds(t, result, 12)
	case *bench.CHResult:
		checkSpeeds(t, &result.QuerySpeeds, 22)
		both := result.Phases[2]
		// A machine that is busy with other things may leave the replica staler than a query allows, which PostgreSQL then answers.
		if both.TransactionsPerSecond == 0 || both.QueriesPerSecond == 0 || both.ColumnarShare == 0 {
			t.Errorf("%s: %+v", both.Phase, both)
		}
	case *bench.StalenessResults:
		var staleness, freshness int64
		for _, m := range result.Modes {
			staleness += m.StalenessMS.Count
			freshness += m.FreshnessMS.Count
		}
		if staleness == 0 || freshness == 0 {
			t.Errorf("no mode measured anything: %+v", result.Modes)
		}
		if strong := result.Modes[1]; strong.FreshnessMS.Max != 0 {
			t.Errorf("with strong freshness a commit was missed that was %.3f ms old", strong.FreshnessMS.Max)
		}
	case *bench.LightResult:
		for _, p := range result.Phases {
			if asked := p.LatencyMS.Count > 0; asked != (p.Queries > 0) {
				t.Errorf("%s: %d queries", p, p.LatencyMS.Count)
			}
		}
	case *bench.ApplyResult:
		if result.Power <= 0 || result.Rounds[0].Changes == 0 || result.BulkGateway.Peak == 0 {
			t.Errorf("measured nothing: %+v", result)
		}
	case *bench.ScanResult:
		if len(result.Queries) != 22 || result.Mean <= 0 {
			t.Errorf("measured nothing: %+v", result)
		}
	case *bench.SharesResult:
		for _, p := range result.Phases {
			for _, u := range p.Tenants {
				if u.Queries == 0 {
					t.Errorf("%s: %s got nothing: %+v", p.Phase, u.Tenant, p)
				}
			}
		}
	}
}
