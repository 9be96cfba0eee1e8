package replica

import (
	"slices"
	"sync"

	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// object is a table in the engine, or a mask. It is dropped when nobody holds it: no
// live snapshot, no state of the publisher, no epoch record.
type object struct {
	name     string
	volatile bool // it is in the database of what is in memory, and gone with the engine
	mask     bool
	refs     int // guarded by ledger.mu
}

// ledger counts who still sees what, for one session with the engine.
type ledger struct {
	database string
	volatile string // database of what is in memory

	mu     sync.Mutex
	serial uint64
	live   []*Snapshot // by serial
	unseen []*object   // to be dropped
	idle   []*object   // masks that nobody holds
	freed  []freed     // by serial
	lost   bool
	wake   func() // the compactor drops objects
}

// mostIdle is how many masks that nobody holds are kept, to be loaded anew. Where there is none, making one takes an epoch a millisecond
// longer.
const mostIdle = 4

// freed is a set of row ids that no snapshot from serial on can see.
type freed struct {
	serial uint64
	rids   []uint32
}

func (l *ledger) qualified(o *object) string {
	database := l.database
	if o.volatile {
		database = l.volatile
	}
	return engine.Quote(database) + "." + engine.Quote(o.name)
}

func (l *ledger) isLost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// lose makes all snapshots refuse: the engine lost their rows.
func (l *ledger) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = true
}

// open makes a snapshot with one holder.
func (l *ledger) open(s *Snapshot) *Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serial++
	s.ledger, s.serial, s.refs = l, l.serial, 1
	s.mask.hold()
	for _, v := range s.tables {
		if v.refs == 0 {
			v.base.hold()
			for _, d := range v.deltas {
				d.hold()
			}
		}
		v.refs++
	}
	l.live = append(l.live, s)
	return s
}

func (l *ledger) release(s *Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.refs--; s.refs > 0 {
		return
	}
	l.live = slices.DeleteFunc(l.live, func(o *Snapshot) bool { return o == s })
	l.letGo(s.mask)
	for _, v := range s.tables {
		if v.refs--; v.refs > 0 {
			continue
		}
		l.letGo(v.base)
		for _, d := range v.deltas {
			l.letGo(d)
		}
	}
}

func (o *object) hold() {
	if o != nil {
		o.refs++
	}
}

// letGo needs mu.
func (l *ledger) letGo(o *object) {
	if o == nil {
		return
	}
	if o.refs--; o.refs > 0 {
		return
	}
	if o.mask && len(l.idle) < mostIdle {
		l.idle = append(l.idle, o)
		return
	}
	l.unseen = append(l.unseen, o)
	l.wake()
}

// takeIdle returns a mask that nobody holds, with one holder; nil: there is none.
func (l *ledger) takeIdle() *object {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.idle)
	if n == 0 {
		return nil
	}
	o := l.idle[n-1]
	l.idle = l.idle[:n-1]
	o.hold()
	return o
}

// created registers a new object with one holder.
func (l *ledger) created(name string) *object { return &object{name: name, refs: 1} }

func (l *ledger) hold(objects ...*object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range objects {
		o.hold()
	}
}

func (l *ledger) drop(objects ...*object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range objects {
		l.letGo(o)
	}
}

// takeUnseen returns the objects to drop from the engine.
func (l *ledger) takeUnseen() []*object {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.unseen
	l.unseen = nil
	return o
}

// undropped takes objects back that could not be dropped.
func (l *ledger) undropped(objects []*object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unseen = append(l.unseen, objects...)
}

// free notes row ids that no snapshot opened from now on can see.
func (l *ledger) free(rids []uint32) {
	if len(rids) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.freed = append(l.freed, freed{serial: l.serial + 1, rids: rids})
}

// takeFreed returns the row ids that no snapshot sees.
func (l *ledger) takeFreed() (rids []uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, f := range l.freed {
		if len(l.live) > 0 && f.serial > l.live[0].serial {
			break
		}
		rids = append(rids, f.rids...)
		n++
	}
	l.freed = slices.Delete(l.freed, 0, n)
	return rids
}
