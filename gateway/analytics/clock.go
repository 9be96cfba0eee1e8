package analytics

import (
	"context"
	"fmt"
	"strconv"

	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/translate"
)

// mostInstants is how many timestamps PostgreSQL is asked for in a statement.
const mostInstants = 16

// translateAsking translates a statement and asks PostgreSQL what timestamps mean in the session's time zone.
func translateAsking(ctx context.Context, s *pgwire.SessionInfo, tree *translate.Tree, env translate.Env) (*translate.Plan, error) {
	env.Instants = map[string]int64{}
	for {
		plan, err := translate.Translate(tree, env)
		refused, ok := translate.AsUnsupported(err)
		if !ok || refused.Instant == "" || env.Dialect != translate.PostgreSQL || len(env.Instants) == mostInstants {
			return plan, err
		}
		// The text has passed the translation's own reading: it holds digits and punctuation, no quotes.
		values, err := askIntegers(ctx, s, "SELECT (pg_catalog.extract('epoch', TIMESTAMPTZ '"+refused.Instant+"') * 1000000)::pg_catalog.int8", 1)
		if err != nil {
			return nil, fmt.Errorf("ask for a moment in the session's time zone: %w", err)
		}
		env.Instants[refused.Instant] = values[0]
	}
}

// askTime asks PostgreSQL for the time of the session's transaction. One for the statement alone begins with the question.
func askTime(ctx context.Context, s *pgwire.SessionInfo) (*translate.Clock, error) {
	values, err := askIntegers(ctx, s, `SELECT (pg_catalog.extract('epoch', pg_catalog.now()) * 1000000)::pg_catalog.int8,
 CURRENT_DATE - DATE '1970-01-01', (pg_catalog.extract('epoch', LOCALTIMESTAMP) * 1000000)::pg_catalog.int8`, 3)
	if err != nil {
		return nil, fmt.Errorf("ask for the time: %w", err)
	}
	return &translate.Clock{Now: values[0], Today: values[1], Local: values[2]}, nil
}

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
