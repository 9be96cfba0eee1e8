package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/freshet-io/freshet/bench/report"
	"github.com/freshet-io/freshet/bench/rig"
	"github.com/freshet-io/freshet/workload/driver"
)

// Options are common to the benchmarks. Begin with [DefaultOptions], and run with what [Options.Complete] returns.
type Options struct {
	// Rig says what to set up; its warehouses are the scale.
	Rig rig.Config
	// Duration of each measured phase, after Warmup.
	Duration, Warmup time.Duration
	// Rounds is how often each phase takes its turn.
	Rounds int
	// Terminals and Analysts are the numbers of transactional and analytical clients. Without a number of terminals, there is
	// one per warehouse, and four at least.
	Terminals, Analysts int
	// Queries is what analytical clients run.
	Queries driver.QuerySet
	// Growing leaves out the deletion of old orders that keeps the data's size.
	Growing bool
	// Progress is told what is being done.
	Progress func(string)
}

// DefaultOptions are what a benchmark takes unless told otherwise.
func DefaultOptions() Options {
	return Options{
		Rig:      rig.Config{Warehouses: 2, Seed: 1},
		Duration: 20 * time.Second, Warmup: 3 * time.Second, Rounds: 3,
		Analysts: 4, Queries: driver.BatchDBQueries,
		Progress: func(string) {},
	}
}

// Check tells what no benchmark can measure with.
func (o Options) Check() error {
	for _, count := range []struct {
		n    int
		what string
	}{{o.Rig.Warehouses, "warehouses"}, {o.Rounds, "rounds"}, {o.Analysts, "analysts"}} {
		if count.n < 1 {
			return fmt.Errorf("%d %s: at least one is needed", count.n, count.what)
		}
	}
	switch {
	case o.Terminals < 0:
		return fmt.Errorf("%d terminals: give 0 for one per warehouse", o.Terminals)
	case o.Duration <= 0:
		return fmt.Errorf("duration %v: it must be positive", o.Duration)
	case o.Warmup < 0:
		return fmt.Errorf("warm-up %v: it must not be negative", o.Warmup)
	}
	return errors.Join(o.Rig.CDC.Check(), o.Queries.Check())
}

// Complete fills in what follows from other options.
func (o Options) Complete() Options {
	if o.Terminals == 0 {
		o.Terminals = max(4, o.Rig.Warehouses)
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
	if o.Analysts > 0 {
		r.AddSetting("analytical clients", fmt.Sprintf("%d, queries %s", o.Analysts, o.Queries))
	}
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
