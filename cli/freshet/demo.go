package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/freshet-io/freshet/bench"
	"github.com/freshet-io/freshet/bench/report"
	"github.com/freshet-io/freshet/local/platform"
	"github.com/freshet-io/freshet/local/toolchain"
	"github.com/freshet-io/freshet/workload/ch"
	"github.com/freshet-io/freshet/workload/driver"
)

// demoOptions are the flags of freshet demo.
type demoOptions struct {
	platform platform.Config
	run      driver.Config
	report   string
	dir      string
}

func demoCommand() *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show transactions and analytics side by side, on data of its own that is gone afterwards",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return whileRead(cmd, func(ctx context.Context, out, errOut io.Writer) error { return demo(ctx, o, out, errOut) })
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.run.Duration, "duration", time.Minute, "how long to measure")
	f.DurationVar(&o.run.Warmup, "warmup", 3*time.Second, "time before that")
	f.IntVar(&o.run.Warehouses, "warehouses", 2, "scale: warehouses to load")
	f.Uint64Var(&o.run.Seed, "seed", 1, "seed of data and clients")
	f.IntVar(&o.run.TransactionClients, "terminals", 4, "TPC-C terminals, without think time, through the endpoint")
	f.IntVar(&o.run.AnalyticalClients, "analysts", 2, "analytical clients, through the endpoint")
	f.DurationVar(&o.run.CheckEvery, "check-every", 200*time.Millisecond, "time from one consistency check to the next")
	f.StringVar((*string)(&o.run.Queries), "queries", "all", "what analytical clients run: ch, batchdb, hoap or all")
	f.StringVar(&o.report, "report", "", "file for the results as JSON")
	f.StringVar((*string)(&o.platform.CDC), "cdc", string(platform.Direct), "way of the changes: direct (PostgreSQL's own replication) or kafka (Debezium and Kafka, which need Java 17)")
	f.StringVar(&o.dir, "dir", "", "parent of the data while it runs (default: the system's folder for temporary files)")
	f.IntVar(&o.platform.Port, "port", 0, "port of the SQL endpoint (default: any free one)")
	f.BoolVar(&o.platform.Pin, "pin", false, "run PostgreSQL on CPU 0, the engine and the gateway on CPU 1")
	f.StringVar(&o.platform.EngineExecutable, "engine-executable", "", "path of freshet-engine (default: beside freshet, or on PATH)")
	return cmd
}

// errDemoFailed says that the demo showed what Freshet promises not to happen. The report says what.
var errDemoFailed = errors.New("the demo found a violation of consistency or a wrong answer: see the report")

func demo(ctx context.Context, o demoOptions, out, progressOut io.Writer) error {
	switch {
	case o.run.Warehouses < 1:
		return fmt.Errorf("%d warehouses: at least one is needed", o.run.Warehouses)
	case o.run.Duration <= 0:
		return fmt.Errorf("duration %v: it must be positive", o.run.Duration)
	}
	if err := o.run.Validate(); err != nil {
		return err
	}
	results, err := report.OpenFile(o.report, "the report")
	if err != nil {
		return err
	}
	defer results.Discard()
	p := newProgress(progressOut)
	defer p.end()
	measured, err := onOwnPlatform(ctx, o, p, func(ctx context.Context, at platform.Platform) (*driver.Report, error) {
		return runDemo(ctx, o, at, p, out)
	})
	if err != nil {
		return err
	}
	printDemo(out, measured)
	err = results.Write(func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(measured)
	})
	if err != nil {
		return err
	}
	if measured.Violations > 0 || measured.AnswersDifferent > 0 {
		return errDemoFailed
	}
	return nil
}

// onOwnPlatform runs a platform on data of its own while work runs, and leaves nothing of it behind. The platform
// outlives ctx until work has returned, so that an interruption ends the clients first.
func onOwnPlatform(ctx context.Context, o demoOptions, p *progress,
	work func(context.Context, platform.Platform) (*driver.Report, error),
) (*driver.Report, error) {
	cache, err := toolchain.Default()
	if err != nil {
		return nil, err
	}
	cache.Progress = p.fetch
	dir, err := os.MkdirTemp(o.dir, "freshet-demo-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the data: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil { // PostgreSQL may run as another user
		return nil, err
	}
	cfg := o.platform
	cfg.Dir, cfg.Cache, cfg.Volatile = filepath.Join(dir, "platform"), cache, true
	// Fetched before, so that an interruption of a long fetch is heard.
	if err := platform.Fetch(ctx, cfg); err != nil {
		return nil, err
	}

	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	up := make(chan platform.Platform, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- platform.Run(running, cfg, p.step, func(at platform.Platform) { up <- at })
	}()
	select {
	case err := <-ended:
		return nil, err
	case <-ctx.Done():
		stop()
		return nil, errors.Join(ctx.Err(), <-ended)
	case at := <-up:
		report, err := work(ctx, at)
		p.step("stopping")
		stop()
		return report, errors.Join(err, <-ended)
	}
}

// runDemo loads the benchmark, waits for the replica and runs the clients.
func runDemo(ctx context.Context, o demoOptions, at platform.Platform, p *progress, out io.Writer) (*driver.Report, error) {
	err := ch.Load(ctx, ch.LoadConfig{
		DSN: at.DirectURL, Warehouses: o.run.Warehouses, Seed: o.run.Seed,
		Progress: func(done, total int64) {
			p.change("load", fmt.Sprintf("loading CH-benCHmark, %d warehouses: %d of %d rows", o.run.Warehouses, done, total))
		},
	})
	if err != nil {
		return nil, err
	}
	if err := awaitCopies(ctx, at.Monitor, p); err != nil {
		return nil, err
	}
	if err := bench.AwaitReplica(ctx, at.URL, replicaLimit); err != nil {
		return nil, err
	}
	cfg := o.run
	cfg.OLTP, cfg.Endpoint, cfg.Postgres = at.URL, at.URL, at.DirectURL
	cfg.Check, cfg.CompareAtEnd = true, true
	d, err := driver.New(cfg)
	if err != nil {
		return nil, err
	}
	p.end()
	report, err := watch(ctx, d, at, out)
	if err == nil {
		err = ctx.Err()
	}
	return report, err
}

// replicaLimit bounds the time from one table that the replica has to the next, and that of catching up when it has all.
const replicaLimit = 2 * time.Minute

// awaitCopies waits until the replica has all tables and is fresh.
func awaitCopies(ctx context.Context, monitor string, p *progress) error {
	limit := time.NewTimer(replicaLimit)
	defer limit.Stop()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	most := 0
	for {
		r, err := platform.ReadReplica(ctx, monitor)
		if err == nil {
			ready := 0
			for _, table := range r.Tables {
				if table.Stopped != nil {
					return fmt.Errorf("table %s stopped: %s: %s", table.Table, table.Stopped.Code, table.Stopped.Detail)
				}
				if table.Phase == "ready" {
					ready++
				}
			}
			if r.Ready && ready >= len(ch.Tables) {
				return nil
			}
			if ready > most {
				most = ready
				limit.Reset(replicaLimit)
			}
			p.change("replica", fmt.Sprintf("copying to the columnar replica: %d of %d tables", ready, len(ch.Tables)))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until the columnar replica has all tables: %w", ctx.Err())
		case <-limit.C:
			return fmt.Errorf("wait until the columnar replica has all tables: it has %d of %d, and got no other for %v; load fewer --warehouses", most, len(ch.Tables), replicaLimit)
		case <-again.C:
		}
	}
}
