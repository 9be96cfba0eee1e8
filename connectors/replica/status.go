package replica

import (
	"cmp"
	"slices"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// TableStatus says how far a table is.
type TableStatus struct {
	Table *cdc.Table
	Phase Phase
	// Stopped says why the table is stopped; nil otherwise.
	Stopped *cdc.TableError
	// Rows is the number of rows in the current snapshot, 0 unless the table is ready.
	Rows int64
}

// Status is the replica's state as a whole.
type Status struct {
	// Available says whether there is a snapshot; Reason says why not.
	Available bool
	Reason    string
	Position  cdc.Position
	Time      time.Time
	Epoch     uint64
	// Generation counts the bases that compaction has installed since the start.
	Generation      uint64
	SourceConnected bool
	EngineConnected bool
	// The last errors; empty if all is well again.
	SourceError, EngineError, CompactionError string
}

// Table returns the definition of a ready table in the current snapshot.
func (r *Replica) Table(schema, name string) (*cdc.Table, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		return nil, false
	}
	for _, v := range r.current.tables {
		if v.def.Name == name && v.def.Schema == schema {
			return v.def, true
		}
	}
	return nil, false
}

// Tables returns all tables that the replica knows, by name.
func (r *Replica) Tables() []TableStatus {
	r.mu.Lock()
	s, current := r.session, r.current
	var all []TableStatus
	ready := map[cdc.TableID]bool{}
	if current != nil {
		for id, v := range current.tables {
			ready[id] = true
			all = append(all, TableStatus{Table: v.def, Phase: PhaseReady, Rows: v.rows})
		}
	}
	r.mu.Unlock()
	if s != nil {
		s.mu.Lock()
		for id, t := range s.tables {
			if !ready[id] {
				all = append(all, TableStatus{Table: t.def, Phase: PhaseCopying})
			}
		}
		for id, t := range s.stopped {
			if !ready[id] {
				all = append(all, TableStatus{Table: t.def, Phase: PhaseStopped, Stopped: t.why})
			}
		}
		s.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b TableStatus) int {
		return cmp.Or(cmp.Compare(a.Table.Schema, b.Table.Schema), cmp.Compare(a.Table.Name, b.Table.Name))
	})
	return all
}

// Status returns the replica's state.
func (r *Replica) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	st := Status{
		Reason: r.reason, Generation: r.metrics.generations.Load(),
		SourceConnected: r.sourceOK, EngineConnected: r.engineUp,
		SourceError: r.lastErr.source, EngineError: r.lastErr.engine, CompactionError: r.lastErr.compaction,
	}
	if r.current != nil {
		st.Available, st.Reason = true, ""
		st.Position, st.Time, st.Epoch = r.current.position, r.current.time, uint64(r.current.epoch)
	}
	return st
}
