package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/bench/report"
)

// The targets.
const (
	restartLimit = 60  // seconds
	memoryLimit  = 256 // MiB
)

// Run measures.
func Run(ctx context.Context, o Options) (_ *report.Report, err error) {
	w := &world{o: o}
	defer func() { err = errors.Join(err, w.stop(context.WithoutCancel(ctx))) }()
	if err := w.start(ctx); err != nil {
		return nil, err
	}
	r, err := measure(ctx, w)
	if err != nil {
		return nil, err
	}
	return present(o, r), nil
}

// sessions is how many were opened in the database so far, but for those that are open.
func (w *world) sessions(ctx context.Context) (n int64, err error) {
	conn, err := pgx.Connect(ctx, w.postgres.URL("template1")) // not the one that is counted
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	err = conn.QueryRow(ctx, "SELECT sessions FROM pg_stat_database WHERE datname = 'postgres'").Scan(&n)
	return n, err
}

func present(o Options, d *Result) *report.Report {
	r := &report.Report{Name: "operator", Title: "The operator at scale: played nodes and units, a real API server and database", Measured: time.Now(), Data: d}
	r.AddSetting("clusters", fmt.Sprintf("%d of %d units each, in %d namespaces", o.Clusters, o.Units, o.Namespaces))
	r.AddSetting("nodes", fmt.Sprintf("%d in %d pools, a heartbeat each 5 minutes", o.Nodes, len(pools)))
	r.AddSetting("CPUs, shared with the API server and everything that is played", runtime.NumCPU())
	phases := []Phase{d.Converge, d.Steady, d.Restart, d.Crash}
	names := []string{"from nothing to ready", "steady", "after a restart", "after SIGKILL"}
	peak := int64(0)
	table := report.Table{Title: "Phases", Columns: []string{
		"phase", "seconds", "requests", "requests/s", "writes", "database sessions", "CPU s", "RSS MiB", "peak MiB",
	}}
	for i, p := range phases {
		peak = max(peak, p.Memory.Peak)
		table.Rows = append(table.Rows, []string{
			names[i], fmt.Sprintf("%.1f", p.Seconds), fmt.Sprint(p.Requests.All()), fmt.Sprintf("%.1f", float64(p.Requests.All())/p.Seconds),
			fmt.Sprint(p.Writes), fmt.Sprint(p.Sessions), fmt.Sprintf("%.1f", p.CPUSeconds), fmt.Sprint(p.Memory.Now >> 20), fmt.Sprint(p.Memory.Peak >> 20),
		})
	}
	r.Tables = []report.Table{table, requestTable(names, phases)}
	r.AtMost("seconds to reconcile all after a restart", d.Restart.Seconds, restartLimit, "%.1f")
	r.AtMost("the same after SIGKILL, with the wait for the lease", d.Crash.Seconds, restartLimit, "%.1f")
	r.AtMost("writes after restart and SIGKILL", float64(d.Restart.Writes+d.Crash.Writes), 0, "%.0f")
	r.AtMost("peak memory, MiB", float64(peak>>20), memoryLimit, "%.0f")
	r.AtMost("steady writes per hour and cluster", d.WritesPerHour, 0, "%.2f")
	return r
}

// requestTable counts by verb and resource.
func requestTable(names []string, phases []Phase) report.Table {
	all := Requests{}
	for _, p := range phases {
		maps.Copy(all, p.Requests)
	}
	t := report.Table{Title: "Requests to the API server", Columns: append([]string{"request"}, names...)}
	for _, what := range slices.Sorted(maps.Keys(all)) {
		row := []string{what}
		for _, p := range phases {
			row = append(row, fmt.Sprint(p.Requests[what]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
