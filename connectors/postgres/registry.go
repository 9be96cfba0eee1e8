package postgres

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// registry holds the newest known definition of every selected table, and what is
// still to be announced to the stream's handler.
//
// Invariant: a definition is queued for announcement only when the publication streams the table
// (or the table is stopped), so that a copy taken after the announcement misses nothing. By which of the publication's rows it does is part of
// the definition's version: where changes went by unseen, the definition is another one.
type registry struct {
	mu      sync.Mutex
	entries map[cdc.TableID]*entry
	queue   []cdc.TableID
	// generation grows with every change, so that a stream may cache what it looked up.
	generation atomic.Uint64
}

// entry is a table in the registry.
type entry struct {
	def *definition
	// covered is a position before which no transaction's changes are needed: the last copy by def has them, or the one still to come.
	covered uint64
	// given is the definition that the consumer was last told of; nil for none.
	given *definition
	// queued says that the table waits for its announcement.
	queued bool
	// gap says that the table is to be copied anew although its definition is the one that was told.
	gap  bool
	gone bool
}

func newRegistry() *registry { return &registry{entries: map[cdc.TableID]*entry{}} }

// put records a definition and reports whether it is news. A known definition keeps its
// *cdc.Table, so that pointers stay comparable.
func (r *registry) put(d *definition) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[d.table.ID]
	if e == nil {
		e = &entry{}
		r.entries[d.table.ID] = e
	} else if sameDefinition(e.def, d) && !e.gone {
		return false
	}
	e.def, e.covered, e.gone = d, d.seen, false
	if !e.announceable() { // it was queued for what it was before, and is again once it is published
		r.dequeue(d.table.ID, e)
	}
	r.generation.Add(1)
	return true
}

// get returns the newest definition of a table and the one that the consumer was told of, both nil if unknown.
func (r *registry) get(id cdc.TableID) (d, given *definition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[id]; e != nil && !e.gone {
		return e.def, e.given
	}
	return nil, nil
}

// known returns the tables that are there.
func (r *registry) known() []cdc.TableID {
	return r.ids(func(*entry) bool { return true })
}

// covers reports whether the changes of a transaction that commits at a position are in a copy by the newest definition, one still to come included.
func (r *registry) covers(id cdc.TableID, commitLSN uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[id]
	return e != nil && commitLSN < e.covered
}

// replicable returns the tables that are there and may be replicated.
func (r *registry) replicable() []cdc.TableID {
	return r.ids(func(e *entry) bool { return e.def.stopped == nil })
}

func (r *registry) ids(which func(*entry) bool) []cdc.TableID {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []cdc.TableID
	for id, e := range r.entries {
		if !e.gone && which(e) {
			ids = append(ids, id)
		}
	}
	return ids
}

// announceNews queues every table whose definition differs from what the consumer was told.
func (r *registry) announceNews() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, e := range r.entries {
		if !e.gone && e.given != e.def && e.announceable() {
			r.enqueue(id, e)
		}
	}
}

// announceable reports whether a consumer that is told the definition may copy the table by it, or learns that it cannot be replicated.
func (e *entry) announceable() bool { return e.def.published || e.def.stopped != nil }

func (r *registry) enqueue(id cdc.TableID, e *entry) {
	if !e.queued {
		e.queued = true
		r.queue = append(r.queue, id)
		r.generation.Add(1)
	}
}

// setGap queues a table because its last copy came to nothing, or misses changes.
func (r *registry) setGap(id cdc.TableID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[id]
	if e == nil || e.gone {
		return
	}
	e.gap = true
	if e.announceable() { // otherwise once it is published
		r.enqueue(id, e)
	}
}

// stop records that a table cannot be replicated after all.
func (r *registry) stop(id cdc.TableID, why *cdc.TableError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[id]
	if e == nil || e.def.stopped != nil && *e.def.stopped == *why {
		return
	}
	d := *e.def
	d.stopped = why
	e.def = &d
	r.enqueue(id, e)
	r.generation.Add(1)
}

// drop records that a table is gone or no longer selected.
func (r *registry) drop(id cdc.TableID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[id]
	if e == nil || e.gone {
		return
	}
	e.gone = true
	r.enqueue(id, e)
}

// next takes the next announcement. dropped is set, and d has no table, for one that is gone.
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
				return d, id, true
			}
			continue
		}
		e.given, e.gap = e.def, false
		r.generation.Add(1)
		return e.def.discovered(), 0, true
	}
	return d, 0, false
}

// pending reports whether announcements wait.
func (r *registry) pending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) > 0
}

// giveAll returns everything that is there and counts it as told. Tables whose history has a gap stay queued: a
// consumer that holds an older copy must take it anew, one that has none copies it anyway.
func (r *registry) giveAll() []*definition {
	r.mu.Lock()
	defer r.mu.Unlock()
	var defs []*definition
	for id, e := range r.entries {
		if e.gone {
			continue
		}
		// What changed since it was told may look the same (a partition came): it stays announced as well.
		e.gap = e.gap || e.given != nil && e.given != e.def
		e.given = e.def
		if !e.gap {
			r.dequeue(id, e)
		}
		defs = append(defs, e.def)
	}
	r.generation.Add(1)
	return defs
}

// copying returns the definition to copy a table by, provided that it is still the one given to the
// consumer, and takes the table off the queue because the copy fills any gap.
func (r *registry) copying(id cdc.TableID) *definition {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[id]
	if e == nil || e.gone || e.def.stopped != nil || e.given != e.def || !e.def.published {
		return nil
	}
	e.gap = false
	r.dequeue(id, e)
	return e.def
}

// copied records that a copy by definition d, which was the newest when the copy began, is being taken on a snapshot at a position.
func (r *registry) copied(d *definition, at uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[d.table.ID]; e != nil && e.def == d {
		e.covered = max(e.covered, at)
	}
}

func (r *registry) dequeue(id cdc.TableID, e *entry) {
	if e.queued {
		e.queued = false
		r.queue = slices.DeleteFunc(r.queue, func(q cdc.TableID) bool { return q == id })
	}
}
