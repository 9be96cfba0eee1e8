package cockroachdb

import (
	"fmt"

	"github.com/go-faster/jx"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// decoder turns rows into changes. The memory that changes refer to is used again after each hand-over.
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
	// guess is the column that came after each column in the last row, -1 first; the order rarely changes.
	guess []int
}

func newDecoder() *decoder {
	return &decoder{plans: map[*cdc.Table]*plan{}, datums: make([]cdc.Datum, 0, slabDatums), arena: make([]byte, 0, arenaBytes)}
}

func (dec *decoder) plan(t *cdc.Table) *plan {
	p := dec.plans[t]
	if p == nil {
		p = &plan{table: t, column: make(map[string]int, len(t.Columns)), isKey: make([]bool, len(t.Columns)), guess: make([]int, len(t.Columns)+1)}
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

// add decodes a row's change and keeps it. An error means that it does not fit the definition; nothing is kept then.
func (dec *decoder) add(t *cdc.Table, r *row) error {
	c := cdc.Change{Table: t}
	var err error
	switch r.flags & (flagBefore | flagAfter) {
	case flagBefore | flagAfter:
		c.Op = cdc.Update
		c.New, err = dec.object(t, r.data, false)
	case flagAfter:
		c.Op = cdc.Insert
		c.New, err = dec.object(t, r.data, false)
	case flagBefore:
		c.Op = cdc.Delete
		c.Old, err = dec.object(t, r.data, true)
	default:
		return nil // made and deleted in one transaction
	}
	if err != nil {
		return fmt.Errorf("table %s: %w", tableName(t), err)
	}
	dec.changes = append(dec.changes, c)
	return nil
}

// object decodes a row. With keyOnly, other columns stay Absent and the key must have values; without, every
// column must be there and no other.
func (dec *decoder) object(t *cdc.Table, raw []byte, keyOnly bool) (cdc.Row, error) {
	p := dec.plan(t)
	row := dec.row(len(t.Columns))
	last, have := -1, 0
	dec.d.ResetBytes(raw)
	err := dec.d.ObjBytes(func(d *jx.Decoder, name []byte) error {
		i := p.guess[last+1]
		if t.Columns[i].Name != string(name) {
			var known bool
			if i, known = p.column[string(name)]; !known {
				if keyOnly {
					return d.Skip()
				}
				return fmt.Errorf("%w: column %q is unknown", errMisfit, name)
			}
			p.guess[last+1] = i
		}
		last = i
		if keyOnly && !p.isKey[i] {
			return d.Skip()
		}
		have++
		var err error
		dec.arena, row[i], err = dec.values.value(d, &t.Columns[i], dec.arena)
		if err != nil {
			return fmt.Errorf("column %q: %w", name, err)
		}
		if row[i].Kind == cdc.Null && t.Columns[i].NotNull {
			return fmt.Errorf("column %q: %w: it has no value", name, errMisfit)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if want := len(t.Columns); !keyOnly && have != want || keyOnly && have != len(t.Key) {
		return nil, fmt.Errorf("%w: it has %d of the table's columns", errMisfit, have)
	}
	return row, nil
}

func tableName(t *cdc.Table) string { return t.Schema + "." + t.Name }
