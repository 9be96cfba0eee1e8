package stand

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet-io/freshet/local/chengine"
	"github.com/freshet-io/freshet/local/pgserver"
	"github.com/freshet-io/freshet/local/ports"
	"github.com/freshet-io/freshet/local/process"
	"github.com/freshet-io/freshet/local/toolchain"
)

// startLimit bounds a start, with room for a machine that runs many tests at once.
const startLimit = 2 * time.Minute

// fetchLimit bounds the first fetch of a tool.
const fetchLimit = 15 * time.Minute

// tools are fetched or built once per test binary.
var (
	postgresHome = sync.OnceValues(func() (string, error) {
		return withCache(func(ctx context.Context, c *toolchain.Cache) (string, error) { return c.Postgres(ctx) })
	})
	postgresPrograms = sync.OnceValues(func() (string, error) {
		return withCache(func(ctx context.Context, c *toolchain.Cache) (string, error) { return c.PostgresPrograms(ctx) })
	})
	engineLibrary = sync.OnceValues(func() (string, error) {
		return withCache(func(ctx context.Context, c *toolchain.Cache) (string, error) { return c.Engine(ctx) })
	})
	engineExecutable = sync.OnceValues(func() (string, error) {
		return withCache(BuildEngine)
	})
)

func withCache(get func(context.Context, *toolchain.Cache) (string, error)) (string, error) {
	cache, err := toolchain.Default()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchLimit)
	defer cancel()
	return get(ctx, cache)
}

// Postgres starts a PostgreSQL server for the test. Options change its configuration.
func Postgres(t testing.TB, options ...func(*pgserver.Config)) *pgserver.Server {
	t.Helper()
	home, err := postgresHome()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	cfg := pgserver.Config{
		Home:     home,
		DataDir:  filepath.Join(Dir(t), "postgres"),
		Volatile: true,
		Template: cache.Dir,
	}
	for _, option := range options {
		option(&cfg)
	}
	s, err := pgserver.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	run(t, "PostgreSQL", s, s.Discard)
	return s
}

// PostgresPath returns a search path with PostgreSQL's server and all other programs of its images.
func PostgresPath(t testing.TB) string {
	t.Helper()
	home, err := postgresHome()
	if err != nil {
		t.Fatal(err)
	}
	programs, err := postgresPrograms()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join([]string{filepath.Join(home, "bin"), programs, os.Getenv("PATH")}, string(filepath.ListSeparator))
}

// Engine starts a columnar engine for the test. Options change its configuration.
func Engine(t testing.TB, options ...func(*chengine.Config)) *chengine.Server {
	t.Helper()
	library, err := engineLibrary()
	if err != nil {
		t.Fatal(err)
	}
	executable, err := engineExecutable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := chengine.Config{
		Executable: executable,
		Library:    library,
		DataDir:    filepath.Join(Dir(t), "engine"),
		MaxMemory:  4 << 30,
	}
	for _, option := range options {
		option(&cfg)
	}
	s, err := chengine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	run(t, "columnar engine", s, s.Kill)
	return s
}

// server is what all servers have.
type server interface {
	Start(ctx context.Context) error
	LogFile() string
}

func run(t testing.TB, name string, s server, end func() error) {
	t.Helper()
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the log of %s ends:\n%s", name, process.LogTail(s.LogFile()))
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
}

// Dir returns a new folder for data of servers; it is removed when the test ends. Unlike t.TempDir's,
// the user that PostgreSQL runs as can pass it.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(TempDir(), "freshet-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TempDir returns the folder in which folders for data of servers are made: one in memory, if it has room for all that tests keep at a
// time and Java programs can load what they unpack there, else the usual one, as where TMPDIR says which. A PostgreSQL is a thousand
// files: there are file systems that take a third of a second to create them.
func TempDir() string {
	const (
		dir  = "/dev/shm"
		room = 6 << 30
	)
	var fs unix.Statfs_t
	if os.Getenv("TMPDIR") != "" || unix.Statfs(dir, &fs) != nil || fs.Type != unix.TMPFS_MAGIC {
		return os.TempDir()
	}
	if fs.Flags&unix.ST_NOEXEC != 0 || fs.Bavail*uint64(fs.Bsize) < room {
		return os.TempDir()
	}
	return dir
}

// Port returns a port of the loopback address that nobody else gets while the test runs, for a server that cannot choose one itself.
func Port(t testing.TB) int {
	t.Helper()
	var port int
	var reserved ports.Reservation
	if err := reserved.Reserve("a server of the test", &port); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reserved.Release)
	return port
}
