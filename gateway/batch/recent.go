package batch

import (
	"sync"

	"github.com/freshet-io/freshet/connectors/cdc"
)

const (
	// recentExecutions bounds how many executions of a snapshot stay known for sharing.
	recentExecutions = 64
	// recentBytes bounds what their results hold of memory: while nothing changes they are forgotten for newer ones only.
	recentBytes = 32 << 20
)

// recent knows the executions of the newest snapshot, so that an identical query need not run again on it.
type recent struct {
	mu       sync.Mutex
	position cdc.Position
	byKey    map[string]*Execution
}

// lookup returns the execution of the same query on the same snapshot, if it is still known.
func (r *recent) lookup(key string, s Snapshot) *Execution {
	if key == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.position != s.Position() {
		return nil
	}
	return r.byKey[key]
}

// keep remembers e; executions of an older snapshot are forgotten.
func (r *recent) keep(key string, s Snapshot, e *Execution) {
	if key == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch c := s.Position().Compare(r.position); {
	case c < 0:
		return
	case c > 0 || len(r.byKey) >= recentExecutions || r.held() > recentBytes || r.byKey == nil:
		r.position, r.byKey = s.Position(), map[string]*Execution{}
	}
	r.byKey[key] = e
}

// held is what the results hold of memory, in bytes.
func (r *recent) held() (bytes int) {
	for _, e := range r.byKey {
		bytes += e.spool.held()
	}
	return bytes
}
