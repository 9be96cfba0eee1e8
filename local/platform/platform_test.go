package platform_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/platform"
	"github.com/freshet-io/freshet/local/process"
	"github.com/freshet-io/freshet/local/toolchain"
)

func config(t *testing.T) platform.Config {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := stand.BuildEngine(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	cfg := platform.Config{Dir: filepath.Join(stand.Dir(t), "state"), Cache: cache, EngineExecutable: engine, EngineMemory: 2 << 30, Volatile: true}
	t.Cleanup(func() {
		state, err := platform.Inspect(context.Background(), cfg.Dir)
		if err != nil {
			t.Error(err)
		}
		if _, err := platform.Down(context.Background(), cfg.Dir); err != nil {
			t.Error(err)
		}
		for _, c := range state.Components {
			if c.Process.Alive() {
				t.Errorf("%s is left as process %d", c.Name, c.Process.PID)
			}
		}
		if t.Failed() {
			for _, name := range []string{"supervisor.log", "gateway.log"} {
				t.Logf("%s ends:\n%s", name, process.LogTail(filepath.Join(cfg.Dir, name)))
			}
		}
	})
	return cfg
}

func up(t *testing.T, cfg platform.Config) platform.Report {
	t.Helper()
	if _, err := platform.Up(t.Context(), cfg, func(string) {}); err != nil {
		t.Fatal(err)
	}
	return inspect(t, cfg)
}

func inspect(t *testing.T, cfg platform.Config) platform.Report {
	t.Helper()
	r, err := platform.Inspect(t.Context(), cfg.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ask connects with the string that users get.
func ask(t *testing.T, url, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var answer string
	if err := conn.QueryRow(t.Context(), sql).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return answer
}

// keep writes what must still be there later.
func keep(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 'here' AS a"); err != nil {
		t.Fatal(err)
	}
}

func component(t *testing.T, r platform.Report, name string) platform.ComponentState {
	t.Helper()
	for _, c := range r.Components {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no %s among %v", name, r.Components)
	panic("unreachable")
}

// until looks again and again, at most for a while.
func until(t *testing.T, cfg platform.Config, what string, ok func(platform.Report) bool) platform.Report {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	limit := time.After(time.Minute)
	for {
		r := inspect(t, cfg)
		if ok(r) {
			return r
		}
		select {
		case <-limit:
			t.Fatalf("still not: %s: %+v", what, r)
		case <-again.C:
		}
	}
}

func TestUp_keepsDataThroughDownAndUp(t *testing.T) {
	cfg := config(t)
	first := up(t, cfg)
	if got := ask(t, first.URL, "SELECT current_user || '@' || current_database()"); got != "freshet@freshet" {
		t.Errorf("connected as %s", got)
	}
	keep(t, first.URL)
	if r := first.Replica; r == nil || r.StalenessMS != 12.5 || len(r.Tables) != 1 {
		t.Errorf("replica %+v, want what the gateway says", r)
	}

	ran, err := platform.Down(t.Context(), cfg.Dir)
	if err != nil || !ran {
		t.Fatalf("down: %v, %v", ran, err)
	}
	for _, c := range first.Components {
		if c.Process.Alive() {
			t.Errorf("%s runs after down", c.Name)
		}
	}
	if r := inspect(t, cfg); r.Phase != platform.Stopped || r.URL != "" {
		t.Errorf("after down: %+v", r)
	}
	if ran, err := platform.Down(t.Context(), cfg.Dir); err != nil || ran {
		t.Errorf("a second down: %v, %v; want nothing to do", ran, err)
	}
	if got := ask(t, up(t, cfg).URL, "SELECT a FROM kept"); got != "here" {
		t.Errorf("got %q after down and up", got)
	}
}

func TestUp_pinsTheTwoSidesApart(t *testing.T) {
	cfg := config(t)
	cfg.Pin, cfg.PinDecoding = true, true
	if runtime.NumCPU() < 2 {
		if _, err := platform.Up(t.Context(), cfg, func(string) {}); err == nil || !strings.Contains(err.Error(), "--pin needs two cores") {
			t.Errorf("on one core: %v", err)
		}
		return
	}
	r := up(t, cfg)
	for name, want := range map[string]string{"postgresql": "0", "engine": "1", "gateway": "1"} {
		status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(component(t, r, name).Process.PID), "status"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(status), "Cpus_allowed_list:\t"+want+"\n") {
			t.Errorf("%s is not pinned to core %s:\n%s", name, want, status)
		}
	}
	gateway, err := platform.ReadGatewayConfig(filepath.Join(cfg.Dir, "gateway.json"))
	if err != nil || !slices.Equal(gateway.SenderCores, []int{1}) {
		t.Errorf("the gateway is to move the senders of changes to cores %v, %v; want those of its side", gateway.SenderCores, err)
	}
}

func TestUp_isSafeToRepeatAndToRace(t *testing.T) {
	cfg := config(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	started := 0
	for range 3 {
		wg.Go(func() {
			already, err := platform.Up(t.Context(), cfg, func(string) {})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if !already {
				started++
			}
		})
	}
	wg.Wait()
	if started != 1 {
		t.Errorf("%d of 3 started the platform, want one", started)
	}
	before := inspect(t, cfg)
	if already, err := platform.Up(t.Context(), cfg, func(string) {}); err != nil || !already {
		t.Errorf("up again: %v, %v", already, err)
	}
	if after := inspect(t, cfg); after.Supervisor != before.Supervisor {
		t.Errorf("another supervisor after up again")
	}
}

func TestUp_repairsAfterItsSupervisorWasKilled(t *testing.T) {
	cfg := config(t)
	before := up(t, cfg)
	keep(t, before.URL)
	if err := before.Supervisor.Kill(); err != nil {
		t.Fatal(err)
	}
	if r := inspect(t, cfg); r.Phase != platform.Stopped {
		t.Errorf("phase %s with a dead supervisor", r.Phase)
	}
	after := up(t, cfg)
	for _, c := range before.Components {
		if c.Process.Alive() {
			t.Errorf("the old %s still runs", c.Name)
		}
	}
	if got := ask(t, after.URL, "SELECT a FROM kept"); got != "here" {
		t.Errorf("got %q", got)
	}
}

func TestDown_endsWhatAKilledSupervisorLeft(t *testing.T) {
	cfg := config(t)
	before := up(t, cfg)
	if err := before.Supervisor.Kill(); err != nil {
		t.Fatal(err)
	}
	if ran, err := platform.Down(t.Context(), cfg.Dir); err != nil || !ran {
		t.Fatalf("down: %v, %v", ran, err)
	}
	for _, c := range before.Components {
		if c.Process.Alive() {
			t.Errorf("%s still runs", c.Name)
		}
	}
}

func TestSupervisor_restartsServersThatWereKilled(t *testing.T) {
	cfg := config(t)
	first := up(t, cfg)
	for _, name := range []string{"engine", "postgresql", "gateway"} {
		before := component(t, inspect(t, cfg), name)
		if err := before.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		r := until(t, cfg, name+" is restarted", func(r platform.Report) bool {
			c := component(t, r, name)
			return c.Up && c.Process != before.Process
		})
		if c := component(t, r, name); c.Address != before.Address || c.Restarts != before.Restarts+1 {
			t.Errorf("%s after its restart: %+v, before: %+v", name, c, before)
		}
	}
	if got := ask(t, first.URL, "SELECT 'alive'"); got != "alive" {
		t.Error(got)
	}
}

func TestUp_stopsEverythingWhenInterrupted(t *testing.T) {
	cfg := config(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := platform.Up(ctx, cfg, func(string) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want that it was cancelled", err)
	}
	if r := inspect(t, cfg); r.Phase != platform.Stopped {
		t.Errorf("phase %s", r.Phase)
	}
	if ran, err := platform.Down(t.Context(), cfg.Dir); err != nil || ran {
		t.Errorf("down after an interrupted up: %v, %v; want nothing to do", ran, err)
	}
}

func TestRun_stopsEverythingWhenItsContextEnds(t *testing.T) {
	cfg := config(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var r platform.Report
	err := platform.Run(ctx, cfg, nil, func(p platform.Platform) {
		r = inspect(t, cfg)
		if got := ask(t, p.DirectURL, "SELECT 'direct'"); got != "direct" {
			t.Error(got)
		}
		cancel()
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Components {
		if c.Process.Alive() {
			t.Errorf("%s still runs", c.Name)
		}
	}
}

func TestReset_deletesThePlatformAndNothingElse(t *testing.T) {
	cfg := config(t)
	up(t, cfg)
	precious := filepath.Join(cfg.Dir, "thesis.tex")
	if err := os.WriteFile(precious, []byte("…"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := platform.Reset(t.Context(), cfg.Dir); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(cfg.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || left[0].Name() != "thesis.tex" {
		t.Errorf("left: %v", left)
	}
	if err := platform.Reset(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "no platform") {
		t.Errorf("reset of a foreign folder: %v", err)
	}
}

func TestResetReplica_keepsTheDatabase(t *testing.T) {
	cfg := config(t)
	keep(t, up(t, cfg).URL)
	written := filepath.Join(cfg.Dir, "engine", "written")
	if err := os.WriteFile(written, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := platform.ResetReplica(t.Context(), cfg.Dir); err != nil {
		t.Fatal(err)
	}
	if r := inspect(t, cfg); r.Phase != platform.Stopped {
		t.Errorf("phase %s", r.Phase)
	}
	if _, err := os.Stat(written); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the replica's file: %v", err)
	}
	if got := ask(t, up(t, cfg).URL, "SELECT a FROM kept"); got != "here" {
		t.Errorf("got %q", got)
	}
}

func TestState_isReadableByItsOwnerOnly(t *testing.T) {
	cfg := config(t)
	up(t, cfg)
	entries, err := os.ReadDir(cfg.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&^syscall.S_IRWXU != 0 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
}
