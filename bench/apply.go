package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/bench/report"
	"github.com/freshet-io/freshet/bench/rig"
)

// bulkRows is the size of the large transaction.
const bulkRows = 1_000_000

// ApplyRound compares making changes with applying them.
type ApplyRound struct {
	Changes int64 `json:"row_changes"`
	// GenerateCPU is PostgreSQL's and the clients' CPU time in seconds, ApplyCPU the gateway's and the engine's.
	GenerateCPU float64 `json:"generate_cpu_seconds"`
	ApplyCPU    float64 `json:"apply_cpu_seconds"`
	// ApplySeconds is how long the replica took to catch up, during which PostgreSQL only decoded its log, for DecodeCPU seconds.
	ApplySeconds float64 `json:"apply_seconds"`
	DecodeCPU    float64 `json:"decode_cpu_seconds"`
	// Failures counts errors of PostgreSQL.
	Failures int64 `json:"failures"`
}

// ApplyResult is the outcome of [Apply].
type ApplyResult struct {
	Rounds []ApplyRound `json:"rounds"`
	// The rates are row changes per CPU-second over all rounds; Power is their ratio.
	GeneratePerCPU float64       `json:"generate_changes_per_cpu_second"`
	ApplyPerCPU    float64       `json:"apply_changes_per_cpu_second"`
	Power          float64       `json:"apply_power"`
	Gateway        GatewayMemory `json:"gateway_memory"`
	// The large transaction inserts a million rows.
	BulkSeconds float64       `json:"bulk_seconds"`
	BulkCPU     float64       `json:"bulk_cpu_seconds"`
	BulkGateway GatewayMemory `json:"bulk_gateway_memory"`
}

// Apply lets transactions run while the gateway is suspended, and then measures how the replica catches up.
func Apply(ctx context.Context, o Options) (_ *report.Report, err error) {
	o.Analysts, o.Warmup = 0, 0 // everything that is generated counts
	o.Rig.Prepare = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CREATE TABLE bulk (id integer PRIMARY KEY, amount numeric(12,2) NOT NULL, note text NOT NULL)")
		return err
	}
	r, err := rig.Start(ctx, o.Rig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Stop(context.WithoutCancel(ctx))) }()
	out := &ApplyResult{}
	for i := range o.Rounds {
		o.Progress(fmt.Sprintf("backlog %d of %d", i+1, o.Rounds))
		round, err := applyRound(ctx, o, r)
		if err != nil {
			return nil, err
		}
		out.Rounds = append(out.Rounds, *round)
	}
	var changes, generate, apply float64
	for _, round := range out.Rounds {
		changes += float64(round.Changes)
		generate += round.GenerateCPU
		apply += round.ApplyCPU
	}
	out.GeneratePerCPU, out.ApplyPerCPU = changes/generate, changes/apply
	out.Power = out.ApplyPerCPU / out.GeneratePerCPU
	if out.Gateway, err = gatewayMemory(r); err != nil {
		return nil, err
	}
	o.Progress("a transaction of a million rows")
	if err := out.bulk(ctx, r); err != nil {
		return nil, err
	}
	return out.report(o), nil
}

// applyRound makes a backlog and lets the replica catch up.
func applyRound(ctx context.Context, o Options, r *rig.Rig) (*ApplyRound, error) {
	if err := r.CaughtUp(ctx); err != nil {
		return nil, err
	}
	if err := r.Suspend(); err != nil {
		return nil, err
	}
	defer func() { _ = r.Resume() }() // again, in case of an error; resuming twice does nothing
	changesBefore, err := rowChanges(ctx, r)
	if err != nil {
		return nil, err
	}
	before, err := r.CPU()
	if err != nil {
		return nil, err
	}
	made, err := o.phase(ctx, r, load{terminals: o.Terminals}, "")
	if err != nil {
		return nil, err
	}
	generated, err := r.CPU()
	if err != nil {
		return nil, err
	}
	changes, err := rowChanges(ctx, r)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := errors.Join(r.Resume(), r.CaughtUp(ctx)); err != nil {
		return nil, err
	}
	elapsed := time.Since(start)
	applied, err := r.CPU()
	if err != nil {
		return nil, err
	}
	generate, apply := generated.Sub(before), applied.Sub(generated)
	return &ApplyRound{
		Changes: changes - changesBefore, GenerateCPU: (generate.Postgres + generate.Self).Seconds(),
		ApplyCPU: (apply.Gateway + apply.Engine).Seconds(), ApplySeconds: elapsed.Seconds(), DecodeCPU: apply.Postgres.Seconds(),
		Failures: made.Failures,
	}, nil
}

