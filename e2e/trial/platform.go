package trial

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/platform"
	"github.com/freshet-io/freshet/local/process"
	"github.com/freshet-io/freshet/local/toolchain"
)

// Platform is a platform whose processes can be killed; its supervisor runs in the test.
type Platform struct {
	platform.Platform
	// Recovery is the longest time that any recovery may take.
	Recovery time.Duration
	// Others are the monitoring ports, host:port, of further units. One that has not answered yet does not count.
	Others []string

	dir string
}

// Start builds the freshet program and runs a platform with it, whose changes come by the given way.
func Start(t *testing.T, cdc platform.CDC, recovery time.Duration) *Platform {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := stand.BuildEngine(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	p := &Platform{dir: filepath.Join(stand.Dir(t), "platform"), Recovery: recovery}
	cfg := platform.Config{
		Dir: p.dir, Cache: cache, EngineExecutable: engine, GatewayExecutable: stand.BuildFreshet(t), EngineMemory: 4 << 30, Volatile: true,
		CDC:    cdc,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan platform.Platform, 1), make(chan error, 1)
	go func() { done <- platform.Run(ctx, cfg, nil, func(p platform.Platform) { ready <- p }) }()
	select {
	case p.Platform = <-ready:
	case err := <-done:
		cancel()
		t.Fatalf("start platform: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			p.showLogs(t)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("platform ended with %v", err)
		}
	})
	return p
}

// showLogs shows the ends of the servers' logs.
func (p *Platform) showLogs(t *testing.T) {
	report, err := platform.Inspect(context.Background(), p.dir)
	if err != nil {
		t.Log(err)
	}
	for _, c := range report.Components {
		t.Logf("%s: up %v, %d restarts; its log ends:\n%s", c.Name, c.Up, c.Restarts, process.LogTail(c.LogFile))
	}
}

// Component reads the state of one server.
func (p *Platform) Component(ctx context.Context, t *testing.T, name string) platform.ComponentState {
	t.Helper()
	report, err := platform.Inspect(ctx, p.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Components {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("the platform has no %s: %+v", name, report.Components)
	return platform.ComponentState{}
}

// Eventually calls f until it returns nil, and fails the test with its last error when that takes longer than a recovery may.
func (p *Platform) Eventually(t *testing.T, what string, f func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), p.Recovery)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not happen within %s: %v", what, p.Recovery, err)
		case <-tick.C:
		}
	}
}
