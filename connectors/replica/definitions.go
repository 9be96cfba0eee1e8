package replica

import "github.com/freshet-io/freshet/connectors/cdc"

// Definitions returns a number that changes whenever the set of ready tables or the
// definition of one does. It is cheap: callers ask at every statement.
func (r *Replica) Definitions() uint64 { return r.definitions.Load() }

// noteDefinitions counts a change of definitions between two snapshots; nil: none. It needs mu.
func (r *Replica) noteDefinitions(before, after *Snapshot) {
	if !sameDefinitions(before, after) {
		r.definitions.Add(1)
	}
}

func sameDefinitions(a, b *Snapshot) bool {
	if a == nil || b == nil {
		return a == b
	}
	if len(a.tables) != len(b.tables) {
		return false
	}
	for id, v := range a.tables {
		if w, ok := b.tables[id]; !ok || w.def != v.def {
			return false
		}
	}
	return true
}

// RowsEstimate returns the number of rows of a ready table in the current snapshot, 0 for another.
func (r *Replica) RowsEstimate(id cdc.TableID) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		return 0
	}
	return r.current.RowsEstimate(id)
}