// rowChanges counts the rows that were inserted, updated and deleted so far. Sessions report them when they
// end at the latest; rows of New-Orders that roll back (1 %) are among them.
func rowChanges(ctx context.Context, r *rig.Rig) (int64, error) {
	conn, err := pgx.Connect(ctx, r.OLTP())
	if err != nil {
		return 0, fmt.Errorf("count row changes: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var n int64
	err = conn.QueryRow(ctx, "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::bigint FROM pg_stat_user_tables").Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count row changes: %w", err)
	}
	return n, nil
}

// bulk commits a million rows at once and waits until they are visible.
func (a *ApplyResult) bulk(ctx context.Context, r *rig.Rig) error {
	conn, err := pgx.Connect(ctx, r.OLTP())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := errors.Join(r.CaughtUp(ctx), r.ResetPeak()); err != nil {
		return err
	}
	before, err := r.CPU()
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, fmt.Sprintf(
		"INSERT INTO bulk SELECT i, i * 0.01, 'note ' || i FROM generate_series(1, %d) AS i", bulkRows))
	if err != nil {
		return fmt.Errorf("commit a million rows: %w", err)
	}
	start := time.Now()
	if err := r.CaughtUp(ctx); err != nil {
		return err
	}
	a.BulkSeconds = time.Since(start).Seconds()
	after, err := r.CPU()
	if err != nil {
		return err
	}
	used := after.Sub(before)
	a.BulkCPU = (used.Gateway + used.Engine).Seconds()
	a.BulkGateway, err = gatewayMemory(r)
	return err
}

func (a *ApplyResult) report(o Options) *report.Report {
	r := o.describe("apply", "Power of applying changes")
	r.AddSetting("backlog", "TPC-C's standard mix while the gateway is suspended; then the gateway resumes and nothing else runs")
	r.AddSetting("large transaction", fmt.Sprintf("INSERT of %d rows of three columns", bulkRows))
	r.Data = a
	table := report.Table{Title: "Backlogs", Columns: []string{
		"round", "row changes", "CPU s to make", "CPU s to apply", "s to apply", "CPU s to decode in PostgreSQL", "errors"}}
	failures := int64(0)
	for i, round := range a.Rounds {
		table.Rows = append(table.Rows, cells("%d|%d|%.2f|%.2f|%.2f|%.2f|%d", i+1, round.Changes, round.GenerateCPU,
			round.ApplyCPU, round.ApplySeconds, round.DecodeCPU, round.Failures))
		failures += round.Failures
	}
	rates := report.Table{Title: "Row changes per CPU-second", Columns: []string{"", "row changes/CPU-s"}, Rows: [][]string{
		cells("made by PostgreSQL and its clients|%.0f", a.GeneratePerCPU),
		cells("applied by gateway and engine|%.0f", a.ApplyPerCPU),
	}}
	bulk := report.Table{Title: "A transaction of a million rows", Columns: []string{"", ""}, Rows: [][]string{
		cells("s from commit to visible|%.1f", a.BulkSeconds), cells("CPU s of gateway and engine|%.1f", a.BulkCPU),
		cells("gateway memory, peak MiB|%.0f", a.BulkGateway.Peak),
	}}
	r.Tables = []report.Table{rates, table, bulk}
	r.Charts = []report.Chart{{Title: "Row changes per CPU-second", Labels: []string{"made", "applied"},
		Series: []report.Series{{Name: "row changes/CPU-s", Values: []float64{a.GeneratePerCPU, a.ApplyPerCPU}}}}}
	r.AtMost("errors of PostgreSQL", float64(failures), 0, "%.0f")
	r.AtLeast("apply power", a.Power, 20, "%.1f×")
	r.AtMost("gateway memory, peak", a.Gateway.Peak, 300, "%.0f MiB")
	r.AtMost("gateway memory, a transaction of a million rows", a.BulkGateway.Peak, 600, "%.0f MiB")
	return r
}
