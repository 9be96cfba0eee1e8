package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/freshet-io/freshet/local/platform"
	"github.com/freshet-io/freshet/local/toolchain"
)

func localCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "local",
		Short: "Run a platform on this machine",
	}
	var dir string
	cmd.PersistentFlags().StringVar(&dir, "dir", "", "state folder (default: freshet in the user's data folder, /var/lib/freshet for root)")
	cmd.PersistentPreRunE = func(*cobra.Command, []string) (err error) {
		if dir == "" {
			dir, err = platform.DefaultDir()
		}
		return err
	}
	cmd.AddCommand(upCommand(&dir), statusCommand(&dir), downCommand(&dir), resetCommand(&dir), runCommand())
	return cmd
}

func upCommand(dir *string) *cobra.Command {
	var cfg platform.Config
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the platform in the background; safe to repeat",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Dir = *dir
			return up(cmd, cfg)
		},
	}
	platformFlags(cmd, &cfg)
	return cmd
}

// platformFlags adds the flags that configure a platform.
func platformFlags(cmd *cobra.Command, cfg *platform.Config) {
	f := cmd.Flags()
	f.IntVar(&cfg.Port, "port", platform.DefaultPort, "port of the SQL endpoint")
	f.IntVar(&cfg.MonitorPort, "monitor-port", platform.DefaultMonitorPort, "port of /metrics, /healthz, /freshz, /readyz and /status")
	f.IntVar(&cfg.PostgresPort, "postgres-port", 0, "port of PostgreSQL itself (default: any free one)")
	f.IntVar(&cfg.EnginePort, "engine-port", 0, "port of the columnar engine's native protocol (default: any free one)")
	f.IntVar(&cfg.EngineHTTPPort, "engine-http-port", 0, "port of the columnar engine's HTTP protocol (default: any free one)")
	f.IntVar(&cfg.KafkaPort, "kafka-port", 0, "port of Kafka, with --cdc=kafka (default: any free one)")
	f.IntVar(&cfg.ConnectPort, "connect-port", 0, "port of Kafka Connect's REST interface, with --cdc=kafka (default: any free one)")
	f.StringVar((*string)(&cfg.CDC), "cdc", "", "way of the changes: direct (PostgreSQL's own replication) or kafka (Debezium and Kafka, which need Java 17) (default: that of the data; direct for new data)")
	f.StringSliceVar(&cfg.Include, "include", nil, "patterns of the tables to replicate, such as public.* (default: all tables)")
	f.StringSliceVar(&cfg.Exclude, "exclude", nil, "patterns of the tables not to replicate")
	f.BoolVar(&cfg.Pin, "pin", false, "run PostgreSQL on CPU 0, the engine and the gateway on CPU 1")
	f.BoolVar(&cfg.PinDecoding, "pin-decoding", false, "with --pin, decode PostgreSQL's log on CPU 1, too: transactions lose less, and queries have less of CPU 1")
	f.Int64Var(&cfg.EngineMemory, "engine-memory", 0, "cap of the engine's memory, in bytes (default: half of the machine's)")
	f.StringVar(&cfg.EngineExecutable, "engine-executable", "", "path of freshet-engine (default: beside freshet, or on PATH)")
}

func up(cmd *cobra.Command, cfg platform.Config) error {
	out := cmd.OutOrStdout()
	p := newProgress(cmd.ErrOrStderr())
	cache, err := toolchain.Default()
	if err != nil {
		return err
	}
	cache.Progress = p.fetch
	cfg.Cache = cache
	start := time.Now()
	already, err := platform.Up(cmd.Context(), cfg, p.step)
	p.end()
	if err != nil {
		return err
	}
	r, err := platform.Inspect(cmd.Context(), cfg.Dir)
	if err != nil {
		return err
	}
	if already {
		fmt.Fprintf(out, "Freshet already runs (supervisor %d, state folder %s).\n", r.Supervisor.PID, r.Dir)
		if configured(cmd) {
			fmt.Fprintln(out, "It runs on as it was started: flags have no effect until freshet local down and up.")
		}
	} else {
		fmt.Fprintf(out, "Freshet is up after %.1f s (state folder %s).\n", time.Since(start).Seconds(), r.Dir)
	}
	fmt.Fprintf(out, "\nConnect:\n  psql %q\n\nSee freshet local status, stop by freshet local down; the data stays.\n", r.URL)
	return nil
}

// configured reports whether any of the command's own flags was given.
func configured(cmd *cobra.Command) (given bool) {
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { given = given || f.Changed })
	return given
}

func downCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the platform; its data stays",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ran, err := platform.Down(cmd.Context(), *dir)
			if err != nil {
				return err
			}
			if ran {
				fmt.Fprintf(cmd.OutOrStdout(), "Freshet is stopped. Its data stays in %s.\n", *dir)
			} else {
				fmt.Fprintln(cmd.OutOrStdout(), "Freshet does not run.")
			}
			return nil
		},
	}
}

func resetCommand(dir *string) *cobra.Command {
	var yes, replica bool
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Stop the platform and delete its data, or its replica alone",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			what, reset := "all data of the platform", platform.Reset
			if replica {
				what, reset = "the columnar replica of the platform", platform.ResetReplica
			}
			if !yes {
				if err := confirm(cmd, "Delete "+what+" in "+*dir+"?"); err != nil {
					return err
				}
			}
			if err := reset(cmd.Context(), *dir); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Deleted %s in %s.\n", what, *dir)
			return nil
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&replica, "replica", false, "delete the columnar replica alone: PostgreSQL keeps its data, and the next up copies all tables anew")
	return cmd
}

// confirm asks a person. Where none is there, it refuses.
func confirm(cmd *cobra.Command, question string) error {
	if f, ok := cmd.InOrStdin().(*os.File); ok && !isatty.IsTerminal(f.Fd()) {
		return errors.New("nobody is there to confirm: give --yes")
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s [y/N] ", question)
	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return errors.New("nothing was deleted")
	}
	return nil
}

func runCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "run",
		Short:  "Supervise a platform (started by up)",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cache, err := toolchain.Default()
			if err != nil {
				return err
			}
			return platform.Daemon(cmd.Context(), cmd.InOrStdin(), platform.Config{
				Cache:  cache,
				Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
			})
		},
	}
}

func statusCommand(dir *string) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the platform's servers, tables and staleness",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := platform.Inspect(cmd.Context(), *dir)
			if err != nil {
				return err
			}
			switch output {
			case "json":
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(r)
			case "text":
				return printStatus(cmd.OutOrStdout(), r)
			default:
				return fmt.Errorf("unknown output %q: want text or json", output)
			}
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}
