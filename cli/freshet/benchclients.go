package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/freshet-io/freshet/bench"
	"github.com/freshet-io/freshet/workload/driver"
)

func benchClientsCommand() *cobra.Command {
	var cfg driver.Config
	var out outputs
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "clients",
		Short: "Run clients of both kinds against a platform that runs already and holds the CH-benCHmark",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cfg.OLTP == "" {
				cfg.OLTP = cfg.Endpoint
			}
			cfg.CompareAtEnd = cfg.Postgres != ""
			files, err := out.open()
			if err != nil {
				return err
			}
			defer files.Discard()
			if err := bench.AwaitReplica(cmd.Context(), cfg.Endpoint, wait); err != nil {
				return fmt.Errorf("bench clients: %w", err)
			}
			r, err := bench.Clients(cmd.Context(), cfg)
			if err != nil {
				return fmt.Errorf("bench clients: %w", err)
			}
			if err := files.Conclude(r, cmd.OutOrStdout()); err != nil {
				return fmt.Errorf("bench clients: %w", err)
			}
			return nil
		},
	}
	out.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&cfg.Endpoint, "endpoint", "", "connection string of the endpoint")
	f.StringVar(&cfg.OLTP, "oltp", "", "connection string for transactional clients (default: the endpoint)")
	f.StringVar(&cfg.Postgres, "postgres", "", "connection string of PostgreSQL itself: compares answers at the end")
	f.IntVar(&cfg.TransactionClients, "terminals", 4, "transactional clients")
	f.IntVar(&cfg.AnalyticalClients, "analysts", 4, "analytical clients")
	f.StringVar((*string)(&cfg.Queries), "queries", "all", "what analytical clients run: ch, batchdb, hoap or all")
	f.BoolVar(&cfg.Check, "check", true, "check TPC-C's consistency conditions on snapshots")
	f.DurationVar(&cfg.CheckEvery, "check-every", time.Second, "time from one check to the next")
	f.BoolVar(&cfg.ConstantSize, "constant-size", false, "delete old orders instead of letting the data grow; conditions 10 to 12 are not checked then")
	f.DurationVar(&cfg.Warmup, "warmup", 3*time.Second, "time that is not counted")
	f.DurationVar(&cfg.Duration, "duration", time.Minute, "time that is counted")
	f.DurationVar(&wait, "wait", 2*time.Minute, "time to wait until the replica holds the tables, which it copies after loading")
	f.Uint64Var(&cfg.Seed, "seed", 1, "seed of the clients")
	_ = cmd.MarkFlagRequired("endpoint") // the flag exists
	return cmd
}
