package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/freshet-io/freshet/workload/ch"
)

func benchLoadCommand() *cobra.Command {
	var cfg ch.LoadConfig
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Load the CH-benCHmark into a database that does not hold it yet",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := ch.Load(cmd.Context(), cfg); err != nil {
				return fmt.Errorf("bench load: %w", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Loaded %d warehouses.\n", cfg.Warehouses)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.DSN, "oltp", "", "connection string of the database")
	f.IntVar(&cfg.Warehouses, "warehouses", 2, "scale")
	f.Uint64Var(&cfg.Seed, "seed", 1, "seed of the data")
	_ = cmd.MarkFlagRequired("oltp") // the flag exists
	return cmd
}
