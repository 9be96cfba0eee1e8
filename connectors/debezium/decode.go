package debezium

import (
	"bytes"
	"fmt"

	"github.com/go-faster/jx"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// decoder turns the rows of messages into changes. The memory that changes refer to comes from its
// chunk, which is used again after each hand-over.
type decoder struct {
	d       jx.Decoder
	values  valueDecoder
	plans   map[*cdc.Table]*plan
	changes []cdc.Change
	datums  []cdc.Datum
	arena   []byte
}

const (
	arenaBytes = 256 << 10
	slabDatums = 16 << 10
)

// plan is what decoding needs to know of a table.
type plan struct {
	table  *cdc.Table
	column map[string]int
	isKey  []bool
}

func newDecoder() *decoder {
	return &decoder{plans: map[*cdc.Table]*plan{}, datums: make([]cdc.Datum, 0, slabDatums), arena: make([]byte, 0, arenaBytes)}
}

func (dec *decoder) plan(t *cdc.Table) *plan {
	p := dec.plans[t]
	if p == nil {
		p = &plan{table: t, column: make(map[string]int, len(t.Columns)), isKey: make([]bool, len(t.Columns))}
		for i, c := range t.Columns {
			p.column[c.Name] = i
		}
		for _, k := range t.Key {
			p.isKey[k] = true
		}
		dec.plans[t] = p
	}
	return p
}

// forget releases what is known of definitions that are no longer used.
func (dec *decoder) forget() { clear(dec.plans) }

// full reports whether a hand-over is due.
func (dec *decoder) full(limit int) bool {
	return len(dec.changes) >= limit || len(dec.arena) >= arenaBytes/2
}

// reset forgets the changes and uses their memory again.
func (dec *decoder) reset() {
	dec.changes, dec.datums, dec.arena = dec.changes[:0], dec.datums[:0], dec.arena[:0]
	if cap(dec.arena) > 16*arenaBytes { // after a huge row
		dec.arena = make([]byte, 0, arenaBytes)
	}
}

func (dec *decoder) row(n int) cdc.Row {
	if len(dec.datums)+n > cap(dec.datums) { // rows at hand keep the old slab
		dec.datums = make([]cdc.Datum, 0, max(slabDatums, n))
	}
	start := len(dec.datums)
	dec.datums = dec.datums[:start+n]
	row := cdc.Row(dec.datums[start : start+n : start+n])
	clear(row)
	return row
}

// add decodes a change of a table and keeps it. An error means that the change does not
// fit the definition; nothing is kept then.
func (dec *decoder) add(t *cdc.Table, ev storedRow) error {
	c, ok, err := dec.change(dec.plan(t), ev)
	if err != nil {
		return fmt.Errorf("table %s.%s: %w", t.Schema, t.Name, err)
	}
	if ok {
		dec.changes = append(dec.changes, c)
	}
	return nil
}

// change decodes one event. ok is false for the delete that Debezium writes before the create of a row whose
// key changed: the create names the old key and stands for both.
func (dec *decoder) change(p *plan, ev storedRow) (c cdc.Change, ok bool, err error) {
	c.Table = p.table
	switch ev.op {
	case opTruncate:
		c.Op = cdc.Truncate
		return c, true, nil
	case opDelete:
		if ev.keyChanges {
			return c, false, nil
		}
		c.Op = cdc.Delete
		if c.Old, err = dec.object(p, ev.before, true); err != nil {
			return c, false, err
		}
		return c, true, nil
	case opCreate, opUpdate:
	default:
		return c, false, fmt.Errorf("%w: operation %q is not one of a stream", errMisfit, ev.op)
	}
	if c.New, err = dec.object(p, ev.after, false); err != nil {
		return c, false, err
	}
	c.Op = cdc.Insert
	switch {
	case ev.oldKey != nil:
		c.Op = cdc.Update
		c.Old, err = dec.object(p, ev.oldKey, true)
	case ev.op == opUpdate:
		c.Op = cdc.Update
		if ev.before != nil {
			c.Old, err = dec.reconcile(p, ev.before, c.New)
		}
	}
	return c, err == nil, err
}

// reconcile takes values that the new row left out from the old one, which is whole under REPLICA
// IDENTITY FULL, and returns the old key if it changed.
func (dec *decoder) reconcile(p *plan, before []byte, row cdc.Row) (cdc.Row, error) {
	old, err := dec.object(p, before, false)
	if err != nil {
		return nil, err
	}
	changed := false
	for i := range row {
		if row[i].Kind == cdc.Unchanged && old[i].Kind == cdc.Binary {
			row[i] = old[i]
		}
		if !p.isKey[i] {
			old[i] = cdc.Datum{}
			continue
		}
		if old[i].Kind != cdc.Binary {
			return nil, nil // made up: the key did not change
		}
		changed = changed || !bytes.Equal(row[i].Data, old[i].Data)
	}
	if !changed {
		return nil, nil
	}
	return old, nil
}

// object decodes a row. With keyOnly, other columns stay Absent and the key must have values; without, every
// column must be there and no other.
func (dec *decoder) object(p *plan, raw []byte, keyOnly bool) (cdc.Row, error) {
	if raw == nil {
		return nil, fmt.Errorf("%w: the row is missing", errMisfit)
	}
	row := dec.row(len(p.table.Columns))
	next, have := 0, 0
	dec.d.ResetBytes(raw)
	err := dec.d.ObjBytes(func(d *jx.Decoder, name []byte) error {
		i := next
		if i >= len(p.table.Columns) || p.table.Columns[i].Name != string(name) {
			var known bool
			if i, known = p.column[string(name)]; !known {
				if keyOnly {
					return d.Skip()
				}
				return fmt.Errorf("%w: column %q is unknown", errMisfit, name)
			}
		}
		next = i + 1
		if keyOnly && !p.isKey[i] {
			return d.Skip()
		}
		have++
		var err error
		dec.arena, row[i], err = dec.values.value(d, &p.table.Columns[i], dec.arena)
		if err != nil {
			return fmt.Errorf("column %q: %w", name, err)
		}
		if keyOnly && row[i].Kind != cdc.Binary {
			return fmt.Errorf("%w: key column %q has no value", errMisfit, name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if want := len(p.table.Columns); !keyOnly && have != want || keyOnly && have != len(p.table.Key) {
		return nil, fmt.Errorf("%w: it has %d of the table's columns", errMisfit, have)
	}
	return row, nil
}
