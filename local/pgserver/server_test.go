package pgserver_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/local/pgserver"
	"github.com/freshet-io/freshet/local/ports"
	"github.com/freshet-io/freshet/local/toolchain"
)

func config(t *testing.T) pgserver.Config {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	home, err := cache.Postgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "freshet-pgserver-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { // the server may run as another user
		t.Fatal(err)
	}
	return pgserver.Config{Home: home, DataDir: filepath.Join(dir, "data"), Volatile: true}
}

func start(t *testing.T, cfg pgserver.Config) *pgserver.Server {
	t.Helper()
	s, err := pgserver.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Discard(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Start(timeout(t)); err != nil {
		t.Fatal(err)
	}
	return s
}

func timeout(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// ask runs a query that yields one text.
func ask(t *testing.T, s *pgserver.Server, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(timeout(t), s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var answer string
	if err := conn.QueryRow(timeout(t), sql).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return answer
}

func TestServer_hasTheSettingsThatFreshetNeeds(t *testing.T) {
	cfg := config(t)
	cfg.Settings = map[string]string{"work_mem": "7MB"}
	s := start(t, cfg)
	got := map[string]string{}
	for _, name := range []string{"wal_level", "fsync", "TimeZone", "password_encryption", "listen_addresses", "work_mem", "server_encoding"} {
		got[name] = ask(t, s, "SELECT current_setting('"+name+"')")
	}
	got["collation"] = ask(t, s, "SELECT datlocprovider::text || ' ' || datlocale FROM pg_database WHERE datname = 'template1'")
	got["order"] = ask(t, s, `SELECT string_agg(x, '' ORDER BY x) FROM (VALUES ('a'), ('B'), ('ä'), ('Z')) AS v (x)`)
	got["slots are limited"] = ask(t, s, "SELECT (setting::bigint >= 64)::text FROM pg_settings WHERE name = 'max_slot_wal_keep_size'")
	want := map[string]string{
		"slots are limited": "true",
		"wal_level":         "logical", "fsync": "on", "TimeZone": "UTC", "password_encryption": "scram-sha-256",
		"listen_addresses": "127.0.0.1", "work_mem": "7MB", "server_encoding": "UTF8", "collation": "b C.UTF-8", "order": "BZaä",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestServer_refusesAWrongPassword(t *testing.T) {
	s := start(t, config(t))
	url := strings.Replace(s.URL("postgres"), s.Password(), "wrong", 1)
	if conn, err := pgx.Connect(timeout(t), url); err == nil {
		conn.Close(t.Context())
		t.Fatal("a wrong password was accepted")
	} else if !strings.Contains(err.Error(), "28P01") {
		t.Fatalf("got %v, want SQLSTATE 28P01", err)
	}
}

func TestServer_startsOnCopiesOfATemplate(t *testing.T) {
	template := t.TempDir()
	if err := os.Chmod(filepath.Dir(template), 0o711); err != nil {
		t.Fatal(err)
	}
	servers := make([]*pgserver.Server, 3)
	var g errgroup.Group
	for i := range servers { // side by side, so that several make the template
		cfg := config(t)
		cfg.Template = template
		s, err := pgserver.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		servers[i] = s
		t.Cleanup(func() {
			if err := s.Discard(); err != nil {
				t.Error(err)
			}
		})
		g.Go(func() error { return s.Start(timeout(t)) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		if got := ask(t, s, "WITH made AS (SELECT pg_create_logical_replication_slot('s', 'pgoutput')) SELECT 'ok' FROM made"); got != "ok" {
			t.Errorf("got %s", got)
		}
		if got := ask(t, s, "SELECT left(rolpassword, 16) FROM pg_authid WHERE rolname = 'postgres'"); got != "SCRAM-SHA-256$1:" {
			t.Errorf("the password is %s…, want one that is hashed once", got)
		}
	}
	kept, err := filepath.Glob(filepath.Join(template, "*"))
	if err != nil || len(kept) != 1 {
		t.Errorf("the template's folder holds %v (%v), want one archive", kept, err)
	}
}

func TestServer_keepsDataThroughStopKillAndStart(t *testing.T) {
	cfg := config(t)
	s := start(t, cfg)
	ask(t, s, "WITH made AS (SELECT pg_create_logical_replication_slot('s', 'pgoutput')) SELECT 'ok' FROM made")
	port := s.Port()
	for i, end := range []func() error{func() error { return s.Stop(timeout(t)) }, s.Kill} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if err := s.Start(timeout(t)); err != nil {
			t.Fatalf("start %d: %v", i, err)
		}
		if s.Port() != port {
			t.Errorf("port %d after the restart, want %d as before", s.Port(), port)
		}
		if got := ask(t, s, "SELECT count(*)::text FROM pg_replication_slots"); got != "1" {
			t.Errorf("%s slots after restart %d, want 1", got, i)
		}
	}
	if err := s.Stop(timeout(t)); err != nil {
		t.Fatal(err)
	}
	other := start(t, cfg) // as another process would find the folder
	if got := ask(t, other, "SELECT count(*)::text FROM pg_replication_slots"); got != "1" {
		t.Errorf("%s slots seen by another server object, want 1", got)
	}
}

func TestServer_startsWhateverAlterSystemSaysOfWhatItNeeds(t *testing.T) {
	cfg := config(t)
	s := start(t, cfg)
	ask(t, s, "WITH made AS (SELECT pg_create_logical_replication_slot('s', 'pgoutput')) SELECT 'ok' FROM made")
	conn, err := pgx.Connect(timeout(t), s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, sql := range []string{"ALTER SYSTEM SET wal_level = 'replica'", "ALTER SYSTEM SET unix_socket_directories = ''", "ALTER SYSTEM SET work_mem = '7MB'"} {
		if _, err := conn.Exec(timeout(t), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if err := s.Stop(timeout(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(timeout(t)); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, name := range []string{"wal_level", "unix_socket_directories", "work_mem"} {
		got[name] = ask(t, s, "SELECT current_setting('"+name+"')")
	}
	want := map[string]string{"wal_level": "logical", "unix_socket_directories": cfg.DataDir, "work_mem": "7MB"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestServer_startsWhenTheStaleLockNamesAForeignProcess(t *testing.T) {
	cfg := config(t)
	s := start(t, cfg)
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(cfg.DataDir, "postmaster.pid")
	b, err := os.ReadFile(lock)
	if err != nil {
		t.Fatalf("a killed server leaves its lock file: %v", err)
	}
	_, rest, _ := strings.Cut(string(b), "\n")
	if err := os.WriteFile(lock, fmt.Appendf(nil, "%d\n%s", os.Getpid(), rest), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(timeout(t)); err != nil {
		t.Fatal(err)
	}
}

func TestServer_namesTheBusyPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg := config(t)
	cfg.Port = l.Addr().(*net.TCPAddr).Port
	s, err := pgserver.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Start(timeout(t))
	if busy, ok := errors.AsType[*ports.TakenError](err); !ok || busy.Port != cfg.Port {
		t.Fatalf("got %v, want that port %d is taken", err, cfg.Port)
	}
}

func TestServer_refusesAFolderInUse(t *testing.T) {
	cfg := config(t)
	first := start(t, cfg)
	second, err := pgserver.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = second.Start(timeout(t))
	if running, ok := errors.AsType[*pgserver.RunningError](err); !ok || running.PID != first.PID() {
		t.Fatalf("got %v, want a RunningError for process %d", err, first.PID())
	}
	if got := ask(t, first, "SELECT 'alive'"); got != "alive" {
		t.Error("the first server suffered")
	}
}

func TestServer_refusesAFolderOfAnotherMajorVersion(t *testing.T) {
	cfg := config(t)
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cfg.DataDir, "PG_VERSION"), []byte("15\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := pgserver.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Start(timeout(t))
	if version, ok := errors.AsType[*pgserver.VersionError](err); !ok || version.Have != "15" || version.Want != "18" {
		t.Fatalf("got %v, want a VersionError from 15 to 18", err)
	}
}

func TestServer_refusesAForeignFolder(t *testing.T) {
	cfg := config(t)
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	precious := filepath.Join(cfg.DataDir, "thesis.tex")
	if err := os.WriteFile(precious, []byte("…"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := pgserver.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(timeout(t)); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Fatalf("got %v, want a refusal", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func TestServer_recoversFromAnInterruptedInitialisation(t *testing.T) {
	cfg := config(t)
	rest := cfg.DataDir + ".new"
	if err := os.MkdirAll(filepath.Join(rest, "data", "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := start(t, cfg)
	if got := ask(t, s, "SELECT 'alive'"); got != "alive" {
		t.Error(got)
	}
	if _, err := os.Stat(rest); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", rest, err)
	}
}

func TestServer_showsItsLogWhenItCannotStart(t *testing.T) {
	cfg := config(t)
	cfg.Settings = map[string]string{"shared_buffers": "nonsense"}
	s, err := pgserver.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(timeout(t)); err == nil || !strings.Contains(err.Error(), `"shared_buffers": "nonsense"`) {
		t.Fatalf("got %v, want the line of the log", err)
	}
}

func TestServer_runsOnTheCoresItIsGiven(t *testing.T) {
	cfg := config(t)
	cfg.Cores = []int{0}
	s := start(t, cfg)
	b, err := os.ReadFile(fmt.Sprintf("/proc/%s/status", ask(t, s, "SELECT pg_backend_pid()::text")))
	// The backend may be gone by now; then its parent tells.
	if err != nil {
		b, err = os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	}
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), "Cpus_allowed_list:\t0\n") {
		t.Errorf("not pinned to core 0:\n%s", b)
	}
}
