package replica

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
