package postgres

import (
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// A table that lost its key and has it again before anybody was told may not be announced before it is known to be published: a
// copy that was asked for then would leave it out, and nothing would announce it once more.
func TestRegistry_announcesATableOnlyOncePublished(t *testing.T) {
	t.Parallel()
	version := func(v string, published bool, stopped *cdc.TableError) *definition {
		return &definition{table: &cdc.Table{ID: 7, Schema: "public", Name: "t", Version: v}, published: published, stopped: stopped}
	}
	put := func(r *registry, d *definition) { r.put(d); r.announceNews() }
	stopped := func(r *registry) { put(r, version("b", true, &cdc.TableError{Code: cdc.CodeNoKey})) }
	for name, c := range map[string]struct{ before, after func(*registry) }{
		"stopped":                               {stopped, func(*registry) {}},
		"gone":                                  {func(r *registry) { r.drop(7) }, func(*registry) {}},
		"stopped, while a copy comes to naught": {stopped, func(r *registry) { r.setGap(7) }},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry()
			put(r, version("a", true, nil))
			if _, _, ok := r.next(); !ok || r.copying(7) == nil {
				t.Fatal("the table is not announced, or cannot be copied")
			}
			c.before(r)
			put(r, version("c", false, nil))
			c.after(r)
			if d, dropped, ok := r.next(); ok {
				t.Errorf("%+v (dropped: %d) is announced before the table is published", d, dropped)
			}
			last := version("d", true, nil)
			put(r, last)
			if d, _, ok := r.next(); !ok || d.Table != last.table {
				t.Errorf("%+v is announced, want the last definition", d)
			}
			if r.copying(7) != last {
				t.Error("the last definition cannot be copied")
			}
		})
	}
}

// A transaction that describes a table twice under a key which it had meanwhile is in the copy that the first description asked for.
func TestRegistry_coversWhatACopyHas(t *testing.T) {
	t.Parallel()
	version := func(v string, seen uint64) *definition {
		return &definition{table: &cdc.Table{ID: 7, Schema: "public", Name: "t", Version: v}, published: true, seen: seen}
	}
	first, second := version("a", 100), version("b", 300)
	r := newRegistry()
	covered := func(when string, last uint64) {
		t.Helper()
		if !r.covers(7, last-1) || r.covers(7, last) {
			t.Errorf("%s: want transactions that commit before %d to be covered, and no others", when, last)
		}
	}
	if r.covers(7, 1) {
		t.Error("a table that is not known is covered")
	}
	r.put(first)
	covered("known", 100)
	r.copied(first, 200)
	covered("copied", 200)
	r.put(version("a", 250))
	covered("read again", 200)
	r.put(second)
	covered("altered", 300)
	r.copied(first, 400)
	covered("copied as it was before", 300)
}
