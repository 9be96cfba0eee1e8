package analytics

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-io/freshet/gateway/batch"
	"github.com/freshet-io/freshet/gateway/datarow"
	"github.com/freshet-io/freshet/gateway/engine"
	"github.com/freshet-io/freshet/gateway/freshness"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/shares"
	"github.com/freshet-io/freshet/gateway/translate"
)

// refusing is a router on which nothing runs, at a time that the test changes. Its replica is [suspicious].
func refusing(t *testing.T, now *time.Time) *Router {
	t.Helper()
	return &Router{
		clock: func() time.Time { return *now }, log: slog.New(slog.NewTextHandler(t.Output(), nil)), metrics: newMetrics(prometheus.NewRegistry()),
		replica: &suspicious{},
	}
}

// suspicious is a replica that only hears of refusals.
type suspicious struct {
	Replica
	refused error
}

func (s *suspicious) Suspect(refused error) { s.refused = refused }

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
		var relay *pgwire.RelayError
		if err := q.refusal(t.Context(), c.err); !errors.As(err, &relay) {
			t.Errorf("%s: %v", c.name, err)
		}
		if exception, ok := errors.AsType[*ch.Exception](c.err); ok && r.replica.(*suspicious).refused != error(exception) {
			t.Errorf("%s: the replica was told %v", c.name, r.replica.(*suspicious).refused)
		}
		if got := p.refused.recent(now); got != c.want {
			t.Errorf("%s: remembered: %t, want %t", c.name, got, c.want)
		}
		if !c.want {
			continue
		}
		if err := r.permit(t.Context(), q.session, p); !errors.As(err, &relay) || relay.Reason != reasonRefused+" a moment ago" {
			t.Errorf("%s: the next run: %v", c.name, err)
		}
		if now = now.Add(vainLife); p.refused.recent(now) {
			t.Errorf("%s: it is remembered for longer than %v", c.name, vainLife)
		}
	}
}

// Whatever ends a result that the client has part of: PostgreSQL cannot run the statement any more, but the client can.
func TestRefusal_ofAResultThatIsBeingSentAsksToRepeatTheStatement(t *testing.T) {
	t.Parallel()
	now := time.Unix(1, 0)
	r := refusing(t, &now)
	long := datarow.Of([][]byte{make([]byte, holdBack)})
	for name, c := range map[string]struct {
		err   error
		limit shares.Limits
		code  string
	}{
		"a guard":            {&ch.Exception{Code: proto.ErrIllegalDivision}, shares.Limits{}, "40001"},
		"a lost engine":      {engine.ErrUnavailable, shares.Limits{}, "40001"},
		"a dispatcher's end": {batch.ErrClosed, shares.Limits{}, "40001"},
		"memory":             {&ch.Exception{Code: proto.ErrMemoryLimitExceeded}, shares.Limits{}, "40001"},
		"a tenant's memory":  {&ch.Exception{Code: proto.ErrMemoryLimitExceeded}, shares.Limits{Memory: 1}, "53200"},
	} {
		q := &query{router: r, session: &pgwire.SessionInfo{}, tenant: &shares.Tenant{Limits: c.limit}, planned: &planned{plan: &translate.Plan{}}}
		sent, err := q.deliver(t.Context(), &broken{rows: 2, each: long, err: c.err}, func(datarow.Rows) error { return nil })
		var told *pgwire.Error
		var relay *pgwire.RelayError
		if err = q.refusal(t.Context(), err); sent == 0 || errors.As(err, &relay) || !errors.As(err, &told) || told.Code != c.code {
			t.Errorf("%s: %d rows, then %#v; want SQLSTATE %s", name, sent, err, c.code)
		}
	}
	counted := make(chan prometheus.Metric, 8)
	if r.metrics.relayed.Collect(counted); len(counted) != 0 {
		t.Errorf("%d causes of statements that PostgreSQL ran are counted", len(counted))
	}
}

func TestRefusal_saysNothingTwice(t *testing.T) {
	t.Parallel()
	now := time.Unix(1, 0)
	r := refusing(t, &now)
	for want, err := range map[string]error{
		"the replica lags behind PostgreSQL": errLag,
		"the newest snapshot is older than freshet.max_staleness: newest snapshot is 2s old, the query allows 1s": &batch.StaleError{Staleness: 2 * time.Second, Max: time.Second},
		"the columnar engine is unavailable":                                                                             engine.ErrUnavailable,
		"the columnar engine is unavailable: connection refused":                                                         fmt.Errorf("%w: %w", engine.ErrUnavailable, errors.New("connection refused")),
		"the columnar engine is unavailable: begin query: connection refused":                                            fmt.Errorf("begin query: %w: connection refused", engine.ErrUnavailable),
		"the columnar engine is unavailable: dispatcher is shut down":                                                    batch.ErrClosed,
		"the replica is not ready":                                                                                       ErrUnavailable,
		"the replica is not ready: replication is stopped (SlotLost: it is gone; make it anew)":                          fmt.Errorf("%w: replication is stopped (SlotLost: it is gone; make it anew)", ErrUnavailable),
		"the source did not tell its position: connection refused":                                                       fmt.Errorf("%w: connection refused", freshness.ErrSource),
		"the source could not confirm the table definitions: connection refused":                                         fmt.Errorf("%w: connection refused", errUnconfirmed),
		"the columnar engine refused the statement (code 241): MEMORY_LIMIT_EXCEEDED (241): MEMORY_LIMIT_EXCEEDED: much": &ch.Exception{Code: 241, Name: "MEMORY_LIMIT_EXCEEDED", Message: "much"},
		"PostgreSQL did not sort strings: by collation \"x\": no such collation":                                         fmt.Errorf("%w by collation %q: no such collation", errUnranked, "x"),
	} {
		if got := r.refusal(t.Context(), err).Error(); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	if got := unanswered(t.Context(), "the definition of a view could not be read", ErrUnavailable).Error(); got != "the replica is not ready" {
		t.Errorf("of a view: %q", got)
	}
}
