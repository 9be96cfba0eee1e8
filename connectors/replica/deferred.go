package replica

import (
	"encoding/binary"
	"slices"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// deferred keeps the changes of a table that cannot be applied yet, because its
// base is not complete or is ahead of the stream. Changes of the transaction
// that is still open have no position yet.
type deferred struct {
	data []byte
	defs []*cdc.Table // in the order of their first change
	txs  []deferredTx
	open int // where the open transaction begins
}

type deferredTx struct {
	position cdc.Position
	end      int
}

// add keeps a copy of a change.
func (d *deferred) add(c *cdc.Change) {
	if n := len(d.defs); n == 0 || d.defs[n-1] != c.Table {
		d.defs = append(d.defs, c.Table)
	}
	d.data = append(d.data, byte(c.Op))
	d.data = binary.AppendUvarint(d.data, uint64(len(d.defs)-1))
	d.data = appendRow(d.data, c.Old)
	d.data = appendRow(d.data, c.New)
}

func appendRow(b []byte, row cdc.Row) []byte {
	b = binary.AppendUvarint(b, uint64(len(row)))
	for _, d := range row {
		b = append(b, byte(d.Kind))
		if d.Kind == cdc.Text || d.Kind == cdc.Binary {
			b = binary.AppendUvarint(b, uint64(len(d.Data)))
			b = append(b, d.Data...)
		}
	}
	return b
}

// commit gives the open transaction its position.
func (d *deferred) commit(p cdc.Position) {
	if d.open == len(d.data) {
		return
	}
	d.txs = append(d.txs, deferredTx{position: p, end: len(d.data)})
	d.open = len(d.data)
}

// bytes returns the size of what is kept.
func (d *deferred) bytes() int { return len(d.data) }

// reset forgets everything.
func (d *deferred) reset() { *d = deferred{} }

// forget drops what the committed transactions have changed and, if open is set, what the open one has changed so far.
func (d *deferred) forget(open bool) {
	rest := d.data[d.open:]
	if open || len(rest) == 0 {
		d.reset()
		return
	}
	if d.open > 0 {
		d.data, d.txs, d.open = slices.Clone(rest), nil, 0
	}
}

// replay hands the changes of transactions after from to apply, in order; the open transaction counts as one after from. If apply never fails,
// replay drops everything.
func (d *deferred) replay(from cdc.Position, apply func(*cdc.Change) error) error {
	start := 0
	for i := range len(d.txs) + 1 {
		data := d.data[start:]
		if i < len(d.txs) {
			data, start = d.data[start:d.txs[i].end], d.txs[i].end
			if !from.Before(d.txs[i].position) {
				continue
			}
		}
		for len(data) > 0 {
			var c cdc.Change
			c.Op = cdc.Op(data[0])
			def, n := binary.Uvarint(data[1:])
			data = data[1+n:]
			c.Table = d.defs[def]
			c.Old, data = readRow(data)
			c.New, data = readRow(data)
			if err := apply(&c); err != nil {
				return err
			}
		}
	}
	d.reset()
	return nil
}

func readRow(b []byte) (cdc.Row, []byte) {
	count, n := binary.Uvarint(b)
	b = b[n:]
	if count == 0 {
		return nil, b
	}
	row := make(cdc.Row, count)
	for i := range row {
		row[i].Kind = cdc.DatumKind(b[0])
		b = b[1:]
		if row[i].Kind == cdc.Text || row[i].Kind == cdc.Binary {
			size, n := binary.Uvarint(b)
			row[i].Data = b[n : n+int(size)]
			b = b[n+int(size):]
		}
	}
	return row, b
}
