package pgserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

func TestServer_isReachedByItsSocket(t *testing.T) {
	s := start(t, config(t))
	conn, err := pgx.Connect(timeout(t), s.LocalURL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var local bool
	if err := conn.QueryRow(timeout(t), "SELECT client_addr IS NULL FROM pg_stat_activity WHERE pid = pg_backend_pid()").Scan(&local); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(true, local); diff != "" {
		t.Errorf("not by the socket: %s", diff)
	}
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

func TestServer_isReachedWhateverItsFolderIsCalled(t *testing.T) {
	for _, name := range []string{`Jo's "häuser" + 50%20 & x=y?#\$`, "com,ma"} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t)
			cfg.DataDir = filepath.Join(filepath.Dir(cfg.DataDir), name)
			s := start(t, cfg)
			conn, err := pgx.Connect(timeout(t), s.LocalURL("postgres"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			var dir string
			if err := conn.QueryRow(timeout(t), "SHOW data_directory").Scan(&dir); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(cfg.DataDir, dir); diff != "" {
				t.Errorf("another server's data folder (-want +got):\n%s", diff)
			}
		})
	}
}
