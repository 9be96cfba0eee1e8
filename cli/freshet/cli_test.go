package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/platform"
	"github.com/freshet-io/freshet/local/toolchain"
)

// asFreshet makes the test binary be freshet: for the tests, and for the supervisor and gateway that it starts.
const asFreshet = "FRESHET_TEST_BE_FRESHET"

func TestMain(m *testing.M) {
	if os.Getenv(asFreshet) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// freshet runs a command to its end.
func freshet(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asFreshet+"=1")
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	return out.String(), errOut.String(), err
}

func engine(t *testing.T) string {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	path, err := stand.BuildEngine(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLocal_servesOneEndpointUntilDown(t *testing.T) {
	dir := filepath.Join(stand.Dir(t), "state")
	t.Cleanup(func() {
		if _, _, err := freshet(t, "local", "down", "--dir", dir); err != nil {
			t.Error(err)
		}
	})
	up := []string{"local", "up", "--dir", dir, "--port", "0", "--monitor-port", "0", "--exclude", "*.hidden", "--engine-executable", engine(t)}
	for _, want := range []string{"Freshet is up", "Freshet already runs", "no effect until freshet local down"} {
		if out, errOut, err := freshet(t, up...); err != nil || !strings.Contains(out, want) || !strings.Contains(out, `psql "postgresql://freshet:`) {
			t.Fatalf("up: %v\n%s%s", err, out, errOut)
		}
	}
	r := status(t, dir)
	conn, err := pgx.Connect(t.Context(), r.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, sql := range []string{
		"CREATE SCHEMA app", "CREATE TABLE app.hidden (a int PRIMARY KEY)",
		"CREATE TABLE app.t (a int PRIMARY KEY, b numeric(10,2))", "INSERT INTO app.t SELECT i, i / 4.0 FROM generate_series(1, 1000) i",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	awaitColumnar(t, conn)
	const reason = "not translated: hidden is not replicated: it has only just been made, is not a permanent table, or the patterns to include and exclude leave it out"
	if got := explain(t, conn, "SELECT count(*) FROM app.hidden"); !strings.Contains(got, "Route: oltp\nReason: "+reason) {
		t.Errorf("explain of an excluded table: %s", got)
	}
	if text, _, err := freshet(t, "local", "status", "--dir", dir); err != nil || !strings.Contains(text, "app.t") || !strings.Contains(text, "postgresql") {
		t.Errorf("status: %v\n%s", err, text)
	}
	if out, _, err := freshet(t, "local", "reset", "--dir", dir); err == nil {
		t.Errorf("reset without a person and without --yes: %s", out)
	}
	if out, errOut, err := freshet(t, "local", "reset", "--yes", "--dir", dir); err != nil {
		t.Fatalf("reset: %v\n%s%s", err, out, errOut)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s after reset: %v", dir, err)
	}
	for _, c := range r.Components {
		if c.Process.Alive() {
			t.Errorf("%s is left", c.Name)
		}
	}
}

// awaitColumnar asks until the answer is columnar, which it becomes when the replica has noticed the new table by itself.
func awaitColumnar(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	limit := time.After(time.Minute)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for route := ""; !strings.HasPrefix(route, "columnar"); {
		var sum string
		if err := conn.QueryRow(t.Context(), "SELECT sum(b)::text FROM app.t").Scan(&sum); err != nil {
			t.Fatal(err)
		}
		if sum != "125125.00" {
			t.Fatalf("sum %s, want 125125.00", sum)
		}
		if err := conn.QueryRow(t.Context(), "SHOW freshet.last_route", pgx.QueryExecModeSimpleProtocol).Scan(&route); err != nil {
			t.Fatal(err)
		}
		select {
		case <-limit:
			t.Fatalf("still on route %q", route)
		case <-again.C:
		}
	}
}

func explain(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), "EXPLAIN (FRESHET) "+sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func status(t *testing.T, dir string) platform.Report {
	t.Helper()
	out, errOut, err := freshet(t, "local", "status", "--dir", dir, "--output", "json")
	if err != nil {
		t.Fatalf("status: %v\n%s", err, errOut)
	}
	var r platform.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDemo_reportsAndLeavesNothing(t *testing.T) {
	dir := stand.Dir(t)
	report := filepath.Join(dir, "report.json")
	out, errOut, err := freshet(t, "demo", "--duration", "2s", "--warmup", "1s", "--warehouses", "1", "--terminals", "1", "--analysts", "1",
		"--report", report, "--dir", dir, "--engine-executable", engine(t))
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, errOut)
	}
	b, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Transactions float64 `json:"transactions_per_second"`
		Queries      float64 `json:"analytical_queries_per_second"`
		Staleness    struct {
			P50, P99 *float64
		} `json:"staleness_ms"`
		Snapshots  *int `json:"snapshots_checked"`
		Violations *int `json:"violations"`
		Compared   int  `json:"answers_compared"`
		Different  *int `json:"answers_different"`
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	switch {
	case got.Transactions <= 0 || got.Compared == 0:
		t.Errorf("nothing happened: %s", b)
	case got.Staleness.P50 == nil || got.Staleness.P99 == nil || got.Snapshots == nil:
		t.Errorf("incomplete: %s", b)
	case got.Violations == nil || *got.Violations != 0 || got.Different == nil || *got.Different != 0:
		t.Errorf("wrong answers: %s", b)
	}
	nothingLeft(t, dir, "report.json")
}

func TestDemo_leavesNothingWhenItEndsEarly(t *testing.T) {
	signalled := func(s os.Signal) func(*testing.T, *exec.Cmd, io.ReadCloser) {
		return func(t *testing.T, cmd *exec.Cmd, progress io.ReadCloser) {
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, progress); err != nil {
				t.Fatal(err)
			}
		}
	}
	const interrupted, broken = 130, -1 // by SIGPIPE, as it says why
	for name, test := range map[string]struct {
		end  func(*testing.T, *exec.Cmd, io.ReadCloser)
		code int
	}{
		"interrupted":       {signalled(os.Interrupt), interrupted},
		"terminal closed":   {signalled(syscall.SIGHUP), interrupted},
		"not read any more": {func(_ *testing.T, _ *exec.Cmd, progress io.ReadCloser) { progress.Close() }, broken},
	} {
		t.Run(name, func(t *testing.T) {
			dir := stand.Dir(t)
			cmd := exec.Command(os.Args[0], "demo", "--warehouses", "1", "--dir", dir, "--engine-executable", engine(t))
			cmd.Env = append(os.Environ(), asFreshet+"=1")
			progress, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var seen strings.Builder
			buf := make([]byte, 4096)
			for !strings.Contains(seen.String(), "loading") {
				n, err := progress.Read(buf)
				seen.Write(buf[:n])
				if err != nil {
					t.Fatalf("the demo ended before it loaded: %v\n%s", err, seen.String())
				}
			}
			test.end(t, cmd, progress)
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != test.code {
				t.Errorf("a demo that ended early ended with %v, want code %d", err, test.code)
			}
			nothingLeft(t, dir)
		})
	}
}

func nothingLeft(t *testing.T, dir string, but ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(but) {
		t.Errorf("left in the folder: %v", entries)
	}
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir) {
			t.Errorf("%s works in %s", link, cwd)
		}
	}
}

