package replica

import (
	"cmp"
	"slices"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// TableStatus says how far a table is.
type TableStatus struct {
	ID           cdc.TableID
	Schema, Name string
	Phase        Phase
	// Stopped says why the table is stopped; nil otherwise.
	Stopped *cdc.TableError
	// Omitted are the columns that are not replicated.
	Omitted []cdc.OmittedColumn
	// Rows is the number of rows in the current snapshot; of a table that is being copied, how many have come; 0 if it is stopped.
	Rows int64
}

func tableStatus(def *cdc.Table, phase Phase, rows int64, why *cdc.TableError) TableStatus {
	return TableStatus{ID: def.ID, Schema: def.Schema, Name: def.Name, Phase: phase, Rows: rows, Stopped: why, Omitted: def.Omitted}
}

// Generation counts the changes of which tables are ready and how they are
// defined. What was planned for one generation is void in the next. It is cheap: the
// endpoint asks at every statement.
func (r *Replica) Generation() uint64 { return r.catalog.Load() }

// Rows returns the number of rows of a table in the current snapshot, 0 if it is not ready.
func (r *Replica) Rows(id cdc.TableID) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		return 0
	}
	return r.current.RowsEstimate(id)
}

// Status is the replica's state as a whole.
type Status struct {
	// Available says whether there is a snapshot; Reason says why not.
	Available bool
	Reason    string
	Position  cdc.Position
	Time      time.Time
	Epoch     uint64
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
			all = append(all, tableStatus(v.def, PhaseReady, v.rows, nil))
		}
	}
	r.mu.Unlock()
	if s != nil {
		s.mu.Lock()
		for id, t := range s.tables {
			if !ready[id] {
				all = append(all, tableStatus(t.def, PhaseCopying, t.arrived.Load(), nil))
			}
		}
		for id, t := range s.stopped {
			if !ready[id] {
				all = append(all, tableStatus(t.def, PhaseStopped, 0, t.why))
			}
		}
		s.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b TableStatus) int {
		return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// Status returns the replica's state.
func (r *Replica) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	st := Status{
		Reason:      r.reason,
		SourceError: cmp.Or(r.lastErr.source, r.lastErr.copying), EngineError: r.lastErr.engine, CompactionError: r.lastErr.compaction,
	}
	if r.current != nil {
		st.Available, st.Reason = true, ""
		st.Position, st.Time, st.Epoch = r.current.position, r.current.time, uint64(r.current.epoch)
	}
	return st
}
