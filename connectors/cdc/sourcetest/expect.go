package sourcetest

import (
	"errors"
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// WantTerminal fails the test unless err stops the stream with a code and a remedy.
func WantTerminal(t testing.TB, err error, code cdc.Code) {
	t.Helper()
	if terminal, ok := errors.AsType[*cdc.TerminalError](err); !ok || terminal.Code != code || terminal.Remedy == "" {
		t.Fatalf("error %v, want a terminal error %s with a remedy", err, code)
	}
}
