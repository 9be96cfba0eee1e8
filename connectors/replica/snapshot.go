package replica

import (
	"fmt"
	"strings"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/column"
	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// Snapshot is the state of all ready tables after an epoch. It stays as it is
// until the last holder releases it. If the engine loses what it needs, its
// relations fail; they never yield other rows. It is safe for concurrent use.
type Snapshot struct {
	ledger   *ledger
	serial   uint64
	refs     int // guarded by ledger.mu
	position cdc.Position
	time     time.Time
	epoch    uint32
	mask     *object // of the rows that are dead
	tables   map[cdc.TableID]*version
}

// version is a table in one or more successive snapshots. It never changes.
type version struct {
	def *cdc.Table
	arms
	steady *steady // nil: there are no columns of which less would do
	rows   int64
	// scanLoss is what a scan loses to the state of the base, blockLoss to the deltas' blocks.
	scanLoss, blockLoss time.Duration
	// wear and deltaWear add these up.
	wear, deltaWear *wear
	refs            int // snapshots that hold it; guarded by ledger.mu
}

// arms is what to read for a table's rows at an epoch.
type arms struct {
	base   *object   // nil: none
	deltas []*object // at least one if there is no base
	// deadBase and deadDeltas say that rows in there may have died since the base was built.
	deadBase, deadDeltas bool
	// since leaves out the rows of deltas whose lines did not begin later.
	since uint32
}

// guardDisk has the mask asked for the rows of deltas that are on disk. After a restart of the engine some of these may be gone; so is the mask
// then, and the query fails.
func (a *arms) guardDisk() { a.deadDeltas = a.deadDeltas || anyOnDisk(a.deltas) }

// Position returns the source position that the snapshot stands for: it holds
// every transaction up to it and none after.
func (s *Snapshot) Position() cdc.Position { return s.position }

// Time returns a time, by the source's clock, at which the snapshot was up to
// date. Now minus Time is its staleness.
func (s *Snapshot) Time() time.Time { return s.time }

// Epoch returns the epoch. Two snapshots of one epoch hold the same rows.
func (s *Snapshot) Epoch() uint64 { return uint64(s.epoch) }

// Table returns the definition of a table as it is in the snapshot. It
// reports false for a table that is not ready.
func (s *Snapshot) Table(id cdc.TableID) (*cdc.Table, bool) {
	v, ok := s.tables[id]
	if !ok {
		return nil, false
	}
	return v.def, true
}

// RowsEstimate returns the number of rows of a table, 0 if it is not ready.
func (s *Snapshot) RowsEstimate(id cdc.TableID) int64 {
	if v, ok := s.tables[id]; ok {
		return v.rows
	}
	return 0
}

// Relation returns what to put after FROM to read the given columns of a
// table: a table's name or a subquery in parentheses, without an alias. Without
// columns it has a column of no meaning, for counting. It reports false if the
// table is not ready or the snapshot was lost with the engine.
func (s *Snapshot) Relation(id cdc.TableID, columns []string) (string, bool) {
	v, ok := s.tables[id]
	if !ok || s.ledger.isLost() {
		return "", false
	}
	v.wear.scanned(v.scanLoss)
	a := v.arms
	if v.steady.suffices(columns) {
		a = v.steady.arms
	}
	if len(a.deltas) > 0 {
		v.deltaWear.scanned(v.blockLoss)
	}
	if a.base != nil && !a.deadBase && len(a.deltas) == 0 {
		return s.ledger.qualified(a.base), true
	}
	return s.ledger.relation(a, s.epoch, s.mask, columns), true
}

// relation is the SELECT of a table's rows at an epoch, in parentheses.
func (l *ledger) relation(a arms, epoch uint32, mask *object, columns []string) string {
	list := engine.Quote(column.RowID)
	if len(columns) > 0 {
		list = quoteAll(columns)
	}
	var sql strings.Builder
	sql.WriteByte('(')
	if a.base != nil {
		fmt.Fprintf(&sql, "SELECT %s FROM %s", list, l.qualified(a.base))
		if a.deadBase {
			sql.WriteString(" WHERE " + l.alive(mask))
		}
	}
	for i, d := range a.deltas {
		if i > 0 || a.base != nil {
			sql.WriteString(" UNION ALL ")
		}
		fmt.Fprintf(&sql, "SELECT %s FROM %s WHERE %s <= %d", list, l.qualified(d), column.Epoch, epoch)
		if a.since > 0 {
			fmt.Fprintf(&sql, " AND %s > %d", column.Since, a.since)
		}
		if a.deadDeltas {
			sql.WriteString(" AND " + l.alive(mask))
		}
	}
	sql.WriteByte(')')
	return sql.String()
}

// Retain adds a holder.
func (s *Snapshot) Retain() {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	s.refs++
}

// Release ends a holder's use. The snapshot must not be used by it afterwards.
func (s *Snapshot) Release() { s.ledger.release(s) }

// sameTables reports whether two snapshots have the same tables with the same definitions.
func sameTables(a, b *Snapshot) bool {
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
