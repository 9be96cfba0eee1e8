package faults

import (
	"context"
	"log/slog"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/platform"
	"github.com/freshet-io/freshet/local/toolchain"
)

// local is a platform whose processes can be killed; its supervisor runs in the test.
type local struct {
	dir string
	platform.Platform
}

// startPlatform builds the freshet program and runs a platform with it.
func startPlatform(t *testing.T) *local {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := stand.BuildEngine(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	p := &local{dir: filepath.Join(stand.Dir(t), "platform")}
	freshet := filepath.Join(t.TempDir(), "freshet")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", freshet, "github.com/freshet-io/freshet/cli/freshet").CombinedOutput(); err != nil {
		t.Fatalf("build freshet: %v\n%s", err, out)
	}
	cfg := platform.Config{
		Dir: p.dir, Cache: cache, EngineExecutable: engine, GatewayExecutable: freshet, EngineMemory: 4 << 30, Volatile: true,
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
		cancel()
		if err := <-done; err != nil {
			t.Errorf("platform ended with %v", err)
		}
	})
	return p
}

// component reads the state of one server.
func (p *local) component(ctx context.Context, t *testing.T, name string) platform.ComponentState {
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

// eventually calls f until it returns nil, and fails the test with its last error after the limit.
func eventually(t *testing.T, limit time.Duration, what string, f func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
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
			t.Fatalf("%s did not happen within %s: %v", what, limit, err)
		case <-tick.C:
		}
	}
}
