package replica

import (
	"sync"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// waiters are those who wait for a snapshot, by the position that it must have. The zero value has none. It is safe for
// concurrent use.
type waiters struct {
	mu        sync.Mutex
	positions map[cdc.Position]int
}

// add notes somebody until the returned function is called.
func (w *waiters) add(p cdc.Position) (gone func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.positions == nil {
		w.positions = map[cdc.Position]int{}
	}
	w.positions[p]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.positions[p]--; w.positions[p] == 0 {
			delete(w.positions, p)
		}
	}
}

// any reports whether a snapshot at a position would serve somebody.
func (w *waiters) any(at cdc.Position) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.positions {
		if !at.Before(p) {
			return true
		}
	}
	return false
}
