package postgres

import "github.com/freshet-io/freshet/connectors/cdc"

// batch collects changes until they are handed over. All memory that changes refer to
// (rows, values) comes from its two slabs, which are used again after each hand-over.
type batch struct {
	changes []cdc.Change
	datums  []cdc.Datum // len: in use
	arena   []byte      // len: in use
	limit   int         // changes per hand-over
}

const (
	arenaBytes = 256 << 10
	slabDatums = 16 << 10
)

func newBatch(limit int) *batch {
	return &batch{
		changes: make([]cdc.Change, 0, limit), limit: limit,
		datums: make([]cdc.Datum, 0, slabDatums), arena: make([]byte, 0, arenaBytes),
	}
}

// fits reports whether a message of some bytes and datums can be added without a hand-over.
func (b *batch) fits(bytes, datums int) bool {
	return len(b.changes) < b.limit && len(b.arena)+bytes <= cap(b.arena) && len(b.datums)+datums <= cap(b.datums)
}

// keep copies a message into the slab.
func (b *batch) keep(message []byte) []byte {
	if len(b.arena)+len(message) > cap(b.arena) { // only when empty: one message larger than the slab
		b.arena = make([]byte, 0, len(message))
	}
	start := len(b.arena)
	b.arena = append(b.arena, message...)
	return b.arena[start:]
}

// row returns n datums of the slab.
func (b *batch) row(n int) cdc.Row {
	if len(b.datums)+n > cap(b.datums) { // only when empty: PostgreSQL's widest tables stay below the slab
		b.datums = make([]cdc.Datum, 0, 2*n)
	}
	start := len(b.datums)
	b.datums = b.datums[:start+n]
	return cdc.Row(b.datums[start : start+n : start+n])
}

func (b *batch) reset() {
	b.changes, b.datums, b.arena = b.changes[:0], b.datums[:0], b.arena[:0]
	if cap(b.arena) > arenaBytes {
		b.arena = make([]byte, 0, arenaBytes)
	}
}
