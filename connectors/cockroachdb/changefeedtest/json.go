package changefeedtest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Encoder encodes rows as CockroachDB does, from values in PostgreSQL's binary format. It has the types that tests need.
type Encoder struct{ types *pgtype.Map }

// NewEncoder returns an encoder.
func NewEncoder() *Encoder { return &Encoder{types: pgtype.NewMap()} }

// Row encodes a row as a JSON object. Columns that are omitted have some value.
func (e *Encoder) Row(t *cdc.Table, row cdc.Row) ([]byte, error) {
	b := []byte{'{'}
	for i, c := range t.Columns {
		if i > 0 {
			b = append(b, ", "...)
		}
		name, err := json.Marshal(c.Name)
		if err != nil {
			return nil, err
		}
		value, err := e.value(c, row[i])
		if err != nil {
			return nil, fmt.Errorf("encode column %q: %w", c.Name, err)
		}
		b = append(append(append(b, name...), ": "...), value...)
	}
	for _, c := range t.Omitted {
		name, err := json.Marshal(c.Name)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, ", "...), name...), `: ["a value", null, 1.5]`...)
	}
	return append(b, '}'), nil
}

// Key encodes a row's primary key as a JSON array.
func (e *Encoder) Key(t *cdc.Table, row cdc.Row) ([]byte, error) {
	b := []byte{'['}
	for i, k := range t.Key {
		if i > 0 {
			b = append(b, ", "...)
		}
		value, err := e.value(t.Columns[k], row[k])
		if err != nil {
			return nil, fmt.Errorf("encode key column %q: %w", t.Columns[k].Name, err)
		}
		b = append(b, value...)
	}
	return append(b, ']'), nil
}

func (e *Encoder) value(c cdc.Column, d cdc.Datum) ([]byte, error) {
	if d.Kind == cdc.Null {
		return []byte("null"), nil
	}
	if d.Kind != cdc.Binary {
		return nil, fmt.Errorf("value of kind %d", d.Kind)
	}
	if c.Type == pgtype.NumericOID {
		var n pgtype.Numeric
		if err := e.types.Scan(c.Type, pgtype.BinaryFormatCode, d.Data, &n); err != nil {
			return nil, err
		}
		if n.NaN || n.InfinityModifier != pgtype.Finite {
			text, err := n.Value()
			return fmt.Appendf(nil, "%q", text), err
		}
		return n.MarshalJSON()
	}
	typ, known := e.types.TypeForOID(c.Type)
	if !known {
		return nil, fmt.Errorf("type %d is unknown", c.Type)
	}
	v, err := typ.Codec.DecodeValue(e.types, c.Type, pgtype.BinaryFormatCode, d.Data)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case time.Time:
		return json.Marshal(formatTime(c.Type, v))
	case pgtype.InfinityModifier:
		return json.Marshal(v.String())
	case [16]byte:
		return fmt.Appendf(nil, `"%x-%x-%x-%x-%x"`, v[:4], v[4:6], v[6:8], v[8:10], v[10:]), nil
	case []byte:
		return fmt.Appendf(nil, `"\\x%x"`, v), nil
	case nil: // empty bytes
		return []byte(`"\\x"`), nil
	}
	return json.Marshal(v)
}

func formatTime(typ uint32, t time.Time) string {
	switch typ {
	case pgtype.DateOID:
		return t.Format("2006-01-02")
	case pgtype.TimestampOID:
		return t.Format("2006-01-02T15:04:05.999999999")
	}
	return t.UTC().Format(time.RFC3339Nano)
}
