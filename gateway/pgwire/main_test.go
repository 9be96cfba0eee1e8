package pgwire_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/pgserver"
	"github.com/freshet-io/freshet/local/toolchain"
)

// shared is the server of all tests that leave it as it is; each has a database of its own there.
var shared *pgserver.Server

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	cache, err := toolchain.Default()
	if err != nil {
		return 1, err
	}
	home, err := cache.Postgres(ctx)
	if err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp(stand.TempDir(), "freshet-test-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o711); err != nil { // PostgreSQL's user must be able to pass
		return 1, err
	}
	if shared, err = pgserver.New(pgserver.Config{Home: home, DataDir: filepath.Join(dir, "postgres"), Volatile: true}); err != nil {
		return 1, err
	}
	if err := shared.Start(ctx); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, shared.Discard()) }()
	return m.Run(), nil
}
