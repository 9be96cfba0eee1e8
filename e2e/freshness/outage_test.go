package freshness

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
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
