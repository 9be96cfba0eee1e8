package analytics

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/syntax"
	"github.com/freshet-io/freshet/gateway/translate"
)

// sized is a replica of tables that have so many rows.
type sized struct {
	Replica
	rows int64
}

func (s sized) Rows(cdc.TableID) int64 { return s.rows }

const (
	fromIndex = `[{"Plan": {"Node Type": "Index Scan", "Index Cond": "(id = 1)", "Total Cost": 8}}]`
	fromTable = `[{"Plan": {"Node Type": "Seq Scan", "Total Cost": 8000}}]`
)

// planner is PostgreSQL's, which gives one answer and counts how often it is asked.
type planner struct {
	t      *testing.T
	router *Router
	now    time.Time
	answer string
	err    error
	mu     sync.Mutex
	asked  int
}

func newPlanner(t *testing.T, rows int64) *planner {
	t.Helper()
	trees, err := lru.New[string, *syntax.Tree](8)
	if err != nil {
		t.Fatal(err)
	}
	known, err := newVerdicts(64)
	if err != nil {
		t.Fatal(err)
	}
	p := &planner{t: t, now: time.Unix(1, 0)}
	p.router = &Router{replica: sized{rows: rows}, trees: trees, verdicts: known, clock: func() time.Time { return p.now }}
	return p
}

// relays reports whether a statement is left to PostgreSQL.
func (p *planner) relays(sql string) bool {
	p.t.Helper()
	s := &pgwire.SessionInfo{AskPlan: func(context.Context, pgwire.Statement) ([]byte, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked++
		return []byte(p.answer), p.err
	}}
	st := pgwire.Statement{SQL: sql}
	w, ok := p.router.weighed(s, st)
	if !ok {
		p.t.Fatalf("%s is not weighed", sql)
	}
	plan := &planned{plan: &translate.Plan{Relations: []translate.Relation{{Table: orders()}}}}
	err := p.router.weigh(p.t.Context(), s, st, plan, w)
	var relay *pgwire.RelayError
	if err != nil && !errors.As(err, &relay) && p.err == nil {
		p.t.Error(err)
	}
	if known := p.router.verdicts.isIndexed(w, p.now); known != (relay != nil) {
		p.t.Errorf("%s: the verdict that is remembered is %t", sql, known)
	}
	return relay != nil
}

func TestWeigh_asksOnceAMinuteForAShape(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer string
		first  string
		other  string
		relays bool
		asked  int
	}{
		{fromIndex, "SELECT * FROM orders WHERE id = 1", "SELECT * FROM orders WHERE id = 2", true, 1},
		{fromIndex, "SELECT * FROM orders WHERE id < 1", "SELECT * FROM orders WHERE id < 2", true, 2},
		{fromTable, "SELECT * FROM orders WHERE id < 1", "SELECT * FROM orders WHERE id < 2", false, 1},
		{"", "SELECT * FROM orders WHERE id = 1", "SELECT * FROM orders WHERE id = 2", false, 1}, // PostgreSQL does not tell
	} {
		p := newPlanner(t, manyRows)
		p.answer = c.answer
		var sessions sync.WaitGroup
		for range 8 {
			sessions.Go(func() {
				for _, sql := range []string{c.first, c.first} {
					if got := p.relays(sql); got != c.relays {
						t.Errorf("%s: relayed: %t, want %t", sql, got, c.relays)
					}
				}
			})
		}
		sessions.Wait()
		if got := p.relays(c.other); got != c.relays || p.asked != c.asked {
			t.Errorf("%s after %s: relayed: %t, asked %d times; want %t and %d", c.other, c.first, got, p.asked, c.relays, c.asked)
		}
		p.now = p.now.Add(verdictLife)
		if p.relays(c.first); p.asked != c.asked+1 {
			t.Errorf("%s: asked %d times by the next minute, want %d", c.first, p.asked, c.asked+1)
		}
	}
}

func TestWeigh_doesNotAskForSmallTables(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, manyRows-1)
	p.answer = fromIndex
	if p.relays("SELECT * FROM orders WHERE id < 1") || p.asked > 0 {
		t.Errorf("it was relayed, or asked for: %d times", p.asked)
	}
}

func TestWeigh_asksAgainWhereTheConnectionFailed(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, manyRows)
	p.answer, p.err = fromIndex, errors.New("connection lost")
	if p.relays("SELECT * FROM orders WHERE id = 1") {
		t.Error("a statement is relayed by no verdict")
	}
	p.err = nil
	if !p.relays("SELECT * FROM orders WHERE id = 2") {
		t.Error("it is not asked for again")
	}
}

func TestWeighed_isForRouteAutoOutsideBlocks(t *testing.T) {
	t.Parallel()
	ask := func(context.Context, pgwire.Statement) ([]byte, error) { return nil, nil }
	p := newPlanner(t, manyRows)
	for name, s := range map[string]*pgwire.SessionInfo{
		"route columnar":      {AskPlan: ask, Settings: pgwire.Settings{Route: pgwire.RouteColumnar}},
		"a pinned snapshot":   {AskPlan: ask, Tx: &pinned{}},
		"a transaction block": {},
	} {
		if _, ok := p.router.weighed(s, pgwire.Statement{SQL: "SELECT * FROM orders WHERE id = 1"}); ok {
			t.Errorf("%s is weighed", name)
		}
	}
}

func TestWeigh_doesNotWaitForASessionWhosePostgreSQLHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlanner(t, manyRows)
		st := pgwire.Statement{SQL: "SELECT * FROM orders WHERE id = 1"}
		plan := &planned{plan: &translate.Plan{Relations: []translate.Relation{{Table: orders()}}}}
		answers := make(chan struct{})
		weigh := func(ctx context.Context) error {
			s := &pgwire.SessionInfo{AskPlan: func(context.Context, pgwire.Statement) ([]byte, error) {
				<-answers
				return []byte(fromIndex), nil
			}}
			w, _ := p.router.weighed(s, st)
			return p.router.weigh(ctx, s, st, plan, w)
		}
		var asking sync.WaitGroup
		asking.Go(func() { _ = weigh(t.Context()) })
		synctest.Wait()
		time.AfterFunc(time.Hour, func() { close(answers) })
		began := time.Now()
		if err := weigh(t.Context()); err != nil || time.Since(began) != verdictWait {
			t.Errorf("%v after %v, want the replica to run it after %v", err, time.Since(began), verdictWait)
		}
		canceled, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("canceled")
		time.AfterFunc(verdictWait/2, func() { cancel(cause) })
		if err := weigh(canceled); !errors.Is(err, cause) {
			t.Errorf("a statement that was canceled ended with %v", err)
		}
		asking.Wait()
	})
}
