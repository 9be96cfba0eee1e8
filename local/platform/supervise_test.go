package platform

import (
	"errors"
	"log/slog"
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
