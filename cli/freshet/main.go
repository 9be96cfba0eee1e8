package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/freshet-io/freshet/operator/kubectl"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), ending()...)
	err := command(os.Args[0]).ExecuteContext(ctx)
	interrupted := ctx.Err() != nil
	stop()
	if err == nil {
		return
	}
	code := exitCode(err)
	if interrupted && errors.Is(err, context.Canceled) {
		code, err = 130, fmt.Errorf("interrupted: %w", err)
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
	os.Exit(code)
}

// exitCode is that of a program that was run for the user, who may have asked for it to be told apart, else 1.
func exitCode(err error) int {
	if ended, ok := errors.AsType[*kubectl.ProgramError](err); ok {
		return ended.Code
	}
	return 1
}

// ending are the signals that ask this program to end: a terminal that is closed sends SIGHUP, which nohup has it ignore.
func ending() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// pluginName is what kubectl looks for on PATH: by that name, this program is a plugin of kubectl's.
const pluginName = "kubectl-freshet"

// command returns what the program is by the name that it was called by.
func command(program string) *cobra.Command {
	if strings.TrimSuffix(filepath.Base(program), ".exe") != pluginName {
		return root()
	}
	cmd := kubectl.NewCommand()
	cmd.Use = pluginName
	cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl freshet"}
	cmd.InitDefaultCompletionCmd()
	knowSubcommands(cmd)
	return cmd
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "freshet",
		Short:         "Consistent, fresh analytics beside your transactions, behind one PostgreSQL endpoint",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(localCommand(), gatewayCommand(), demoCommand(), benchCommand(), kubectl.NewCommand())
	cmd.InitDefaultCompletionCmd()
	knowSubcommands(cmd)
	return cmd
}

// knowSubcommands has the commands of the program know their subcommands, see [knowsItsSubcommands].
func knowSubcommands(program *cobra.Command) {
	for _, c := range program.Commands() {
		if c.HasSubCommands() {
			knowsItsSubcommands(c)
		}
	}
}

// knowsItsSubcommands makes it an error to give cmd another one than it has. Otherwise it would show its help and say that all was well.
func knowsItsSubcommands(cmd *cobra.Command) {
	cmd.Args, cmd.DisableFlagsInUseLine = cobra.NoArgs, true
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}
