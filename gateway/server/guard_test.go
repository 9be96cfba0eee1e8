package server_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
)

// Whoever insists on the replica is told in PostgreSQL's terms what it did not compute, each time in
// the same words, and not by the engine's, which quote its own statement.
func TestGateway_namesWhatTheReplicaDidNotCompute(t *testing.T) {
	t.Parallel()
	g := start(t, "CREATE TABLE part(id int PRIMARY KEY, n int NOT NULL, amount numeric(10,2) NOT NULL)", "INSERT INTO part SELECT i, i, i FROM generate_series(0, 9) AS i")
	c := g.client()
	exec(t, c, "SET freshet.route = 'columnar'")
	refused := func(sql string) []string {
		_, err := c.Exec(t.Context(), sql)
		pgErr, ok := errors.AsType[*pgconn.PgError](err)
		if !ok {
			t.Fatalf("%s: %v, want a refusal", sql, err)
		}
		return []string{pgErr.Code, pgErr.Message, pgErr.Hint}
	}
	const (
		why  = "freshet.route is columnar, but this statement cannot run there: a value needs PostgreSQL's own arithmetic: "
		hint = "Set freshet.route = 'auto' to let PostgreSQL run what the columnar replica cannot."
	)
	for sql, what := range map[string]string{
		"SELECT sum(100 / n) FROM part":                                    "division by zero",
		"SELECT sum((amount + 1e25) * (amount + 1e25)) / sum(n) FROM part": "digits of an operand",
		"SELECT sum(amount / n) FROM part":                                 "division by zero",
		"SELECT count(*) FROM part WHERE (SELECT n FROM part p) = part.n":  "more than one row in a subquery",
	} {
		want := []string{"0A000", why + what, hint}
		for range 2 {
			if diff := cmp.Diff(want, refused(sql)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", sql, diff)
			}
		}
	}
	exec(t, c, "SET freshet.route = 'auto'")
	if diff := cmp.Diff([]string{"22012", "division by zero", ""}, refused("SELECT sum(100 / n) FROM part")); diff != "" {
		t.Errorf("by PostgreSQL (-want +got):\n%s", diff)
	}
}
