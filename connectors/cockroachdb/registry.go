package cockroachdb

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// registry holds what is known of every selected table, and what is still to be announced to the stream's handler.
type registry struct {
	mu      sync.Mutex
	entries map[cdc.TableID]*tableEntry
	queue   []cdc.TableID
	// generation grows with every change, so that a stream may cache what it looked up.
	generation atomic.Uint64
}

// tableEntry is a table in the registry.
type tableEntry struct {
	// found is what the database said last, newest the same unless the stream has stopped the table.
	found, newest cdc.Discovered
	// given is what the consumer was told of last; nil for nothing.
	given  *cdc.Discovered
	queued bool
	gone   bool
}

func newRegistry() *registry { return &registry{entries: map[cdc.TableID]*tableEntry{}} }

// update takes what the database says now. A definition that did not change keeps its *cdc.Table.
func (r *registry) update(found []cdc.Discovered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	there := map[cdc.TableID]bool{}
	for _, d := range found {
		there[d.Table.ID] = true
		e := r.entries[d.Table.ID]
		if e == nil {
			e = &tableEntry{}
			r.entries[d.Table.ID] = e
		} else if !e.gone && sameDiscovery(e.found, d) {
			continue
		}
		e.found, e.newest, e.gone = d, d, false
		r.enqueue(d.Table.ID, e)
	}
	for id, e := range r.entries {
		if !there[id] && !e.gone {
			e.gone = true
			r.enqueue(id, e)
		}
	}
}

func (r *registry) enqueue(id cdc.TableID, e *tableEntry) {
	if !e.queued {
		e.queued = true
		r.queue = append(r.queue, id)
	}
	r.generation.Add(1)
}

// stop records that a table cannot be replicated after all.
func (r *registry) stop(id cdc.TableID, why *cdc.TableError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[id]; e != nil && !e.gone && e.newest.Stopped == nil {
		e.newest.Stopped = why
		r.enqueue(id, e)
	}
}

// copyAnew has a table announced once more.
func (r *registry) copyAnew(id cdc.TableID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[id]; e != nil && !e.gone {
		r.enqueue(id, e)
	}
}

// next takes the next announcement; dropped is set, and d has no table, for one that is gone.
func (r *registry) next() (d cdc.Discovered, dropped cdc.TableID, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) > 0 {
		id := r.queue[0]
		r.queue = r.queue[1:]
		e := r.entries[id]
		e.queued = false
		if e.gone {
			delete(r.entries, id)
			if e.given != nil {
				return cdc.Discovered{}, id, true
			}
			continue
		}
		given := e.newest
		e.given = &given
		r.generation.Add(1)
		return given, 0, true
	}
	return cdc.Discovered{}, 0, false
}

// giveAll returns everything that is there and counts it as told.
func (r *registry) giveAll() []cdc.Discovered {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []cdc.Discovered
	for id, e := range r.entries {
		if e.gone {
			delete(r.entries, id)
			continue
		}
		given := e.newest
		e.given, e.queued = &given, false
		out = append(out, given)
	}
	r.queue = nil
	r.generation.Add(1)
	slices.SortFunc(out, func(a, b cdc.Discovered) int {
		return cmp.Or(cmp.Compare(a.Table.Schema, b.Table.Schema), cmp.Compare(a.Table.Name, b.Table.Name))
	})
	return out
}

// copying splits tables into those to copy, provided that the consumer knows their newest definition, and the others.
func (r *registry) copying(ids []cdc.TableID) (defs []*cdc.Table, stale []cdc.TableID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		e := r.entries[id]
		if e == nil || e.gone || e.given == nil || e.given.Table != e.newest.Table || e.newest.Stopped != nil {
			stale = append(stale, id)
			continue
		}
		defs = append(defs, e.newest.Table)
	}
	return defs, stale
}

// why says why a table cannot be copied now.
func (r *registry) why(id cdc.TableID) *cdc.TableError {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[id]
	switch {
	case e == nil:
		return altered(&cdc.Table{ID: id}, "it was dropped before it was copied")
	case e.newest.Stopped != nil:
		return e.newest.Stopped
	}
	return altered(e.newest.Table, "it was altered before it was copied")
}

// replicated returns the tables that are there and may be replicated: the definitions that the consumer knows, or
// the newest for those it does not know yet.
func (r *registry) replicated() map[cdc.TableID]*cdc.Table {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[cdc.TableID]*cdc.Table{}
	for id, e := range r.entries {
		switch {
		case e.gone || e.newest.Stopped != nil:
		case e.given != nil && e.given.Stopped == nil:
			out[id] = e.given.Table
		default:
			out[id] = e.newest.Table
		}
	}
	return out
}

func sameDiscovery(a, b cdc.Discovered) bool {
	if (a.Stopped == nil) != (b.Stopped == nil) || a.Stopped != nil && *a.Stopped != *b.Stopped {
		return false
	}
	return a.Table.Version == b.Table.Version && a.Table.SameRows(b.Table)
}
