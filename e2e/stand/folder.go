package stand

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/freshet-io/freshet/local/pgserver"
)

// KeepFolder keeps the data folder of a restarted PostgreSQL as it is, and returns what puts that state back, by
// another restart: as snapshots of volumes do. Such a server stays on its timeline.
func KeepFolder(t testing.TB, server *pgserver.Server) (putBack func()) {
	t.Helper()
	var folder string
	if err := Connect(t, server.URL("postgres")).QueryRow(t.Context(), "SHOW data_directory").Scan(&folder); err != nil {
		t.Fatal(err)
	}
	earlier := folder + ".earlier"
	t.Cleanup(func() {
		if err := os.RemoveAll(earlier); err != nil {
			t.Error(err)
		}
	})
	restart := func(between func()) {
		t.Helper()
		ctx := Within(t, time.Minute)
		if err := server.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		between()
		if err := server.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	restart(func() { copyFolder(t, folder, earlier) })
	return func() {
		t.Helper()
		restart(func() {
			if err := os.RemoveAll(folder); err != nil {
				t.Fatal(err)
			}
			copyFolder(t, earlier, folder)
		})
	}
}

// copyFolder copies a folder with its files' owners, of whom the server is one.
func copyFolder(t testing.TB, from, to string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v: %s", from, err, out)
	}
}
