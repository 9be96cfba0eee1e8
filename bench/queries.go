package bench

import (
	"context"
	"fmt"
	"math"
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

// QuerySpeeds compares the stores on several queries.
type QuerySpeeds struct {
	Queries          []QuerySpeed `json:"queries"`
	SpeedUp          float64      `json:"speed_up_geometric_mean"`
	Slowest          QuerySpeed   `json:"slowest"`
	QueriesFailed    int          `json:"queries_failed"`
	AnswersDifferent int          `json:"answers_different"`
	Differences      []string     `json:"differences,omitempty"`
}

// measure runs every query on both stores, one at a time, and compares the answers by the way. It needs the marker.
func (c *QuerySpeeds) measure(ctx context.Context, o Options, r *rig.Rig, queries []ch.Query) error {
	for run := range queryRuns {
		o.Progress(fmt.Sprintf("queries one by one, run %d of %d", run+1, queryRuns))
		if err := pulse(ctx, r); err != nil { // a new snapshot: no result of the last run is left
			return err
		}
		compared, err := compareApart(ctx, o, compare.Config{
			OLTP: r.OLTP(), Endpoint: r.Endpoint(), Tables: ch.WriteOrder, Queries: queries,
		})
		if err != nil {
			return err
		}
		c.AnswersDifferent += compared.Different
		for _, d := range compared.Differences {
			o.Progress("a different answer: " + d.String())
			c.Differences = append(c.Differences, d.String())
		}
		c.addRun(queries, compared)
	}
	c.sum()
	return nil
}

// sum computes the speed-ups, over the queries that were answered; they are zero if none was.
func (c *QuerySpeeds) sum() {
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
	if n == 0 {
		c.Slowest = QuerySpeed{} // JSON has no infinity
		return
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

func (c *QuerySpeeds) addRun(queries []ch.Query, compared *compare.Report) {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	first := c.Queries == nil
	for i, q := range queries {
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

func (c *QuerySpeeds) table() report.Table {
	t := report.Table{Title: "Queries one by one", Columns: []string{"query", "PostgreSQL ms", "Freshet ms", "speed-up", "route"}}
	for _, q := range c.Queries {
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

func (c *QuerySpeeds) chart() report.Chart {
	out := report.Chart{Title: "Time of each query", Unit: "ms", Log: true,
		Series: []report.Series{{Name: "PostgreSQL"}, {Name: "Freshet"}}}
	for _, q := range c.Queries {
		out.Labels = append(out.Labels, q.Query)
		out.Series[0].Values = append(out.Series[0].Values, q.PostgresMS)
		out.Series[1].Values = append(out.Series[1].Values, q.ColumnarMS)
	}
	return out
}

// judge compares with the targets.
func (c *QuerySpeeds) judge(r *report.Report, least float64) {
	r.AtLeast(fmt.Sprintf("%d queries against PostgreSQL, geometric mean", len(c.Queries)), c.SpeedUp, least, "%.1f×")
	r.AtLeast("slowest query against PostgreSQL ("+c.Slowest.Query+")", c.Slowest.SpeedUp, 1, "%.1f×")
	r.AtMost("queries that the endpoint does not answer", float64(c.QueriesFailed), 0, "%.0f")
	r.AtMost("answers that differ from PostgreSQL's", float64(c.AnswersDifferent), 0, "%.0f")
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
