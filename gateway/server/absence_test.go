package server

import (
	"errors"
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica"
	"github.com/freshet-io/freshet/gateway/analytics"
)

func TestAbsence_saysWhyATableIsNotOnTheReplica(t *testing.T) {
	t.Parallel()
	tables := []replica.TableStatus{
		{Schema: "app", Name: "arrays", Phase: replica.PhaseStopped, Stopped: &cdc.TableError{
			Code: cdc.CodeUnsupportedType, Detail: `column "a" has type integer[]`, Remedy: "exclude the table"}},
		{Schema: "app", Name: "young", Phase: replica.PhaseCopying},
		{Schema: "public", Name: "ready", Phase: replica.PhaseReady},
	}
	for name, want := range map[string]string{
		"arrays": `the replication of table app.arrays is stopped (UnsupportedType: column "a" has type integer[]; exclude the table)`,
		"young":  "table app.young is being copied to the replica",
		"ready":  "table public.ready has only just been copied to the replica",
		"absent": "absent is not replicated: it has only just been made, is not a permanent table, or the patterns to include and exclude leave it out",
	} {
		if got := absence(tables, []string{"public", "app"}, name, ""); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestAbsence_namesWhatStoppedReplication(t *testing.T) {
	t.Parallel()
	u := newUnit(Config{})
	for want, stopped := range map[string]*cdc.TerminalError{
		"the replica is not ready": nil,
		"the replica is not ready: replication is stopped (SlotLost: the slot is gone; drop the replica)": {
			Code: cdc.CodeSlotLost, Detail: "the slot is gone", Remedy: "drop the replica"},
	} {
		u.stopped.Store(stopped)
		if got := u.Absence([]string{"public"}, "", "account"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if _, err := u.Acquire(t.Context()); !errors.Is(err, analytics.ErrUnavailable) || "the "+err.Error() != want {
			t.Errorf("a snapshot: %v, want %s", err, want)
		}
	}
}
