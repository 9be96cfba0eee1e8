package analytics

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/shares"
	"github.com/freshet-io/freshet/gateway/translate"
)

// refusing is a router on which nothing runs, at a time that the test changes.
func refusing(t *testing.T, now *time.Time) *Router {
	t.Helper()
	return &Router{
		clock: func() time.Time { return *now }, log: slog.New(slog.NewTextHandler(t.Output(), nil)), metrics: newMetrics(prometheus.NewRegistry()),
	}
}

// What the engine has refused after half a minute it would refuse after another one.
func TestRefusal_isRememberedForAMinute(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		err   error
		route pgwire.Route
		want  bool
	}{
		{"memory", &ch.Exception{Code: proto.ErrMemoryLimitExceeded}, pgwire.RouteAuto, true},
		{"the engine's planner", &ch.Exception{Code: proto.ErrTooDeepRecursion}, pgwire.RouteAuto, true},
		{"where the client insists", &ch.Exception{Code: proto.ErrMemoryLimitExceeded}, pgwire.RouteColumnar, false},
		{"a table that went with the engine's memory", &ch.Exception{Code: proto.ErrUnknownTable}, pgwire.RouteAuto, false},
		{"no refusal", errLag, pgwire.RouteAuto, false},
	} {
		now := time.Unix(1, 0)
		r := refusing(t, &now)
		p := &planned{plan: &translate.Plan{}}
		q := &query{router: r, session: &pgwire.SessionInfo{Settings: pgwire.Settings{Route: c.route}}, tenant: &shares.Tenant{}, planned: p}
		if err := q.refusal(t.Context(), c.err); !errors.Is(err, c.err) {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := p.refused.recent(now); got != c.want {
			t.Errorf("%s: remembered: %t, want %t", c.name, got, c.want)
		}
		if !c.want {
			continue
		}
		var relay *pgwire.RelayError
		if err := r.permit(t.Context(), q.session, p); !errors.As(err, &relay) || relay.Reason != reasonRefused+" a moment ago" {
			t.Errorf("%s: the next run: %v", c.name, err)
		}
		if now = now.Add(vainLife); p.refused.recent(now) {
			t.Errorf("%s: it is remembered for longer than %v", c.name, vainLife)
		}
	}
}
