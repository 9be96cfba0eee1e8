package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/gateway/scram"
)

// readVerifiers opens them as a role, with a connection string that wants TLS if the server has it.
func readVerifiers(t *testing.T, url, role string, log *bytes.Buffer) *verifiers {
	t.Helper()
	_, address, _ := strings.Cut(url, "@")
	url = "postgres://" + role + ":secret@" + strings.Replace(address, "sslmode=disable", "sslmode=prefer", 1)
	backend, err := pgconn.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	v, err := openVerifiers(t.Context(), Config{PostgresURL: url, backend: backend, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.close)
	return v
}

func TestVerifiers_areReadByWhomeverMay(t *testing.T) {
	t.Parallel()
	pg := stand.Postgres(t)
	url := pg.URL("postgres")
	stand.ExecAt(t, url, "CREATE ROLE strange LOGIN PASSWORD 'secret'", "CREATE ROLE trusted LOGIN PASSWORD 'secret'",
		"GRANT SELECT (rolname, rolpassword) ON pg_catalog.pg_authid TO trusted")
	var log bytes.Buffer
	trusted := readVerifiers(t, url, "trusted", &log)
	verifier, err := trusted.read(t.Context(), "strange")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scram.ParseKeys(verifier); err != nil {
		t.Error(err)
	}
	if verifier, err := trusted.read(t.Context(), "nobody"); err != nil || verifier != "" {
		t.Errorf("of no role: %q, %v", verifier, err)
	}
	strange := readVerifiers(t, url, "strange", &log)
	for range 2 {
		if verifier, err := strange.read(t.Context(), "trusted"); err == nil {
			t.Errorf("without the privilege: %q", verifier)
		}
	}
	if n := strings.Count(log.String(), "GRANT SELECT"); n != 1 {
		t.Errorf("the remedy was logged %d times:\n%s", n, log.String())
	}
}

func TestVerifiers_areNotNeededWithoutTLS(t *testing.T) {
	t.Parallel()
	backend, err := pgconn.ParseConfig("postgres://127.0.0.1/x?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := openVerifiers(t.Context(), Config{backend: backend}); v != nil || err != nil {
		t.Errorf("got %v, %v", v, err)
	}
}
