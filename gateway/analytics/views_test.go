package analytics

import (
	"context"
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/translate"
)

// gallery is a source of one view, public.v.
type gallery struct {
	version string
	now     uint64
	read    int
}

func (g *gallery) View(_ context.Context, path []string, name string) (*cdc.View, error) {
	g.read++
	if path[len(path)-1] != "public" || name != "v" {
		return nil, nil
	}
	return &cdc.View{ID: 7, Schema: "public", Name: "v", Query: "SELECT 1 AS one", Version: g.version}, nil
}

func (g *gallery) Versions(context.Context, []cdc.TableID) (map[cdc.TableID]string, error) {
	return map[cdc.TableID]string{7: g.version}, nil
}

func (g *gallery) Current(context.Context) (cdc.Position, error) { return at(g.now), nil }

func TestViews_areReadAgainOnlyAfterAChange(t *testing.T) {
	g := &gallery{version: "a", now: 10}
	v, err := newViews(g, 16)
	if err != nil {
		t.Fatal(err)
	}
	find := func(path ...string) *view {
		t.Helper()
		found, err := v.find(t.Context(), path, translate.AbsentTable{Name: "v"})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	review := func(used *view) {
		t.Helper()
		if err := v.review(t.Context(), []*view{used}); err != nil {
			t.Fatal(err)
		}
	}
	first := find("public")
	if first.since != at(10) {
		t.Errorf("it is known from %v on, want 10", first.since)
	}
	g.now = 20
	review(first)
	if again := find("public"); again != first || g.read != 1 {
		t.Errorf("a view that has not changed was read %d times", g.read)
	}
	g.version = "b"
	review(first)
	if second := find("public"); second == first || second.since != at(20) || !outdated([]*view{first}) {
		t.Errorf("after a change: %+v", second)
	}
	if found := find("front", "app"); found != nil {
		t.Errorf("a name that means no view: %+v", found)
	}
}
