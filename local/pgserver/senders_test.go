package pgserver_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"golang.org/x/sys/unix"
)

// A WAL sender is found by its title, other backends stay with the server.
func TestServer_placesWALSendersOnTheirCores(t *testing.T) {
	cfg := config(t)
	last := runtime.NumCPU() - 1
	cfg.Cores, cfg.SenderCores = []int{0}, []int{last}
	s := start(t, cfg)
	replication, err := pgconn.ParseConfig(s.LocalURL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	replication.RuntimeParams["replication"] = "database"
	conn, err := pgconn.ConnectConfig(timeout(t), replication)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(timeout(t), "CREATE_REPLICATION_SLOT s TEMPORARY LOGICAL pgoutput").ReadAll(); err != nil {
		t.Fatal(err)
	}
	conn.Frontend().Send(&pgproto3.Query{String: "START_REPLICATION SLOT s LOGICAL 0/0 (proto_version '1', publication_names 'none')"})
	if err := conn.Frontend().Flush(); err != nil {
		t.Fatal(err)
	}
	ctx := timeout(t)
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for cores(t, int(conn.PID())) != strconv.Itoa(last) {
		select {
		case <-ctx.Done():
			t.Fatalf("the WAL sender runs on cores %s", cores(t, int(conn.PID())))
		case <-poll.C:
		}
	}
	other, err := pgx.Connect(timeout(t), s.LocalURL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	if got := cores(t, int(other.PgConn().PID())); got != "0" {
		t.Errorf("another backend runs on cores %s, want 0", got)
	}
}

func cores(t *testing.T, pid int) string {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &set); err != nil {
		t.Fatal(err)
	}
	var list []string
	for core := range runtime.NumCPU() {
		if set.IsSet(core) {
			list = append(list, strconv.Itoa(core))
		}
	}
	return strings.Join(list, ",")
}

// The socket's path has a limit that a folder's has not.
func TestServer_isReachedWithoutASocketToo(t *testing.T) {
	cfg := config(t)
	deep := filepath.Join(filepath.Dir(cfg.DataDir), strings.Repeat("d", 100))
	if err := os.Mkdir(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	cfg.DataDir = filepath.Join(deep, "data")
	s := start(t, cfg)
	if s.LocalURL("postgres") != s.URL("postgres") {
		t.Errorf("got %s for a path too long for a socket", s.LocalURL("postgres"))
	}
	if got := ask(t, s, "SHOW unix_socket_directories"); got != "" {
		t.Errorf("the server opened a socket in %q", got)
	}
}
