package column

import (
	"errors"
	"fmt"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// ErrUnrepresentable says that the engine's type cannot hold a value exactly.
var ErrUnrepresentable = errors.New("value has no exact representation in the columnar store")

// ErrNull says that a NULL came for a column that promised not to have any.
var ErrNull = errors.New("null in a column that is declared not null")

// errMissing says that the source sent nothing for a column that it had to send.
var errMissing = errors.New("the source sent no value")

// Column is a growing buffer of one column's values. It can be sent to the
// engine and can receive a result from it. It is not safe for concurrent use.
type Column struct {
	def    cdc.Column
	kind   proto.ColumnType
	nulls  proto.ColUInt8
	values values
}

// values holds a column's values without their NULLs: a NULL has an arbitrary value there.
type values interface {
	proto.Column
	append(d cdc.Datum) error
	appendZero()
	appendFrom(src values, i int)
	set(i int, d cdc.Datum) error
	setFrom(i int, src values, j int)
	truncate(n int)
	drop(n int)
	bytes() int
	appendKey(b []byte, i int) []byte
}

var (
	_ proto.ColInput  = (*Column)(nil)
	_ proto.ColResult = (*Column)(nil)
)

// New returns an empty buffer for a column. The error is for a type that a
// replica cannot hold.
func New(c cdc.Column) (*Column, error) {
	t, ok := Type(c)
	if !ok {
		return nil, fmt.Errorf("column %q has type OID %d, which the columnar store cannot hold", c.Name, c.Type)
	}
	return &Column{def: c, kind: proto.ColumnType(t), values: newValues(c)}, nil
}

// Name returns the column's name.
func (c *Column) Name() string { return c.def.Name }

// Type returns the engine's type of the column.
func (c *Column) Type() proto.ColumnType { return c.kind }

// Rows returns the number of values.
func (c *Column) Rows() int { return c.values.Rows() }

// Bytes estimates the memory that the values take.
func (c *Column) Bytes() int { return c.values.bytes() + len(c.nulls) }

// Append adds a value. After an error the column is as before.
// A datum that is Unchanged adds a placeholder, to be replaced by [Column.SetFrom].
func (c *Column) Append(d cdc.Datum) error {
	switch d.Kind {
	case cdc.Absent:
		return fmt.Errorf("column %q: %w", c.def.Name, errMissing)
	case cdc.Unchanged:
		c.appendNull(0)
		return nil
	case cdc.Null:
		if c.def.NotNull {
			return fmt.Errorf("column %q: %w", c.def.Name, ErrNull)
		}
		c.appendNull(1)
		return nil
	}
	if err := c.values.append(d); err != nil {
		return fmt.Errorf("column %q: %w", c.def.Name, err)
	}
	if !c.def.NotNull {
		c.nulls = append(c.nulls, 0)
	}
	return nil
}

func (c *Column) appendNull(mark uint8) {
	c.values.appendZero()
	if !c.def.NotNull {
		c.nulls = append(c.nulls, mark)
	}
}

// Set replaces the i-th value. A datum that is Unchanged leaves it as it is.
func (c *Column) Set(i int, d cdc.Datum) error {
	switch d.Kind {
	case cdc.Absent:
		return fmt.Errorf("column %q: %w", c.def.Name, errMissing)
	case cdc.Unchanged:
		return nil
	case cdc.Null:
		if c.def.NotNull {
			return fmt.Errorf("column %q: %w", c.def.Name, ErrNull)
		}
		c.nulls[i] = 1
		return nil
	}
	if err := c.values.set(i, d); err != nil {
		return fmt.Errorf("column %q: %w", c.def.Name, err)
	}
	if !c.def.NotNull {
		c.nulls[i] = 0
	}
	return nil
}

// SetFrom replaces the i-th value by the j-th of a column of the same definition.
func (c *Column) SetFrom(i int, src *Column, j int) {
	c.values.setFrom(i, src.values, j)
	if !c.def.NotNull {
		c.nulls[i] = src.nulls[j]
	}
}

// AppendKey appends an encoding of the i-th value to b. Two values of a column
// have the same encoding if and only if they are stored alike, and no
// encoding is a prefix of another.
func (c *Column) AppendKey(b []byte, i int) []byte {
	if !c.def.NotNull {
		b = append(b, c.nulls[i])
		if c.nulls[i] != 0 {
			return b
		}
	}
	return c.values.appendKey(b, i)
}

// Truncate keeps the first n values.
func (c *Column) Truncate(n int) {
	if c.values.Rows() <= n {
		return
	}
	c.values.truncate(n)
	if !c.def.NotNull {
		c.nulls = c.nulls[:n]
	}
}

// cut takes the first n values out and returns them.
func (c *Column) cut(n int) *Column {
	first := &Column{def: c.def, kind: c.kind, values: newValues(c.def)}
	for i := range n {
		first.values.appendFrom(c.values, i)
		if !c.def.NotNull {
			first.nulls = append(first.nulls, c.nulls[i])
		}
	}
	c.values.drop(n)
	if !c.def.NotNull {
		c.nulls = c.nulls[n:]
	}
	return first
}

// Reset forgets the values and keeps the memory.
func (c *Column) Reset() {
	c.values.Reset()
	c.nulls = c.nulls[:0]
}

// EncodeColumn writes the values to b as the engine's native format has them.
func (c *Column) EncodeColumn(b *proto.Buffer) {
	if !c.def.NotNull {
		c.nulls.EncodeColumn(b)
	}
	c.values.EncodeColumn(b)
}

// WriteColumn writes the values to w as the engine's native format has them.
func (c *Column) WriteColumn(w *proto.Writer) {
	if !c.def.NotNull {
		c.nulls.WriteColumn(w)
	}
	c.values.WriteColumn(w)
}

// DecodeColumn adds rows values that the engine sends.
func (c *Column) DecodeColumn(r *proto.Reader, rows int) error {
	if !c.def.NotNull {
		if err := c.nulls.DecodeColumn(r, rows); err != nil {
			return fmt.Errorf("read nulls of column %q: %w", c.def.Name, err)
		}
	}
	if err := c.values.DecodeColumn(r, rows); err != nil {
		return fmt.Errorf("read column %q: %w", c.def.Name, err)
	}
	return nil
}
