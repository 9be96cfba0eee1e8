package platform

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/pgserver"
)

// A server that has much to recover after a crash would never be up if it were killed for that.
func TestSupervisor_letsPostgreSQLRecoverForAsLongAsItTakes(t *testing.T) {
	t.Parallel()
	server := stand.Postgres(t)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	s := &supervisor{cfg: Config{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}, postgres: server, startLimit: time.Nanosecond}
	if err := s.startServer(t.Context(), postgresName); err != nil || !server.Running() {
		t.Errorf("the server runs: %t, %v", server.Running(), err)
	}
}

// One that does not come up is restarted again and again, which is to be seen.
func TestSupervisor_countsRestartsThatFail(t *testing.T) {
	t.Parallel()
	var cfg pgserver.Config
	holder := stand.Postgres(t, func(c *pgserver.Config) { cfg = *c })
	server, err := pgserver.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Discard(); err != nil {
			t.Error(err)
		}
	})
	s := &supervisor{cfg: Config{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}, postgres: server}
	restarts := []int{}
	start := func(want bool) {
		t.Helper()
		if err := s.startServer(t.Context(), postgresName); (err == nil) != want {
			t.Fatalf("start beside another server: %v", err)
		}
		restarts = append(restarts, s.component(postgresName).Restarts)
	}
	start(false)
	start(false)
	s.record(postgresName, errors.New("ended by itself"))
	if err := holder.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	start(true)
	if diff := cmp.Diff([]int{0, 1, 2}, restarts); diff != "" {
		t.Error(diff)
	}
}

// A full disk takes no state file. A server that ended is started again all the same, once.
func TestSupervisor_keepsServersRunningWhereItsStateCannotBeWritten(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server := stand.Postgres(t)
	s := &supervisor{cfg: Config{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}, postgres: server}
	staging := filepath.Join(s.cfg.Dir, stateFile+".new")
	if err := os.Mkdir(staging, 0o700); err != nil {
		t.Fatal(err)
	}
	var keeping sync.WaitGroup
	keeping.Go(func() { s.keep(ctx, postgresName) })
	defer keeping.Wait()
	defer cancel()
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	until := func(what string, holds func() bool) {
		t.Helper()
		for again := time.NewTicker(10 * time.Millisecond); !holds(); {
			select {
			case <-again.C:
			case <-ctx.Done():
				t.Fatalf("still not: %s", what)
			}
		}
	}
	until("the server is up again", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.component(postgresName).Up
	})
	if err := os.Remove(staging); err != nil {
		t.Fatal(err)
	}
	var state State
	until("the state file says so", func() bool {
		var err error
		if state, err = readState(s.cfg.Dir); err != nil {
			t.Fatal(err)
		}
		return len(state.Components) == 1
	})
	if c := state.Components[0]; !c.Up || c.Restarts != 0 || c.Process != server.Identity() {
		t.Errorf("the state file says %+v, the server is %+v", c, server.Identity())
	}
}

func TestWriteJSON_needsNoSpaceForWhatIsThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.json")
	if err := writeJSON(path, 1); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+".new", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeJSON(path, 1); err != nil {
		t.Error(err)
	}
	if err := writeJSON(path, 2); err == nil {
		t.Error("another value is said to be written")
	}
}
