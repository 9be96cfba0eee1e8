package platform

import (
	"log/slog"
	"testing"
	"time"

	"github.com/freshet-io/freshet/e2e/stand"
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
