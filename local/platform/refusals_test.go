package platform_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/freshet-io/freshet/local/platform"
)

func TestUp_namesTheFlagOfABusyPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	busy := l.Addr().(*net.TCPAddr).Port
	for flag, set := range map[string]func(*platform.Config){
		"--port":          func(c *platform.Config) { c.Port = busy },
		"--monitor-port":  func(c *platform.Config) { c.MonitorPort = busy },
		"--postgres-port": func(c *platform.Config) { c.PostgresPort = busy },
		"--engine-port":   func(c *platform.Config) { c.EnginePort = busy },
	} {
		cfg := config(t)
		set(&cfg)
		_, err := platform.Up(t.Context(), cfg, func(string) {})
		if err == nil || !strings.Contains(err.Error(), flag) || !strings.Contains(err.Error(), "is taken") {
			t.Errorf("got %v, want that the port is taken and flag %s", err, flag)
		}
		if r := inspect(t, cfg); r.Phase != platform.Stopped {
			t.Errorf("phase %s after a failed start", r.Phase)
		}
	}
}

func TestUp_refusesOnePortForTwo(t *testing.T) {
	cfg := config(t)
	cfg.Port, cfg.EnginePort = 5999, 5999
	_, err := platform.Up(t.Context(), cfg, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "--port") || !strings.Contains(err.Error(), "--engine-port") {
		t.Errorf("got %v, want both flags", err)
	}
}

func TestUp_refusesToPinWhatItCannot(t *testing.T) {
	cfg := config(t)
	cfg.PinDecoding = true
	if _, err := platform.Up(t.Context(), cfg, func(string) {}); err == nil || !strings.Contains(err.Error(), "needs --pin") {
		t.Errorf("decoding by itself: %v", err)
	}
	cfg.Pin, cfg.CDC = true, platform.Kafka
	if _, err := platform.Up(t.Context(), cfg, func(string) {}); err == nil || runtime.NumCPU() > 1 && !strings.Contains(err.Error(), "is for --cdc=direct") {
		t.Errorf("with Kafka: %v", err)
	}
}

func TestUp_saysHowToRepairAStateFolder(t *testing.T) {
	cfg := config(t)
	first := up(t, cfg)
	keep(t, first.URL)
	if _, err := platform.Down(t.Context(), cfg.Dir); err != nil {
		t.Fatal(err)
	}
	damage := func(name string) (path string) {
		t.Helper()
		path = filepath.Join(cfg.Dir, name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, whole[:len(whole)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = platform.Up(t.Context(), cfg, func(string) {})
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Fatalf("with half a %s: %v", name, err)
		}
		return path
	}
	password, err := os.ReadFile(filepath.Join(cfg.Dir, "postgres", "freshet.password"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(damage(filepath.Join("postgres", "freshet.password")), password, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(damage("cdc.json"), []byte(`{"cdc": "direct"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(damage("credentials.json")); err != nil {
		t.Fatal(err)
	}
	again := up(t, cfg)
	if again.URL == first.URL {
		t.Error("the lost password is back")
	}
	if got := ask(t, again.URL, "SELECT a FROM kept"); got != "here" {
		t.Error(got)
	}
}
