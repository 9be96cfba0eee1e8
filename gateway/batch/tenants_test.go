package batch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/freshet-io/freshet/gateway/shares"
)

// directory has tenants of two users; limits are those of the second.
func directory(t *testing.T, limits shares.Limits) *shares.Directory {
	t.Helper()
	table, err := shares.NewTable([]shares.Tenant{
		{Name: "rich", Users: []string{"rich"}, Shares: 300},
		{Name: "poor", Users: []string{"poor"}, Shares: 100, Limits: limits},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := shares.NewDirectory()
	d.Set(table)
	return d
}

func queryOf(user, key string) *Query {
	q := query(key)
	q.User = user
	return q
}

// submit gives the dispatcher a query and reads its rows; what became of it is sent.
func (f *fixture) submit(ctx context.Context, q *Query) <-chan error {
	done := make(chan error, 1)
	go func() {
		r, err := f.d.Submit(ctx, q)
		for err == nil {
			_, err = r.Next()
		}
		if r != nil {
			r.Close()
		}
		done <- err
	}()
	return done
}

// queue submits a query and waits until it waits.
func (f *fixture) queue(t *testing.T, q *Query) {
	t.Helper()
	waiting := f.d.shares.Waiting()
	f.submit(t.Context(), q)
	waitFor(t, func() bool { return f.d.shares.Waiting() > waiting })
}

func TestDispatcher_sharesSayWhoseTurnItIs(t *testing.T) {
	f := start(t, Config{Slots: 1, Budget: time.Hour, Tenants: directory(t, shares.Limits{})})
	f.eng.cost = 10 * time.Millisecond // what a first query is expected to cost, too
	f.submit(t.Context(), queryOf("poor", "poor 0"))
	<-f.eng.started
	for n := range 6 {
		f.queue(t, queryOf("poor", fmt.Sprint("poor ", n+1)))
		f.queue(t, queryOf("rich", fmt.Sprint("rich ", n+1)))
	}
	started := map[string]int{}
	for range 8 {
		f.eng.release <- struct{}{}
		tenant, _, _ := strings.Cut(<-f.eng.started, " ")
		started[tenant]++
	}
	if want := map[string]int{"rich": 6, "poor": 2}; !maps.Equal(started, want) {
		t.Errorf("of eight queries were started %v, want %v", started, want)
	}
}

func TestDispatcher_limitedTenantDoesNotHoldOthersUp(t *testing.T) {
	f := start(t, Config{Slots: 4, Budget: time.Millisecond, Tenants: directory(t, shares.Limits{Concurrency: 1, Queue: 1})})
	f.submit(t.Context(), queryOf("poor", "runs"))
	<-f.eng.started
	f.queue(t, queryOf("poor", "waits"))
	var full *shares.QueueFullError
	if _, err := f.d.Submit(t.Context(), queryOf("poor", "too many")); !errors.As(err, &full) || full.Tenant.Name != "poor" {
		t.Errorf("one more than may wait: %v", err)
	}
	f.submit(t.Context(), queryOf("rich", "passes"))
	if sql := <-f.eng.started; !strings.HasPrefix(sql, "passes@") {
		t.Errorf("%s was started, want the other tenant's", sql)
	}
	close(f.eng.release)
	if sql := <-f.eng.started; !strings.HasPrefix(sql, "waits@") {
		t.Errorf("%s was started, want what waited", sql)
	}
}

func TestDispatcher_queuedStatementOfATransactionKeepsItsSnapshot(t *testing.T) {
	f := start(t, Config{Slots: 1, Budget: time.Hour})
	f.submit(t.Context(), query("runs"))
	<-f.eng.started
	held, err := f.store.Publish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	ctx, cancel := context.WithCancel(t.Context())
	for _, c := range []context.Context{t.Context(), ctx} {
		go func() {
			r, err := f.d.RunOn(c, held, query("held"))
			if err == nil {
				if r.Position() != held.Position() {
					t.Errorf("ran on %v, want %v", r.Position(), held.Position())
				}
				_, err = drain(t, r)
			}
			ended <- err
		}()
	}
	waitFor(t, func() bool { return f.d.shares.Waiting() == 2 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the one given up ended with %v", err)
	}
	close(f.eng.release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	held.Release()
}

func TestDispatcher_statementOfATransactionWaitsForNoBatch(t *testing.T) {
	f := start(t, Config{Slots: 2, Budget: time.Hour})
	f.submit(t.Context(), query("holds the batch up"))
	<-f.eng.started
	held, err := f.store.Publish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	r, err := f.d.RunOn(t.Context(), held, query("held")) // would hang if it waited
	if err != nil {
		t.Fatal(err)
	}
	close(f.eng.release)
	if _, err := drain(t, r); err != nil {
		t.Error(err)
	}
}
