package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	interrupted := ctx.Err() != nil
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "freshet:", err)
		if interrupted && errors.Is(err, context.Canceled) {
			os.Exit(130)
		}
		os.Exit(1)
	}
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "freshet",
		Short:         "Consistent, fresh analytics beside your transactions, behind one PostgreSQL endpoint",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(localCommand(), gatewayCommand(), demoCommand(), benchCommand())
	return cmd
}
