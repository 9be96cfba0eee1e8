// Command postgres-entrypoint starts PostgreSQL as the entrypoint of its official image does: it initialises the data folder at the
// first start, by POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB, POSTGRES_INITDB_ARGS and PGDATA, and becomes the command that is its
// arguments. Scripts in /docker-entrypoint-initdb.d and passwords in files are not known to it.
//
// Invariant: PGDATA is there whole or not at all, wherever the first start is interrupted.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	err := run(os.Args[1:])
	fmt.Fprintln(os.Stderr, "postgres-entrypoint:", err)
	os.Exit(1)
}

// run returns with an error or not at all: the process becomes another program.
func run(args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		args = slices.Insert(args, 0, "postgres")
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	if args[0] == "postgres" {
		if err := prepare(); err != nil {
			return err
		}
	}
	return fmt.Errorf("become %s: %w", path, syscall.Exec(path, args, os.Environ()))
}

// prepare initialises the data folder. Until it is done this process, which may be the first of its container, ends by signals.
func prepare() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	defer stop()
	c, err := fromEnvironment(os.Getenv)
	if err != nil {
		return err
	}
	if err := c.initialise(ctx); err != nil {
		return fmt.Errorf("initialise %s: %w", c.data, err)
	}
	return ctx.Err()
}
