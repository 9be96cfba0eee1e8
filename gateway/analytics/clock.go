package analytics

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/translate"
)

// askTime asks PostgreSQL for the time of the session's transaction. One for the statement alone begins with the question.
func askTime(ctx context.Context, s *pgwire.SessionInfo) (*translate.Clock, error) {
	rows, err := s.Ask(ctx, `SELECT (pg_catalog.extract('epoch', pg_catalog.now()) * 1000000)::pg_catalog.int8,
 CURRENT_DATE - DATE '1970-01-01', (pg_catalog.extract('epoch', LOCALTIMESTAMP) * 1000000)::pg_catalog.int8`)
	if err != nil {
		return nil, fmt.Errorf("ask for the time: %w", err)
	}
	var values [3]int64
	if len(rows) != 1 || len(rows[0]) != len(values) {
		return nil, errors.New("ask for the time: PostgreSQL's answer is not one row of three values")
	}
	for i := range values {
		if values[i], err = strconv.ParseInt(string(rows[0][i]), 10, 64); err != nil {
			return nil, fmt.Errorf("ask for the time: %w", err)
		}
	}
	return &translate.Clock{Now: values[0], Today: values[1], Local: values[2]}, nil
}
