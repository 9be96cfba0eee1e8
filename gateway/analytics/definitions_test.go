package analytics

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/translate"
)

// catalog is a source that says which versions its tables have.
type catalog struct {
	versions map[cdc.TableID]string
	asked    int
	hold     chan struct{} // if set, questions wait for it
}

func (c *catalog) ask(ctx context.Context, _ []cdc.TableID) (map[cdc.TableID]string, error) {
	c.asked++
	if c.hold != nil {
		select {
		case <-c.hold:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return c.versions, nil
}

func (c *catalog) definitions(t *testing.T) *definitions {
	t.Helper()
	d, err := newDefinitions(c.ask, 16)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func reading(tables ...*cdc.Table) *planned {
	p := &planned{plan: &translate.Plan{}}
	for _, t := range tables {
		p.plan.Relations = append(p.plan.Relations, translate.Relation{Table: t})
	}
	return p
}

func at(n uint64) cdc.Position { return cdc.Position{Major: n} }

func TestDefinitions_holdForTheSnapshotAskedAboutAndOlderOnes(t *testing.T) {
	c := &catalog{versions: map[cdc.TableID]string{1: "a", 2: "x"}}
	d := c.definitions(t)
	one, two := &cdc.Table{ID: 1, Version: "a"}, &cdc.Table{ID: 2, Version: "x"}
	for i, step := range []struct {
		at     uint64
		tables []*cdc.Table
		asked  int
	}{
		{10, []*cdc.Table{one, one}, 1}, {10, []*cdc.Table{one}, 1}, {9, []*cdc.Table{one}, 1}, {11, []*cdc.Table{one}, 2},
		{11, []*cdc.Table{one, two}, 3}, {11, []*cdc.Table{two}, 3}, {12, []*cdc.Table{{ID: 3}}, 3},
	} {
		if err := d.confirm(t.Context(), reading(step.tables...), at(step.at)); err != nil || c.asked != step.asked {
			t.Errorf("step %d: %v after %d questions, want none after %d", i, err, c.asked, step.asked)
		}
	}
	c.versions = map[cdc.TableID]string{1: "b"}
	var relay *pgwire.RelayError
	for name, table := range map[string]*cdc.Table{"another version": one, "a table that is gone": two} {
		if err := d.confirm(t.Context(), reading(table), at(12)); !errors.As(err, &relay) {
			t.Errorf("%s: %v, want PostgreSQL to answer", name, err)
		}
		if err := d.confirm(t.Context(), reading(table), at(11)); err != nil {
			t.Errorf("%s: %v on a snapshot from before", name, err)
		}
	}
}

func TestDefinitions_shareOneQuestionEvenIfWhoAskedLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &catalog{versions: map[cdc.TableID]string{1: "a"}, hold: make(chan struct{})}
		d := c.definitions(t)
		table := &cdc.Table{ID: 1, Version: "a"}
		leader, leave := context.WithCancelCause(t.Context())
		results := make(chan error, 3)
		go func() { results <- d.confirm(leader, reading(table), at(5)) }()
		synctest.Wait()
		for range 2 {
			go func() { results <- d.confirm(t.Context(), reading(table), at(5)) }()
		}
		synctest.Wait()
		if c.asked != 1 {
			t.Errorf("%d questions, want one", c.asked)
		}
		ended := &pgwire.Error{Code: "57P01", Message: "terminating connection due to administrator command"} // nobody else's
		leave(ended)
		if err := <-results; !errors.Is(err, ended) {
			t.Errorf("who left got %v", err)
		}
		synctest.Wait()
		close(c.hold)
		for range 2 {
			if err := <-results; err != nil {
				t.Errorf("who stayed got %v", err)
			}
		}
		if c.asked != 2 {
			t.Errorf("%d questions, want a second one", c.asked)
		}
	})
}

func TestDefinitions_ofViewsHoldFromWhereTheyWereRead(t *testing.T) {
	c := &catalog{versions: map[cdc.TableID]string{7: "a"}}
	d := c.definitions(t)
	v := &view{View: &translate.View{View: &cdc.View{ID: 7, Schema: "public", Name: "v", Version: "a"}}, since: at(10)}
	p := &planned{plan: &translate.Plan{}, views: []*view{v}}
	var relay *pgwire.RelayError
	if err := d.confirm(t.Context(), p, at(9)); !errors.As(err, &relay) || c.asked != 0 {
		t.Errorf("a snapshot from before the view was read: %v after %d questions, want PostgreSQL to answer", err, c.asked)
	}
	for i, step := range []struct {
		at    uint64
		asked int
	}{{11, 1}, {10, 1}, {11, 1}, {12, 2}} {
		if err := d.confirm(t.Context(), p, at(step.at)); err != nil || c.asked != step.asked || !p.holds(time.Time{}) {
			t.Errorf("step %d: %v after %d questions, want none after %d", i, err, c.asked, step.asked)
		}
	}
	c.versions[7] = "b"
	if err := d.confirm(t.Context(), p, at(13)); !errors.As(err, &relay) {
		t.Errorf("another version: %v, want PostgreSQL to answer", err)
	}
	if p.holds(time.Time{}) {
		t.Error("the statement is not translated anew after the view has changed")
	}
}
