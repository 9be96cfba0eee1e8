package stand_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/e2e/stand"
)

func TestPostgres_isGoneAfterTheTest(t *testing.T) {
	var pid int
	var segment string
	t.Run("inner", func(t *testing.T) {
		s := stand.Postgres(t)
		pid = s.PID()
		segment = sharedMemory(t, pid)
		conn, err := pgx.Connect(t.Context(), s.URL("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	gone(t, pid)
	if _, left := segments(t)[segment]; left {
		t.Errorf("segment %s of its shared memory is still there", segment)
	}
}

// sharedMemory returns the id of the System V segment that a server made.
func sharedMemory(t *testing.T, pid int) string {
	t.Helper()
	for id, creator := range segments(t) {
		if creator == fmt.Sprint(pid) {
			return id
		}
	}
	t.Fatalf("process %d made no shared memory", pid)
	return ""
}

// segments returns who made the system's shared memory, by id.
func segments(t *testing.T) map[string]string {
	t.Helper()
	table, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Fatal(err)
	}
	creators := map[string]string{}
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 4 { // key, id, permissions, size, creator, …
			creators[f[1]] = f[4]
		}
	}
	return creators
}

func TestEngine_isGoneAfterTheTest(t *testing.T) {
	var pid int
	t.Run("inner", func(t *testing.T) { pid = stand.Engine(t).PID() })
	gone(t, pid)
}

func gone(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(os.Interrupt); err == nil {
		t.Errorf("process %d is still there", pid)
	}
}
