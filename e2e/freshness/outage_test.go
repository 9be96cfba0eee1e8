package freshness

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Without PostgreSQL nobody can be let in and no session goes on: clients get a clear error, and what was
// committed before is there afterwards.
func TestEndpoint_whilePostgreSQLIsDown(t *testing.T) {
	r := newRig(t)
	held := r.session(t)
	exec(t, held, "UPDATE counter SET n = 3 WHERE id = 1")
	if err := r.postgres.Kill(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := held.Exec(ctx, readTotal)
	requireState(t, "a session from before", err, "08006", "57P01", "57P02")
	_, err = pgx.Connect(ctx, r.gateway.URL(database))
	requireState(t, "a new session", err, "57P03")

	if err := r.postgres.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	fresh := r.session(t, strong)
	if got := total(t, fresh); got != 3 {
		t.Errorf("after the outage a read sees %d, want 3", got)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for show(t, fresh, "freshet.last_route") != "columnar" { // until then PostgreSQL answers
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the columnar route does not come back")
		}
		if got := total(t, fresh); got != 3 {
			t.Fatalf("after the outage a read sees %d, want 3", got)
		}
	}
}

// modes are all freshness modes of a session.
var modes = []string{strong, "SET freshet.freshness = 'bounded'", eventual}

// requirePostgreSQL demands PostgreSQL's answer in every mode, and an error within the statement timeout of sessions that
// insist on the replica.
func (r *rig) requirePostgreSQL(t *testing.T, want int64) {
	t.Helper()
	for _, mode := range modes {
		s := r.session(t, mode)
		if got, route := total(t, s), show(t, s, "freshet.last_route"); got != want || route != "oltp" {
			t.Errorf("%s: a read sees %d by route %s, want %d by oltp", mode, got, route, want)
		}
		insists := r.session(t, mode, columnarOnly, "SET statement_timeout = '2s'")
		began := time.Now()
		_, err := insists.Exec(t.Context(), readTotal)
		requireState(t, mode+" on the columnar route", err, "55000", "57014", "0A000")
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s on the columnar route: the error took %v", mode, took)
		}
	}
}

func TestEndpoint_whileTheEngineIsDown(t *testing.T) {
	r := newRig(t)
	if err := r.engine.Kill(); err != nil {
		t.Fatal(err)
	}
	exec(t, r.direct(t), "UPDATE counter SET n = 4 WHERE id = 1")
	r.requirePostgreSQL(t, 4)
}

// A replica whose slot was dropped cannot know what it misses: it stops, and says so.
func TestEndpoint_whenItsSlotIsDropped(t *testing.T) {
	r := newRig(t)
	direct := r.direct(t)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for dropped := false; !dropped; <-tick.C { // the gateway comes back to its slot meanwhile
		exec(t, direct, "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active")
		_, err := direct.Exec(t.Context(), "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
		dropped = err == nil
	}
	exec(t, direct, "UPDATE counter SET n = 6 WHERE id = 1")
	for r.gateway.Status().Stopped == nil {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the replica does not stop")
		}
		if s := r.session(t, strong); total(t, s) != 6 {
			t.Fatal("a strong read misses what was committed before")
		}
	}
	if code := r.gateway.Status().Stopped.Code; code != cdc.CodeSlotLost {
		t.Errorf("the replica stopped with %s, want %s", code, cdc.CodeSlotLost)
	}
	r.requirePostgreSQL(t, 6)
}

func requireState(t *testing.T, who string, err error, codes ...string) {
	t.Helper()
	e, ok := errors.AsType[*pgconn.PgError](err)
	for _, code := range codes {
		if ok && e.Code == code {
			return
		}
	}
	t.Errorf("%s gets %v, want SQLSTATE %v", who, err, codes)
}
