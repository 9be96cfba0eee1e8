package differential

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/freshet-io/freshet/e2e/differential/sqlgen"
)

// Gateway is the columnar route as users meet it: a session of the gateway's SQL endpoint, with everything
// behind it. Statements that go to PostgreSQL are compared as well.
type Gateway struct{ session *Postgres }

// OpenGateway opens a session in which every answer sees what was committed before.
func OpenGateway(ctx context.Context, dsn string, w *sqlgen.World) (*Gateway, error) {
	s, err := Connect(ctx, dsn, w)
	if err != nil {
		return nil, err
	}
	// How fast it is depends on what else the machine does: only what PostgreSQL itself takes long for is left out.
	if err := s.Exec(ctx, "SET statement_timeout = '1min'"); err != nil {
		return nil, err
	}
	return &Gateway{s}, s.Exec(ctx, "SET freshet.freshness = 'strong'")
}

// Close ends the session.
func (g *Gateway) Close(ctx context.Context) error { return g.session.Close(ctx) }

// Answer implements [Columnar].
func (g *Gateway) Answer(ctx context.Context, st Statement) (Outcome, error) {
	refused, err := g.session.Describe(ctx, &st)
	if err != nil {
		return Outcome{}, err
	}
	if refused != nil {
		return Outcome{Answer: refused, Reason: "refused"}, nil
	}
	answer, err := g.session.Answer(ctx, st)
	if err != nil {
		return Outcome{}, err
	}
	route, err := g.show(ctx, "freshet.last_route")
	if err != nil {
		return Outcome{}, err
	}
	if strings.HasPrefix(route, "columnar") {
		return Outcome{Columnar: true, Answer: &answer}, nil
	}
	reason, err := g.show(ctx, "freshet.last_reason")
	if strings.Contains(reason, "engine refused") {
		return Outcome{Answer: &answer, Defect: errors.New(reason)}, err
	}
	reason, _, _ = strings.Cut(reason, ": while executing") // what follows names columns
	if inside, ok := strings.CutPrefix(reason, "view "); ok {
		_, reason, _ = strings.Cut(inside, ": ")
	}
	return Outcome{Answer: &answer, Reason: reason}, err
}

func (g *Gateway) show(ctx context.Context, setting string) (string, error) {
	r := g.session.conn.ExecParams(ctx, "SHOW "+setting, nil, nil, nil, nil).Read()
	if r.Err != nil || len(r.Rows) != 1 {
		return "", fmt.Errorf("show %s: %d rows: %w", setting, len(r.Rows), r.Err)
	}
	return string(r.Rows[0][0]), nil
}
