package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/local/process"
	"github.com/freshet-io/freshet/workload/affinity"
)

// pinned marks the environment of a program that has been restarted by [PinSelf].
const pinned = "FRESHET_PINNED"

// CanPin says whether this machine has a core for each side.
func CanPin() bool { return runtime.NumCPU() > 1 || os.Getenv(pinned) != "" }

// PinSelf restarts this program pinned to [OLTPCore], unless it is already; it must come first in a command. The
// affinity then holds for all of its threads, which is why it is not just set. Analytical clients move their own threads to
// the other core.
func PinSelf() error {
	if os.Getenv(pinned) != "" {
		// Threads on the other core must not keep those on this one from running, nor collections make all of them wait often.
		runtime.GOMAXPROCS(8)
		debug.SetGCPercent(400)
		return nil
	}
	if !CanPin() {
		return errors.New("pin the two sides apart: this machine offers one core; use --pin=false")
	}
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("pin to core %d: %w", OLTPCore, err)
	}
	if err := affinity.Pin([]int{OLTPCore}); err != nil {
		return err
	}
	err = syscall.Exec(executable, os.Args, append(os.Environ(), pinned+"=1"))
	return fmt.Errorf("restart pinned to core %d: %w", OLTPCore, err)
}

// PlaceSender moves PostgreSQL's process that decodes the log for the gateway to a core. By itself it runs on [OLTPCore].
func (r *Rig) PlaceSender(ctx context.Context, core int) error {
	conn, err := pgx.Connect(ctx, r.OLTP())
	if err != nil {
		return fmt.Errorf("find the WAL sender: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var pid int
	if err := conn.QueryRow(ctx, "SELECT active_pid FROM pg_replication_slots WHERE slot_name = 'freshet'").Scan(&pid); err != nil {
		return fmt.Errorf("find the WAL sender: %w", err)
	}
	return process.Pin(pid, []int{core})
}
