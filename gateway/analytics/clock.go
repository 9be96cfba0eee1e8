package analytics

import (
	"context"
	"fmt"
	"strconv"

	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/translate"
)

// askTime asks PostgreSQL for the time of the session's transaction. One for the statement alone begins with the question.
func askTime(ctx context.Context, s *pgwire.SessionInfo) (*translate.Clock, error) {
	values, err := askIntegers(ctx, s, timeSQL, 3)
	if err != nil {
		return nil, fmt.Errorf("ask for the time: %w", err)
	}
	return &translate.Clock{Now: values[0], Today: values[1], Local: values[2]}, nil
}

const timeSQL = `SELECT (pg_catalog.extract('epoch', pg_catalog.now()) OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8,
 CURRENT_DATE OPERATOR(pg_catalog.-) '1970-01-01'::pg_catalog.date, (pg_catalog.extract('epoch', LOCALTIMESTAMP) OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8`

// askIntegers asks for one row of n integers.
func askIntegers(ctx context.Context, s *pgwire.SessionInfo, sql string, n int) ([]int64, error) {
	rows, err := s.Ask(ctx, sql)
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 || len(rows[0]) != n {
		return nil, fmt.Errorf("PostgreSQL's answer is not one row of %d values", n)
	}
	values := make([]int64, n)
	for i, text := range rows[0] {
		if values[i], err = strconv.ParseInt(string(text), 10, 64); err != nil {
			return nil, err
		}
	}
	return values, nil
}
