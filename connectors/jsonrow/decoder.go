package jsonrow

import (
	"errors"
	"fmt"

	"github.com/go-faster/jx"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// ErrMisfit says that a row does not fit the definition that it was decoded by.
var ErrMisfit = errors.New("the value does not fit the column's type")

// Values decodes one value of a source.
type Values interface {
	// Append appends the binary form of the value at d to b. It returns what the value is: what it appended is kept for
	// [cdc.Binary] only.
	Append(d *jx.Decoder, col *cdc.Column, b []byte) ([]byte, cdc.DatumKind, error)
}

// Decoder turns rows into changes, which it collects until they are handed over. It may be used by one goroutine.
type Decoder struct {
	// Changes are those kept since the last Reset. Their memory is used again after it.
	Changes []cdc.Change

	values Values
	d      jx.Decoder
	plans  map[*cdc.Table]*plan
	datums []cdc.Datum
	arena  []byte
}

const (
	arenaBytes = 256 << 10
	slabDatums = 16 << 10
)

// plan is what decoding needs to know of a table.
type plan struct {
	// column finds a column by its name: omitted stands for those that the table omits.
	column map[string]int
	isKey  []bool
	// next is the column that came after each column in the last row, -1 first; the order rarely changes.
	next []int
}

const omitted = -1

// NewDecoder returns a decoder of rows whose values are decoded by values.
func NewDecoder(values Values) *Decoder {
	return &Decoder{values: values, plans: map[*cdc.Table]*plan{}, datums: make([]cdc.Datum, 0, slabDatums), arena: make([]byte, 0, arenaBytes)}
}

// Forget releases what is known of definitions, which are no longer used.
func (dec *Decoder) Forget() { clear(dec.plans) }

// Full reports whether the changes are to be handed over before more are kept: they are limit, or take much memory.
func (dec *Decoder) Full(limit int) bool {
	return len(dec.Changes) >= limit || len(dec.arena) >= arenaBytes/2
}

// Reset forgets the changes and uses their memory again.
func (dec *Decoder) Reset() {
	dec.Changes, dec.datums, dec.arena = dec.Changes[:0], dec.datums[:0], dec.arena[:0]
	if cap(dec.arena) > 16*arenaBytes { // after a huge row
		dec.arena = make([]byte, 0, arenaBytes)
	}
}

// Void keeps a change that says that rows of a table are left out, because they do not fit its definition: a Truncate with a
// *cdc.Table that nobody was told of and that has no columns. One for several rows in a row is enough.
func (dec *Decoder) Void(t *cdc.Table) {
	if n := len(dec.Changes); n > 0 && dec.Changes[n-1].Table.ID == t.ID && dec.Changes[n-1].Op == cdc.Truncate && dec.Changes[n-1].Table.Columns == nil {
		return
	}
	void := &cdc.Table{ID: t.ID, Schema: t.Schema, Name: t.Name}
	dec.Changes = append(dec.Changes, cdc.Change{Table: void, Op: cdc.Truncate})
}

// part says what is expected of a row.
type part uint8

const (
	wholeRow part = iota // every column, with a value where the definition promises one
	anyRow               // every column
	keyOnly              // the key's columns, with values
)

// Row decodes a row that has every column and no other but those that the table omits.
func (dec *Decoder) Row(t *cdc.Table, object []byte) (cdc.Row, error) {
	return dec.decode(t, object, wholeRow)
}

// Image decodes a row as it was before, in which NULL may also stand for what the source does not know.
func (dec *Decoder) Image(t *cdc.Table, object []byte) (cdc.Row, error) {
	return dec.decode(t, object, anyRow)
}

// Key decodes the key of a row. Columns that are not of the key are passed over and stay Absent.
func (dec *Decoder) Key(t *cdc.Table, object []byte) (cdc.Row, error) {
	return dec.decode(t, object, keyOnly)
}

func (dec *Decoder) decode(t *cdc.Table, object []byte, want part) (cdc.Row, error) {
	if object == nil {
		return nil, fmt.Errorf("%w: the row is missing", ErrMisfit)
	}
	p := dec.plan(t)
	row := dec.row(len(t.Columns))
	last, have := -1, 0
	dec.d.ResetBytes(object)
	err := dec.d.ObjBytes(func(d *jx.Decoder, name []byte) error {
		i := p.next[last+1]
		if i == len(t.Columns) || t.Columns[i].Name != string(name) {
			var known bool
			if i, known = p.column[string(name)]; !known {
				if want == keyOnly {
					return d.Skip()
				}
				return fmt.Errorf("%w: column %q is unknown", ErrMisfit, name)
			}
			if i == omitted {
				return d.Skip()
			}
			p.next[last+1] = i
		}
		last = i
		if want == keyOnly && !p.isKey[i] {
			return d.Skip()
		}
		have++
		if err := dec.value(d, &t.Columns[i], &row[i], want); err != nil {
			return fmt.Errorf("column %q: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if columns := len(t.Columns); want != keyOnly && have != columns || want == keyOnly && have != len(t.Key) {
		return nil, fmt.Errorf("%w: it has %d of the table's columns", ErrMisfit, have)
	}
	return row, nil
}

// value decodes one column's value.
func (dec *Decoder) value(d *jx.Decoder, col *cdc.Column, into *cdc.Datum, want part) error {
	start := len(dec.arena)
	b, kind, err := dec.values.Append(d, col, dec.arena)
	switch {
	case err != nil:
		return err
	case kind == cdc.Binary:
		dec.arena = b
		*into = cdc.Datum{Kind: kind, Data: b[start:len(b):len(b)]}
		return nil
	case want == keyOnly, want == wholeRow && kind == cdc.Null && col.NotNull:
		return fmt.Errorf("%w: it has no value", ErrMisfit)
	}
	into.Kind = kind
	return nil
}

func (dec *Decoder) plan(t *cdc.Table) *plan {
	p := dec.plans[t]
	if p != nil {
		return p
	}
	n := len(t.Columns)
	p = &plan{column: make(map[string]int, n), isKey: make([]bool, n), next: make([]int, n+1)}
	for i, c := range t.Columns {
		p.column[c.Name], p.next[i] = i, i
	}
	p.next[n] = n
	for _, c := range t.Omitted {
		p.column[c.Name] = omitted
	}
	for _, k := range t.Key {
		p.isKey[k] = true
	}
	dec.plans[t] = p
	return p
}

func (dec *Decoder) row(n int) cdc.Row {
	if len(dec.datums)+n > cap(dec.datums) { // rows at hand keep the old slab
		dec.datums = make([]cdc.Datum, 0, max(slabDatums, n))
	}
	start := len(dec.datums)
	dec.datums = dec.datums[:start+n]
	row := cdc.Row(dec.datums[start : start+n : start+n])
	clear(row)
	return row
}
