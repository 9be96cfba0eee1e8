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
	t.Run("inner", func(t *testing.T) {
		s := stand.Postgres(t)
		pid = s.PID()
		mapped, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(mapped), "/dev/shm/PostgreSQL.") {
			t.Error("the server shares memory that stays when it is killed")
		}
		conn, err := pgx.Connect(t.Context(), s.URL("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	gone(t, pid)
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
