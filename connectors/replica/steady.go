package replica

import (
	"hash/maphash"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/column"
)

// steady is what to read of a table where steady columns suffice (package lineage): all rows of the base, without a look at the
// mask, and what was inserted since.
type steady struct {
	columns map[string]struct{}
	arms
}

// suffices reports whether all of the given columns are steady.
func (s *steady) suffices(columns []string) bool {
	if s == nil {
		return false
	}
	for _, c := range columns {
		if _, ok := s.columns[c]; !ok {
			return false
		}
	}
	return true
}

// steady returns what suffices for steady columns at the newest epoch, or nil.
func (st *stored) steady(def *cdc.Table) *steady {
	if st.base == nil || !st.lineage.Whole(st.at) {
		return nil
	}
	s := &steady{columns: map[string]struct{}{}, arms: arms{base: st.base, deadDeltas: st.lineage.Buried(st.at), since: st.at}}
	for _, k := range st.lineage.Columns() {
		s.columns[def.Columns[k].Name] = struct{}{}
	}
	for _, d := range st.deltas {
		if d.youngest > st.at {
			s.deltas = append(s.deltas, d.object)
		}
	}
	s.guardDisk()
	return s
}

// trace follows the lines of a table's rows through an epoch. It returns when the youngest of those began that the epoch bore.
func (p *publisher) trace(b *tableBatch, epoch uint32) (youngest uint32) {
	st := &b.table.stored
	if len(b.deleted) > 0 {
		st.deletedAt = epoch
	}
	rows := b.rows
	if st.lineage.Columns() == nil {
		for range rows.RID {
			rows.Since = append(rows.Since, epoch)
		}
		return epoch
	}
	for i, rid := range rows.RID {
		previous, digest := b.previous[i], p.digest(st.lineage.Seed(), rows, st.lineage.Columns(), i)
		since := st.lineage.Born(epoch, rid, previous, p.digests.Same(previous, digest))
		p.digests.Set(rid, digest)
		rows.Since = append(rows.Since, since)
		youngest = max(youngest, since)
	}
	for _, rid := range b.deleted {
		st.lineage.Died(epoch, rid)
	}
	return youngest
}

// digester computes the digests of rows.
type digester struct{ encoded []byte } // scratch

// digest returns the digest of some columns of a row.
func (d *digester) digest(seed maphash.Seed, rows *column.Rows, columns []int, i int) uint64 {
	d.encoded = rows.AppendKey(d.encoded[:0], columns, i)
	return maphash.Bytes(seed, d.encoded)
}
