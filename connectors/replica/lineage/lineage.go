package lineage

import (
	"hash/maphash"
	"slices"

	"github.com/freshet-io/freshet/connectors/replica/rowindex"
)

// Lineage follows the lines of one table's rows from epoch to epoch. The zero
// value follows none. It is not safe for concurrent use.
type Lineage struct {
	columns []int
	seed    maphash.Seed
	// since has the epochs in which the lines of live rows began, but for those that are older than the base: they began in epoch 0.
	since map[uint32]uint32
	ends  []end
	// buried is the latest beginning of a line of which a version died.
	buried uint32
}

// end says that in an epoch lines ended, the oldest of which began in since.
type end struct{ epoch, since uint32 }

// Columns returns the numbers of the steady columns in ascending order; nil: lines are not followed.
func (l *Lineage) Columns() []int { return l.columns }

// Seed returns the seed for the digests of rows. Each Follow has another one: a row id may still have the digest of a row that had it before,
// in another table even, or one of other columns.
func (l *Lineage) Seed() maphash.Seed { return l.seed }

// Follow begins to follow the lines of rows that are the same in the given
// columns. Of changes up to an epoch, the newest, nothing is known: bases
// from before are not whole. Without columns it ends.
func (l *Lineage) Follow(columns []int, epoch uint32) {
	l.columns, l.seed, l.since = columns, maphash.MakeSeed(), map[uint32]uint32{}
	l.ended(epoch, 0)
}

// Born notes a row that an epoch bore and returns when its line began. previous is
// the version that it replaces, or [rowindex.None]; same says that they have the same digest.
func (l *Lineage) Born(epoch, rid, previous uint32, same bool) (since uint32) {
	since = epoch
	if previous != rowindex.None {
		began := l.bury(previous)
		if same {
			since = began
		} else {
			l.ended(epoch, began)
		}
	}
	if since != 0 {
		l.since[rid] = since
	}
	return since
}

// Died notes a row that died in an epoch without a successor.
func (l *Lineage) Died(epoch, rid uint32) { l.ended(epoch, l.bury(rid)) }

// Cleared notes that all rows died in an epoch, and before others were born in it.
func (l *Lineage) Cleared(epoch uint32) {
	clear(l.since)
	l.ended(epoch, 0)
}

// bury forgets a row and returns when its line began.
func (l *Lineage) bury(rid uint32) uint32 {
	since := l.since[rid]
	delete(l.since, rid)
	l.buried = max(l.buried, since)
	return since
}

func (l *Lineage) ended(epoch, since uint32) {
	if n := len(l.ends); n > 0 && l.ends[n-1].epoch == epoch {
		l.ends[n-1].since = min(l.ends[n-1].since, since)
		return
	}
	l.ends = append(l.ends, end{epoch, since})
}

// Rebased forgets what does not matter any more once the base has all rows up to an epoch.
func (l *Lineage) Rebased(epoch uint32) {
	l.ends = slices.DeleteFunc(l.ends, func(e end) bool { return e.epoch <= epoch })
	for rid, since := range l.since {
		if since <= epoch {
			delete(l.since, rid)
		}
	}
}

// Whole reports whether no line has ended that is in the base with the rows up to an epoch.
func (l *Lineage) Whole(base uint32) bool {
	return l.columns != nil &&
		!slices.ContainsFunc(l.ends, func(e end) bool { return e.epoch > base && e.since <= base })
}

// Buried reports whether a version died of a line that began after an epoch: such lines may have several versions in deltas.
func (l *Lineage) Buried(base uint32) bool { return l.buried > base }