func TestDemo_refusesWhatCannotBe(t *testing.T) {
	for flag, want := range map[string]string{
		"--warehouses=0": "at least one", "--duration=0s": "must be positive", "--cdc=carrier-pigeon": "carrier-pigeon", "--report=/nowhere/r.json": "/nowhere",
		"--queries=tpch": "tpch", "--terminals=-1": "-1 transactional", "--analysts=-1": "-1 analytical", "--warmup=-1s": "not be negative",
		"--port=70000": "--port=70000 is no port",
	} {
		if _, errOut, err := freshet(t, "demo", flag); err == nil || !strings.Contains(errOut, want) {
			t.Errorf("demo %s: %v, %q; want an error with %q", flag, err, errOut, want)
		}
	}
}

func TestBench_refusesWhatCannotBe(t *testing.T) {
	for flag, want := range map[string]string{
		"--warehouses=0": "at least one", "--rounds=0": "at least one", "--analysts=0": "at least one", "--duration=0s": "must be positive",
		"--queries=tpch": "tpch", "--json=/nowhere/r.json": "/nowhere", "--terminals=-1": "-1 terminals", "--warmup=-1s": "not be negative",
	} {
		if _, errOut, err := freshet(t, "bench", "ch", "--pin=false", flag); err == nil || !strings.Contains(errOut, want) {
			t.Errorf("bench ch %s: %v, %q; want an error with %q", flag, err, errOut, want)
		}
	}
}

func TestBench_saysWhichFlagsItDoesNotHeed(t *testing.T) {
	for name, flag := range map[string]string{
		"reports": "--rounds=1", "staleness": "--rounds=1", "apply": "--warmup=1s", "shares": "--terminals=1", "relay": "--warehouses=1",
	} {
		_, errOut, _ := freshet(t, "bench", name, flag, "--json=/nowhere/r.json") // which ends it before anything is measured
		if want := "bench " + name + " has no use for it"; !strings.Contains(errOut, want) {
			t.Errorf("bench %s %s: %q, want %q", name, flag, errOut, want)
		}
	}
	if _, errOut, err := freshet(t, "bench", "staleness", "--pin=false", "--cdc=carrier-pigeon"); err == nil || !strings.Contains(errOut, "carrier-pigeon") {
		t.Errorf("bench staleness --cdc=carrier-pigeon: %v, %q", err, errOut)
	}
	if _, errOut, err := freshet(t, "bench", "ch", "--cdc=kafka"); err == nil || !strings.Contains(errOut, "unknown flag") {
		t.Errorf("bench ch --cdc=kafka: %v, %q; want that there is no such flag", err, errOut)
	}
}
