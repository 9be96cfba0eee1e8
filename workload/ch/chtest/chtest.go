package chtest

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/workload/ch"
)

// Seed is the seed of the loaded data.
const Seed = 7

// Load starts a PostgreSQL for the test, loads one warehouse and returns the DSN.
func Load(t testing.TB) string {
	t.Helper()
	dsn := stand.Postgres(t).URL("postgres")
	if err := ch.Load(t.Context(), ch.LoadConfig{DSN: dsn, Warehouses: 1, Seed: Seed}); err != nil {
		t.Fatal(err)
	}
	return dsn
}

// Connect connects to dsn for the length of the test.
func Connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.PgConn().Conn().Close() })
	return conn
}
