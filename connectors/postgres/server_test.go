package postgres

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/connectors/cdc"
)

func TestServerFacts_knowReleasesThatLoseChanges(t *testing.T) {
	t.Parallel()
	for version, want := range map[int]bool{
		140017: true, 140018: false, 150012: true, 150013: false, 160008: true, 160009: false, 170004: true, 170005: false, 180000: false,
	} {
		if got := (serverFacts{version: version}).losesChanges(); got != want {
			t.Errorf("version %d: %t, want %t", version, got, want)
		}
	}
}

// As PostgreSQL 15.18 reports it, time and again, when a publication was dropped, changes were written, and it was created anew.
func TestExplain_givesUpWhatWasWrittenWithoutAPublication(t *testing.T) {
	t.Parallel()
	s, err := New(Config{URL: "postgresql://127.0.0.1:1/none"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var terminal *cdc.TerminalError
	undefined := &pgconn.PgError{Severity: "ERROR", Code: stateUndefinedObject, Message: `publication "freshet" does not exist`}
	if err := s.explain(t.Context(), undefined); !errors.As(err, &terminal) || terminal.Code != cdc.CodePublicationMismatch {
		t.Errorf("got %v", err)
	}
	if err := s.explain(t.Context(), errors.New("connection reset")); errors.As(err, &terminal) {
		t.Errorf("a stream that was cut off is given up: %v", err)
	}
}
