package column

import (
	"fmt"
	"slices"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// The columns that every stored row has beside those of its table.
const (
	RowID = "_rid"
	Epoch = "_epoch"
	// Since is the epoch in which a row of a delta got the values that it has in its table's steady columns.
	Since = "_since"
)

// Rows buffers rows of one table together with their row ids.
type Rows struct {
	Columns []*Column
	// RID holds the row ids. It is filled by Append alone.
	RID proto.ColUInt32
	// Since is for who sends the rows to a delta: one number for each of them.
	Since proto.ColUInt32
	epoch proto.ColUInt32
	input proto.Input
}

// NewRows returns an empty buffer for a table.
func NewRows(t *cdc.Table) (*Rows, error) {
	if err := requireOwnNames(t); err != nil {
		return nil, err
	}
	r := &Rows{}
	for _, c := range t.Columns {
		col, err := New(c)
		if err != nil {
			return nil, err
		}
		r.Columns = append(r.Columns, col)
	}
	return r, nil
}

// Len returns the number of rows.
func (r *Rows) Len() int { return len(r.RID) }

// Bytes estimates the memory that the rows take.
func (r *Rows) Bytes() int {
	n := 8 * len(r.RID)
	for _, c := range r.Columns {
		n += c.Bytes()
	}
	return n
}

// Append adds a row. After an error the buffer is as before.
func (r *Rows) Append(rid uint32, row cdc.Row) error {
	if len(row) != len(r.Columns) {
		return fmt.Errorf("row has %d columns, want %d", len(row), len(r.Columns))
	}
	n := r.Len()
	for i, c := range r.Columns {
		if err := c.Append(row[i]); err != nil {
			r.Truncate(n)
			return err
		}
	}
	r.RID = append(r.RID, rid)
	return nil
}

// Set replaces the i-th row, except for the values that the source left
// unchanged. After an error the row is void.
func (r *Rows) Set(i int, row cdc.Row) error {
	if len(row) != len(r.Columns) {
		return fmt.Errorf("row has %d columns, want %d", len(row), len(r.Columns))
	}
	for j, c := range r.Columns {
		if err := c.Set(i, row[j]); err != nil {
			return err
		}
	}
	return nil
}

// Cut takes the first n rows out and returns them, without Since.
func (r *Rows) Cut(n int) *Rows {
	first := &Rows{RID: slices.Clone(r.RID[:n])}
	for _, c := range r.Columns {
		first.Columns = append(first.Columns, c.cut(n))
	}
	r.RID = r.RID[n:]
	return first
}

// Truncate keeps the first n rows.
func (r *Rows) Truncate(n int) {
	for _, c := range r.Columns {
		c.Truncate(n)
	}
	r.RID = r.RID[:min(n, len(r.RID))]
}

// keepBytes is how much a buffer may have held to be used again.
const keepBytes = 4 << 20

// Reset forgets the rows. It keeps the memory for the next ones, but not that of a burst.
func (r *Rows) Reset() {
	burst := r.Bytes() > keepBytes
	for _, c := range r.Columns {
		if burst {
			c.values, c.nulls = newValues(c.def), nil
		} else {
			c.Reset()
		}
	}
	r.RID, r.Since = r.RID[:0], r.Since[:0]
	if burst {
		r.RID, r.Since, r.epoch, r.input = nil, nil, nil, nil
	}
}

// AppendKey appends an encoding of the i-th row's key columns to b. Two rows
// have the same encoding if and only if they have the same key.
func (r *Rows) AppendKey(b []byte, key []int, i int) []byte {
	for _, k := range key {
		b = r.Columns[k].AppendKey(b, i)
	}
	return b
}

// Input returns the rows for an insert with their row ids and, for a delta,
// the epoch that bears them and Since; epoch 0 leaves these columns out. It is valid until the next call.
func (r *Rows) Input(epoch uint32) proto.Input {
	r.input = r.input[:0]
	for _, c := range r.Columns {
		r.input = append(r.input, proto.InputColumn{Name: c.Name(), Data: c})
	}
	r.input = append(r.input, proto.InputColumn{Name: RowID, Data: &r.RID})
	if epoch != 0 {
		r.epoch = r.epoch[:0]
		for range r.RID {
			r.epoch = append(r.epoch, epoch)
		}
		r.input = append(r.input, proto.InputColumn{Name: Epoch, Data: &r.epoch}, proto.InputColumn{Name: Since, Data: &r.Since})
	}
	return r.input
}
