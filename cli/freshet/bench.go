package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/freshet-io/freshet/bench"
	"github.com/freshet-io/freshet/bench/relay"
	"github.com/freshet-io/freshet/bench/report"
	"github.com/freshet-io/freshet/bench/rig"
	"github.com/freshet-io/freshet/local/platform"
	"github.com/freshet-io/freshet/local/toolchain"
)

// benchmark is a subcommand that sets up a platform of its own.
type benchmark struct {
	name, short string
	run         func(context.Context, bench.Options) (*report.Report, error)
	// flags are those of optionFlags that it heeds, and cdc.
	flags []string
}

var benchmarks = []benchmark{
	{
		"ch", "CH-benCHmark: both kinds of clients, alone and together, and each query on both stores", bench.CH,
		[]string{"warehouses", "duration", "warmup", "rounds", "terminals", "analysts", "queries", "growing"},
	},
	{
		"reports", "Reports with sorted names, subtotals, medians and durations, each on both stores", bench.Reports,
		[]string{"warehouses"},
	},
	{
		"staleness", "Age of snapshots when queries start on them, by freshness mode", bench.Staleness,
		[]string{"warehouses", "duration", "warmup", "terminals", "analysts", "queries", "growing", "cdc"},
	},
	{
		"light", "CPU time of PostgreSQL, gateway and engine with little or nothing to do", bench.Light,
		[]string{"warehouses", "duration", "warmup", "rounds"},
	},
	{
		"apply", "Row changes applied per CPU-second, and a transaction of a million rows", bench.Apply,
		[]string{"warehouses", "duration", "rounds", "terminals", "growing"},
	},
	{
		"scan", "Penalty of scanning live replicas against plain tables", bench.Scan,
		[]string{"warehouses", "duration", "warmup", "rounds", "terminals", "growing"},
	},
	{
		"shares", "Engine CPU time of tenants with 4:2:1 shares under contention, and throughput against no shares", bench.Shares,
		[]string{"warehouses", "duration", "warmup", "rounds"},
	},
	{
		"kafka", "The change stream over Kafka: staleness, rates, and catching up after a stop", bench.Kafka,
		[]string{"warehouses", "duration", "warmup", "terminals", "analysts", "queries", "growing"},
	},
	{
		"relay", "pgbench -S through the gateway, PgBouncer and neither, in turn", relay.Run,
		[]string{"duration", "rounds"},
	},
}

func benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what Freshet promises",
		Long: `Measure what Freshet promises. Each benchmark sets up PostgreSQL, the engine and the gateway anew, in a
folder that it removes, and prints a table; --json and --html write the results to files as well.`,
	}
	for _, b := range benchmarks {
		cmd.AddCommand(benchmarkCommand(b))
	}
	cmd.AddCommand(benchLoadCommand(), benchClientsCommand())
	return cmd
}

func benchmarkCommand(b benchmark) *cobra.Command {
	o := bench.DefaultOptions()
	var out outputs
	cmd := &cobra.Command{
		Use: b.name, Short: b.short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Check(); err != nil {
				return err
			}
			if o.Rig.Pin {
				if err := rig.PinSelf(); err != nil {
					return err
				}
			}
			files, err := out.open()
			if err != nil {
				return err
			}
			defer files.Discard()
			if err := findTools(&o.Rig); err != nil {
				return err
			}
			return whileRead(cmd, func(ctx context.Context, text, errOut io.Writer) error {
				start := time.Now()
				o.Progress = func(step string) { fmt.Fprintf(errOut, "%6.1fs  %s\n", time.Since(start).Seconds(), step) }
				r, err := b.run(ctx, o.Complete())
				if err != nil {
					return fmt.Errorf("bench %s: %w", b.name, err)
				}
				return files.Write(r, text)
			})
		},
	}
	out.flags(cmd)
	f := cmd.Flags()
	f.Uint64Var(&o.Rig.Seed, "seed", o.Rig.Seed, "seed of the data")
	f.StringVar(&o.Rig.Dir, "dir", "", "folder for the data while it runs (default: the system's for temporary files)")
	f.StringVar(&o.Rig.EngineExecutable, "engine-executable", "", "path of freshet-engine (default: beside freshet, or on PATH)")
	f.BoolVar(&o.Rig.Pin, "pin", rig.CanPin(), "PostgreSQL and its clients on CPU 0, the rest on CPU 1")
	optionFlags(&o).VisitAll(func(option *pflag.Flag) {
		if !slices.Contains(b.flags, option.Name) {
			// Accepted, so that all benchmarks can be given the same flags.
			option.Deprecated, option.Hidden = "bench "+b.name+" has no use for it", true
		}
		f.AddFlag(option)
	})
	if slices.Contains(b.flags, "cdc") {
		f.StringVar((*string)(&o.Rig.CDC), "cdc", string(platform.Direct), "way of the changes: direct or kafka")
	}
	return cmd
}

// optionFlags are the flags that some benchmarks heed and others do not.
func optionFlags(o *bench.Options) *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.IntVar(&o.Rig.Warehouses, "warehouses", o.Rig.Warehouses, "scale: warehouses to load")
	f.DurationVar(&o.Duration, "duration", o.Duration, "length of each phase")
	f.DurationVar(&o.Warmup, "warmup", o.Warmup, "time before each phase counts")
	f.IntVar(&o.Rounds, "rounds", o.Rounds, "how often each phase takes its turn")
	f.IntVar(&o.Terminals, "terminals", o.Terminals, "transactional clients (default: one per warehouse, at least 4)")
	f.IntVar(&o.Analysts, "analysts", o.Analysts, "analytical clients")
	f.StringVar((*string)(&o.Queries), "queries", string(o.Queries), "what analytical clients run: ch, batchdb, hoap or all")
	f.BoolVar(&o.Growing, "growing", o.Growing, "let the data grow, instead of deleting old orders")
	return f
}

func findTools(cfg *rig.Config) (err error) {
	if cfg.Cache, err = toolchain.Default(); err != nil {
		return err
	}
	if cfg.GatewayExecutable, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if cfg.EngineExecutable == "" {
		cfg.EngineExecutable, err = platform.FindEngine(cfg.GatewayExecutable)
	}
	return err
}

// outputs are the flags for the files that a benchmark's report goes to.
type outputs struct {
	jsonPath, htmlPath string
}

func (o *outputs) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.jsonPath, "json", "", "file for the results as JSON")
	cmd.Flags().StringVar(&o.htmlPath, "html", "", "file for the report as a page with charts")
}

func (o *outputs) open() (*report.Files, error) { return report.OpenFiles(o.jsonPath, o.htmlPath) }
