package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/freshet-io/freshet/bench/report"
	"github.com/freshet-io/freshet/bench/rig"
	"github.com/freshet-io/freshet/workload/driver"
)

// Options are common to the benchmarks. Use [Options.WithDefaults].
type Options struct {
	// Rig says what to set up; its warehouses are the scale.
	Rig rig.Config
	// Duration of each measured phase, after Warmup.
	Duration, Warmup time.Duration
	// Rounds is how often each phase takes its turn.
	Rounds int
	// Terminals and Analysts are the numbers of transactional and analytical clients.
	Terminals, Analysts int
	// Queries is what analytical clients run.
	Queries driver.QuerySet
	// Growing leaves out the deletion of old orders that keeps the data's size.
	Growing bool
	// Progress is told what is being done.
	Progress func(string)
}

// WithDefaults fills in what is zero.
func (o Options) WithDefaults() Options {
	set := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	set(&o.Duration, 20*time.Second)
	set(&o.Warmup, 3*time.Second)
	if o.Rig.Warehouses == 0 {
		o.Rig.Warehouses = 2
	}
	if o.Rounds == 0 {
		o.Rounds = 3
	}
	if o.Terminals == 0 {
		o.Terminals = max(4, o.Rig.Warehouses)
	}
	if o.Analysts == 0 {
		o.Analysts = 4
	}
	if o.Queries == "" {
		o.Queries = driver.BatchDBQueries
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	o.Rig.Progress = o.Progress
	return o
}

// header begins a report with the data's settings.
func (o Options) header(name, title string) *report.Report {
	r := &report.Report{Name: name, Title: title, Measured: time.Now()}
	r.AddSetting("warehouses", o.Rig.Warehouses)
	r.AddSetting("seed", o.Rig.Seed)
	return r
}

// describe begins a report with the settings.
func (o Options) describe(name, title string) *report.Report {
	r := o.header(name, title)
	cores := "not pinned"
	if o.Rig.Pin {
		cores = fmt.Sprintf("PostgreSQL and transactional clients on core %d; engine, gateway and analytical clients on core %d",
			rig.OLTPCore, rig.ColumnarCore)
	}
	r.AddSetting("cores", cores)
	r.AddSetting("transactional clients", fmt.Sprintf("%d terminals without think time, directly on PostgreSQL", o.Terminals))
	r.AddSetting("analytical clients", fmt.Sprintf("%d, queries %s", o.Analysts, o.Queries))
	size := "constant: New-Order deletes the order of 3,000 orders ago"
	if o.Growing {
		size = "growing"
	}
	r.AddSetting("data size", size)
	r.AddSetting("phases", fmt.Sprintf("%d × %v after %v of warm-up", o.Rounds, o.Duration, o.Warmup))
	r.AddSetting("PostgreSQL 18", rig.SettingsText())
	return r
}

// load is what runs in a phase.
type load struct{ terminals, analysts int }

// phase runs a load for the duration.
func (o Options) phase(ctx context.Context, r *rig.Rig, l load, setup string) (*driver.Report, error) {
	cfg := driver.Config{
		OLTP: r.OLTP(), Endpoint: r.Endpoint(), Warehouses: o.Rig.Warehouses, Seed: uint64(time.Now().UnixNano()),
		TransactionClients: l.terminals, AnalyticalClients: l.analysts, Queries: o.Queries, AnalyticalSetup: setup,
		ConstantSize: !o.Growing, Warmup: o.Warmup, Duration: o.Duration,
		Reconnect: true, // failures are reported, the rest still measured
	}
	if o.Rig.Pin {
		cfg.AnalyticalCores = []int{rig.ColumnarCore}
	}
	d, err := driver.New(cfg)
	if err != nil {
		return nil, err
	}
	report, err := d.Run(ctx)
	if err == nil {
		err = ctx.Err()
	}
	return report, err
}

// GatewayMemory is the gateway's resident memory over a benchmark, in MiB.
type GatewayMemory struct {
	Now  float64 `json:"now_mib"`
	Peak float64 `json:"peak_mib"`
}

func gatewayMemory(r *rig.Rig) (GatewayMemory, error) {
	m, err := r.GatewayMemory()
	return GatewayMemory{Now: mib(m.Now), Peak: mib(m.Peak)}, err
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// cells formats a row of a table.
func cells(format string, values ...any) []string {
	return strings.Split(fmt.Sprintf(format, values...), "|")
}

// unlessZero formats a figure that a phase has only where it is not zero.
func unlessZero(format string, v float64) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf(format, v)
}
