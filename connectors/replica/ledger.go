package replica

import (
	"slices"
	"strconv"
	"sync"

	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// object is a table in the engine. It is dropped when nobody holds it: no
// version in a live snapshot, no state of the publisher, no epoch record.
type object struct {
	name string
	refs int // guarded by ledger.mu
}

// ledger counts who still sees what, for one session with the engine.
type ledger struct {
	database   string // quoted
	dictionary string // quoted as a string, with its database

	mu     sync.Mutex
	serial uint64
	live   []*Snapshot // by serial
	unseen []*object   // to be dropped
	freed  []freed     // by serial
	lost   bool
	wake   func() // the compactor drops objects
}

// freed is a set of row ids that no snapshot from serial on can see.
type freed struct {
	serial uint64
	rids   []uint32
	deaths []death // of them, as the table of deaths has them
}

type death struct{ rid, epoch uint32 }

func (l *ledger) qualified(o *object) string { return l.database + "." + engine.Quote(o.name) }

// death is the expression of the epoch in which a row died.
func (l *ledger) death() string { return "dictGetUInt32(" + l.dictionary + ", 'epoch', _rid)" }

// dead is the condition of rows that were not alive any more after an epoch.
func (l *ledger) dead(epoch uint32) string {
	return l.death() + " <= " + strconv.FormatUint(uint64(epoch), 10)
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
	if o.refs--; o.refs == 0 {
		l.unseen = append(l.unseen, o)
		l.wake()
	}
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
func (l *ledger) free(rids []uint32, deaths []death) {
	if len(rids) == 0 && len(deaths) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.freed = append(l.freed, freed{serial: l.serial + 1, rids: rids, deaths: deaths})
}

// takeFreed returns the row ids that no snapshot sees, and the deaths that have to be remembered.
func (l *ledger) takeFreed() (rids []uint32, deaths []death, remembered []death) {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest := l.serial + 1
	if len(l.live) > 0 {
		oldest = l.live[0].serial
	}
	n := 0
	for n < len(l.freed) && l.freed[n].serial <= oldest {
		rids = append(rids, l.freed[n].rids...)
		deaths = append(deaths, l.freed[n].deaths...)
		n++
	}
	l.freed = slices.Delete(l.freed, 0, n)
	for _, f := range l.freed {
		remembered = append(remembered, f.deaths...)
	}
	return rids, deaths, remembered
}

// freeable counts what takeFreed would return.
func (l *ledger) freeable() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.freed {
		if len(l.live) > 0 && f.serial > l.live[0].serial {
			break
		}
		n += len(f.rids) + len(f.deaths)
	}
	return n
}
