package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/bench/report"
	"github.com/freshet-io/freshet/bench/rig"
	"github.com/freshet-io/freshet/workload/driver"
)

// lightQueries is how often [Light] asks where it asks, per second.
const lightQueries = 10

// LightPhase is what a light load takes. The CPU times are in percent of one core.
type LightPhase struct {
	// Commits is how many one-row transactions are committed in a second.
	Commits int `json:"commits_per_second"`
	// Followed says that the gateway runs; otherwise it is suspended, which is what PostgreSQL takes by itself.
	Followed bool `json:"followed"`
	// Queries is how many queries the replica answers in a second.
	Queries     int                `json:"queries_per_second"`
	Postgres    float64            `json:"postgresql_cpu_percent"`
	Gateway     float64            `json:"gateway_cpu_percent"`
	Engine      float64            `json:"engine_cpu_percent"`
	LatencyMS   driver.Percentiles `json:"latency_ms"`
	StolenShare float64            `json:"stolen_share"`

	latency *hdrhistogram.Histogram
}

// LightResult is the outcome of [Light].
type LightResult struct {
	Phases []*LightPhase `json:"phases"`
}

// Light measures the CPU time that a platform takes with little or nothing to do.
func Light(ctx context.Context, o Options) (_ *report.Report, err error) {
	o.Rig.Prepare = createMarker
	r, err := rig.Start(ctx, o.Rig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Stop(context.WithoutCancel(ctx))) }()
	out := &LightResult{}
	for _, commits := range []int{0, 25, 200} {
		for _, p := range []LightPhase{{}, {Followed: true}, {Followed: true, Queries: lightQueries}} {
			p.Commits, p.latency = commits, newHistogram()
			out.Phases = append(out.Phases, &p)
		}
	}
	for round := range o.Rounds {
		for _, p := range out.Phases {
			o.Progress(fmt.Sprintf("round %d of %d: %s", round+1, o.Rounds, p))
			if err := p.run(ctx, o, r); err != nil {
				return nil, fmt.Errorf("%s: %w", p, err)
			}
		}
	}
	for _, p := range out.Phases {
		for _, sum := range []*float64{&p.Postgres, &p.Gateway, &p.Engine, &p.StolenShare} {
			*sum /= float64(o.Rounds)
		}
		p.LatencyMS = driver.Summarize(p.latency)
	}
	return out.report(o), nil
}

// String names the phase.
func (p *LightPhase) String() string {
	switch {
	case !p.Followed:
		return fmt.Sprintf("%d commits/s, not followed", p.Commits)
	case p.Queries == 0:
		return fmt.Sprintf("%d commits/s", p.Commits)
	}
	return fmt.Sprintf("%d commits/s, %d queries/s", p.Commits, p.Queries)
}

// run adds one round to the phase.
func (p *LightPhase) run(ctx context.Context, o Options, r *rig.Rig) (err error) {
	if err := r.CaughtUp(ctx); err != nil {
		return err
	}
	if !p.Followed {
		if err := r.Suspend(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.Resume()) }()
	}
	if p.Commits > 0 {
		var m *marker
		if m, err = startMarker(ctx, r, time.Second/time.Duration(p.Commits)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.stop()) }()
	}
	var conn *pgx.Conn
	if p.Queries > 0 {
		if conn, err = connectColumnar(ctx, r); err != nil {
			return err
		}
		defer conn.Close(context.WithoutCancel(ctx))
	}
	if err := p.ask(ctx, conn, o.Warmup, newHistogram()); err != nil {
		return err
	}
	machine, err := rig.ReadMachine()
	if err != nil {
		return err
	}
	before, err := r.CPU()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := p.ask(ctx, conn, o.Duration, p.latency); err != nil {
		return err
	}
	after, err := r.CPU()
	if err != nil {
		return err
	}
	ended, err := rig.ReadMachine()
	if err != nil {
		return err
	}
	used, percent := after.Sub(before), 100/time.Since(began).Seconds()
	p.Postgres += used.Postgres.Seconds() * percent
	p.Gateway += used.Gateway.Seconds() * percent
	p.Engine += used.Engine.Seconds() * percent
	p.StolenShare += ended.StolenSince(machine)
	return nil
}

// connectColumnar connects to the endpoint for queries that the replica answers, however busy the machine is: PostgreSQL's CPU time would
// be theirs otherwise.
func connectColumnar(ctx context.Context, r *rig.Rig) (*pgx.Conn, error) {
	conn, err := pgx.Connect(ctx, r.Endpoint())
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "SET freshet.route = columnar; SET freshet.max_staleness = '1min'"); err != nil {
		return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return conn, nil
}

// ask lets the phase's time pass, with its queries, if it has any, and their latencies.
func (p *LightPhase) ask(ctx context.Context, conn *pgx.Conn, d time.Duration, latencies *hdrhistogram.Histogram) error {
	end := time.NewTimer(d)
	defer end.Stop()
	var due <-chan time.Time
	if p.Queries > 0 {
		tick := time.NewTicker(time.Second / time.Duration(p.Queries))
		defer tick.Stop()
		due = tick.C
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end.C:
			return nil
		case <-due:
		}
		began := time.Now()
		var seen int64
		if err := conn.QueryRow(ctx, "SELECT max(txn) FROM freshness_marker").Scan(&seen); err != nil {
			return err
		}
		if err := latencies.RecordValue(time.Since(began).Microseconds()); err != nil {
			return err
		}
	}
}

func (l *LightResult) report(o Options) *report.Report {
	r := o.header("light", "CPU time with little to do")
	r.AddSetting("commits", "one client, an update of one row each")
	r.AddSetting("queries", "one client, of the newest snapshot, on the replica")
	r.AddSetting("not followed", "the gateway's process is suspended: PostgreSQL's own need")
	r.AddSetting("phases", fmt.Sprintf("%d × %v after %v of warm-up", o.Rounds, o.Duration, o.Warmup))
	r.AddSetting("PostgreSQL 18", rig.SettingsText())
	r.Data = l
	table := report.Table{Title: "CPU time in percent of a core", Columns: []string{
		"load", "PostgreSQL", "gateway", "engine", "latency p50 ms", "p99 ms", "CPU stolen by the host"}}
	chart := report.Chart{Title: "CPU time", Unit: "% of a core", Series: []report.Series{{Name: "PostgreSQL"}, {Name: "gateway"}, {Name: "engine"}}}
	for _, p := range l.Phases {
		table.Rows = append(table.Rows, cells("%s|%.1f|%.1f|%.1f|%s|%s|%.1f %%", p, p.Postgres, p.Gateway, p.Engine,
			unlessZero("%.1f", p.LatencyMS.P50), unlessZero("%.1f", p.LatencyMS.P99), 100*p.StolenShare))
		chart.Labels = append(chart.Labels, p.String())
		for i, v := range []float64{p.Postgres, p.Gateway, p.Engine} {
			chart.Series[i].Values = append(chart.Series[i].Values, v)
		}
	}
	r.Tables, r.Charts = []report.Table{table}, []report.Chart{chart}
	return r
}
