package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/freshet-io/freshet/bench/report"
	"github.com/freshet-io/freshet/bench/rig"
	"github.com/freshet-io/freshet/workload/affinity"
	"github.com/freshet-io/freshet/workload/ch"
	"github.com/freshet-io/freshet/workload/ch/compare"
)

// queryRuns is how often each query runs on each store.
const queryRuns = 3

// QuerySpeed compares the stores on one query.
type QuerySpeed struct {
	Query      string  `json:"query"`
	PostgresMS float64 `json:"postgresql_ms"`
	ColumnarMS float64 `json:"columnar_ms"`
	SpeedUp    float64 `json:"speed_up"`
	// Columnar says that the columnar replica answered; if not, the speed-up says nothing about it.
	Columnar bool `json:"columnar"`
	// Failed says that the endpoint did not answer at all; then there is no speed-up.
	Failed bool `json:"failed,omitempty"`
}

// measureQueries runs every query on both stores, one at a time, and compares the answers by the way.
func (c *CHResult) measureQueries(ctx context.Context, o Options, r *rig.Rig) error {
	for run := range queryRuns {
		o.Progress(fmt.Sprintf("queries one by one, run %d of %d", run+1, queryRuns))
		if err := pulse(ctx, r); err != nil { // a new snapshot: no result of the last run is left
			return err
		}
		compared, err := compareApart(ctx, o, compare.Config{
			OLTP: r.OLTP(), Endpoint: r.Endpoint(), Tables: ch.WriteOrder, Queries: ch.Queries(),
		})
		if err != nil {
			return err
		}
		c.AnswersDifferent += compared.Different
		for _, d := range compared.Differences {
			o.Progress("a different answer: " + d.String())
			c.Differences = append(c.Differences, d.String())
		}
		c.addRun(compared)
	}
	c.sumQueries()
	return nil
}

// sumQueries computes the speed-ups, over the queries that were answered.
func (c *CHResult) sumQueries() {
	logs, n := 0.0, 0.0
	c.Slowest.SpeedUp = math.Inf(1)
	for i := range c.Queries {
		q := &c.Queries[i]
		if q.Failed {
			c.QueriesFailed++
			continue
		}
		q.SpeedUp = q.PostgresMS / q.ColumnarMS
		logs += math.Log(q.SpeedUp)
		n++
		if q.SpeedUp < c.Slowest.SpeedUp {
			c.Slowest = *q
		}
	}
	c.SpeedUp = math.Exp(logs / n)
}

// compareApart compares in a goroutine that may use both cores: the store that answers has its own, the client finds the other idle.
func compareApart(ctx context.Context, o Options, cfg compare.Config) (*compare.Report, error) {
	type outcome struct {
		report *compare.Report
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		var cores []int
		if o.Rig.Pin {
			cores = []int{rig.OLTPCore, rig.ColumnarCore}
		}
		if err := affinity.Pin(cores); err != nil {
			done <- outcome{err: err}
			return
		}
		report, err := compare.Run(ctx, cfg)
		done <- outcome{report, err}
	}()
	out := <-done
	return out.report, out.err
}

func (c *CHResult) addRun(compared *compare.Report) {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	first := c.Queries == nil
	for i, q := range ch.Queries() {
		t, answered := compared.Times[q.Name]
		if first {
			c.Queries = append(c.Queries, QuerySpeed{q.Name, ms(t.OLTP), ms(t.Endpoint), 0, true, false})
		}
		s := &c.Queries[i]
		s.PostgresMS, s.ColumnarMS = min(s.PostgresMS, ms(t.OLTP)), min(s.ColumnarMS, ms(t.Endpoint))
		if _, other := compared.OtherRoutes[q.Name]; other {
			s.Columnar = false
		}
		s.Failed = s.Failed || !answered
	}
}

func speedTable(queries []QuerySpeed) report.Table {
	t := report.Table{Title: "Queries one by one", Columns: []string{"query", "PostgreSQL ms", "Freshet ms", "speed-up", "route"}}
	for _, q := range queries {
		route := "columnar"
		switch {
		case q.Failed:
			route = "failed"
		case !q.Columnar:
			route = "oltp"
		}
		t.Rows = append(t.Rows, cells("%s|%.1f|%.1f|%.1f×|%s", q.Query, q.PostgresMS, q.ColumnarMS, q.SpeedUp, route))
	}
	return t
}

func speedChart(queries []QuerySpeed) report.Chart {
	c := report.Chart{Title: "Time of each query", Unit: "ms", Log: true,
		Series: []report.Series{{Name: "PostgreSQL"}, {Name: "Freshet"}}}
	for _, q := range queries {
		c.Labels = append(c.Labels, q.Query)
		c.Series[0].Values = append(c.Series[0].Values, q.PostgresMS)
		c.Series[1].Values = append(c.Series[1].Values, q.ColumnarMS)
	}
	return c
}

func mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// median returns the middle value, or the mean of the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
