package jsonrow

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/go-faster/jx"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Scalars decodes the types that JSON has one way for: booleans, integers, floats, numerics, strings, enumerations and UUIDs. Numbers
// may be strings, as those must be that JSON has no number for (NaN, Infinity). Its zero value is ready.
type Scalars struct{ scratch []byte }

// Append appends the binary form of the value at d, which is not null, to b.
func (s *Scalars) Append(d *jx.Decoder, col *cdc.Column, b []byte) ([]byte, error) {
	if col.Enum {
		return d.StrAppend(b)
	}
	switch col.Type {
	case pgtype.BoolOID:
		is, err := d.Bool()
		if is {
			return append(b, 1), err
		}
		return append(b, 0), err
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID:
		return appendInteger(d, col.Type, b)
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.NameOID:
		return d.StrAppend(b)
	case pgtype.Float4OID, pgtype.Float8OID:
		text, err := s.Number(d)
		if err != nil {
			return b, err
		}
		return appendFloat(b, text, col.Type)
	case pgtype.NumericOID:
		text, err := s.Number(d)
		if err != nil {
			return b, err
		}
		return AppendNumeric(b, text, col.Modifier)
	case pgtype.UUIDOID, pgtype.QCharOID:
		text, err := s.String(d)
		if err != nil {
			return b, err
		}
		if col.Type == pgtype.UUIDOID {
			return appendUUID(b, text)
		}
		if len(text) == 0 {
			return append(b, 0), nil
		}
		return append(b, text...), nil
	}
	return b, fmt.Errorf("%w: type %d is not decoded", ErrMisfit, col.Type)
}

// String reads a string, which is valid until the next call.
func (s *Scalars) String(d *jx.Decoder) (text []byte, err error) {
	s.scratch, err = d.StrAppend(s.scratch[:0])
	return s.scratch, err
}

// Number reads the text of a number, or a string, which is valid until the next call.
func (s *Scalars) Number(d *jx.Decoder) ([]byte, error) {
	if d.Next() == jx.String {
		return s.String(d)
	}
	n, err := d.Num()
	s.scratch = append(s.scratch[:0], n...)
	return s.scratch, err
}

func appendInteger(d *jx.Decoder, typ uint32, b []byte) ([]byte, error) {
	n, err := d.Int64()
	if err != nil {
		return b, fmt.Errorf("%w: %w", ErrMisfit, err)
	}
	switch typ {
	case pgtype.Int2OID:
		if n != int64(int16(n)) {
			return b, ErrMisfit
		}
		return binary.BigEndian.AppendUint16(b, uint16(n)), nil
	case pgtype.Int4OID:
		if n != int64(int32(n)) {
			return b, ErrMisfit
		}
		return binary.BigEndian.AppendUint32(b, uint32(n)), nil
	}
	return binary.BigEndian.AppendUint64(b, uint64(n)), nil
}

// appendFloat relies on text being the shortest decimal, which reads back as the same float.
func appendFloat(b, text []byte, typ uint32) ([]byte, error) {
	bits := 64
	if typ == pgtype.Float4OID {
		bits = 32
	}
	f, err := strconv.ParseFloat(string(text), bits)
	if err != nil {
		return b, ErrMisfit
	}
	// PostgreSQL's NaN; Go's has another payload.
	switch nan := math.IsNaN(f); {
	case nan && bits == 32:
		return binary.BigEndian.AppendUint32(b, 0x7fc00000), nil
	case nan:
		return binary.BigEndian.AppendUint64(b, 0x7ff8000000000000), nil
	case bits == 32:
		return binary.BigEndian.AppendUint32(b, math.Float32bits(float32(f))), nil
	}
	return binary.BigEndian.AppendUint64(b, math.Float64bits(f)), nil
}

func appendUUID(b, text []byte) ([]byte, error) {
	const length = 36 // of the form that PostgreSQL writes; the library reads others, too
	id, err := uuid.ParseBytes(text)
	if err != nil || len(text) != length {
		return b, ErrMisfit
	}
	return append(b, id[:]...), nil
}
