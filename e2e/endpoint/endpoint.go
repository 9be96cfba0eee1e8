package endpoint

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/freshet-io/freshet/gateway/server"
	"github.com/freshet-io/freshet/local/chengine"
	"github.com/freshet-io/freshet/local/pgserver"
)

// Endpoint is a running gateway.
type Endpoint struct {
	info     server.Info
	postgres *pgserver.Server
	stop     func()
}

// Start runs a gateway that replicates a database, which must exist, and returns when it listens.
func Start(t testing.TB, postgres *pgserver.Server, engine *chengine.Server, database string, options ...func(*server.Config)) *Endpoint {
	t.Helper()
	cfg := server.Config{
		Listen: "127.0.0.1:0", PostgresURL: postgres.URL(database),
		EngineAddr: engine.TCPAddr(), EngineUser: engine.User, EnginePassword: engine.Password,
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	for _, option := range options {
		option(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan server.Info, 1)
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx, cfg, func(i server.Info) { ready <- i }) }()
	e := &Endpoint{postgres: postgres}
	select {
	case e.info = <-ready:
	case err := <-done:
		cancel()
		t.Fatalf("start gateway: %v", err)
	}
	e.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("gateway ended with %v", err)
		}
	})
	t.Cleanup(e.stop)
	return e
}

// Stop ends the gateway before the test ends.
func (e *Endpoint) Stop() { e.stop() }

// URL returns the superuser's connection string for a database through the gateway.
func (e *Endpoint) URL(database string) string {
	u, err := url.Parse(e.postgres.URL(database))
	if err != nil {
		panic(fmt.Sprintf("PostgreSQL's URL does not parse: %v", err))
	}
	u.Host = e.info.Addr.String()
	return u.String()
}

// Status returns the gateway's state.
func (e *Endpoint) Status() server.Status { return e.info.Status() }

// AwaitTables returns when all the tables, named schema.table, can be queried on the columnar route.
func (e *Endpoint) AwaitTables(t testing.TB, tables ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ready := map[string]bool{}
		for _, s := range e.Status().Tables {
			ready[s.Table] = s.Phase == "ready"
			if s.Stopped != nil {
				t.Logf("table %s is stopped: %+v", s.Table, *s.Stopped)
			}
		}
		missing := ""
		for _, name := range tables {
			if !ready[name] {
				missing = name
			}
		}
		if missing == "" {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("table %s is not ready: %+v", missing, e.Status())
		case <-tick.C:
		}
	}
}
