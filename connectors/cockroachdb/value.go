package cockroachdb

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/go-faster/jx"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// The type OIDs that are told apart. CockroachDB's types carry PostgreSQL's: INT is int8, STRING text, DECIMAL numeric.
const (
	typeBool, typeBytea, typeChar, typeName     = 16, 17, 18, 19
	typeInt8, typeInt2, typeInt4, typeText      = 20, 21, 23, 25
	typeFloat4, typeFloat8                      = 700, 701
	typeBPChar, typeVarchar, typeDate, typeTime = 1042, 1043, 1082, 1083
	typeTimestamp, typeTimestampTZ, typeNumeric = 1114, 1184, 1700
	typeUUID, typeJSONB                         = 2950, 3802
)

// Supported reports whether values of a type can be decoded. Enumerations can, whatever their type.
func Supported(typ uint32) bool {
	switch typ {
	case typeBool, typeBytea, typeChar, typeName, typeInt8, typeInt2, typeInt4, typeText, typeFloat4, typeFloat8, typeBPChar, typeVarchar,
		typeDate, typeTime, typeTimestamp, typeTimestampTZ, typeNumeric, typeUUID, typeJSONB:
		return true
	}
	return false
}

var errMisfit = errors.New("the value does not fit the column's type")

// valueDecoder turns JSON values into PostgreSQL's binary send format, which is what copies carry: replicas
// need not know where a row came from.
type valueDecoder struct{ scratch, digits []byte }

// value appends the value at d to arena and returns it as a datum.
func (v *valueDecoder) value(d *jx.Decoder, col *cdc.Column, arena []byte) ([]byte, cdc.Datum, error) {
	if d.Next() == jx.Null && (col.Type != typeJSONB || !col.NotNull) {
		return arena, cdc.Datum{Kind: cdc.Null}, d.Null()
	}
	start := len(arena)
	arena, err := v.append(d, col, arena)
	if err != nil {
		return arena[:start], cdc.Datum{}, err
	}
	return arena, cdc.Datum{Kind: cdc.Binary, Data: arena[start:len(arena):len(arena)]}, nil
}

func (v *valueDecoder) append(d *jx.Decoder, col *cdc.Column, b []byte) ([]byte, error) {
	if col.Enum {
		return d.StrAppend(b)
	}
	switch col.Type {
	case typeBool:
		is, err := d.Bool()
		if is {
			return append(b, 1), err
		}
		return append(b, 0), err
	case typeInt2, typeInt4, typeInt8:
		return appendInteger(d, col.Type, b)
	case typeText, typeVarchar, typeBPChar, typeName:
		return d.StrAppend(b)
	case typeJSONB:
		return v.appendJSONB(d, b)
	case typeNumeric, typeFloat4, typeFloat8:
		if err := v.number(d); err != nil {
			return b, err
		}
		if col.Type == typeNumeric {
			return v.appendNumeric(b, v.scratch, col.Modifier)
		}
		return v.appendFloat(col.Type, b)
	}
	var err error
	if v.scratch, err = d.StrAppend(v.scratch[:0]); err != nil {
		return b, err
	}
	switch col.Type {
	case typeTimestamp:
		return appendTimestamp(b, v.scratch, false)
	case typeTimestampTZ:
		return appendTimestamp(b, v.scratch, true)
	case typeDate:
		return appendDate(b, v.scratch)
	case typeTime:
		return appendTime(b, v.scratch)
	case typeUUID:
		return appendUUID(b, v.scratch)
	case typeBytea:
		return appendBytea(b, v.scratch)
	case typeChar:
		if len(v.scratch) == 0 {
			return append(b, 0), nil
		}
		return append(b, v.scratch...), nil
	}
	return b, fmt.Errorf("%w: type %d is not decoded", errMisfit, col.Type)
}

// number reads a JSON number, or a string for what JSON has no number for (NaN, Infinity), into scratch.
func (v *valueDecoder) number(d *jx.Decoder) (err error) {
	if d.Next() == jx.String {
		v.scratch, err = d.StrAppend(v.scratch[:0])
		return err
	}
	n, err := d.Num()
	v.scratch = append(v.scratch[:0], n...)
	return err
}

func appendInteger(d *jx.Decoder, typ uint32, b []byte) ([]byte, error) {
	n, err := d.Int64()
	if err != nil {
		return b, fmt.Errorf("%w: %w", errMisfit, err)
	}
	switch typ {
	case typeInt2:
		if n != int64(int16(n)) {
			return b, errMisfit
		}
		return binary.BigEndian.AppendUint16(b, uint16(n)), nil
	case typeInt4:
		if n != int64(int32(n)) {
			return b, errMisfit
		}
		return binary.BigEndian.AppendUint32(b, uint32(n)), nil
	}
	return binary.BigEndian.AppendUint64(b, uint64(n)), nil
}

// appendFloat appends the float in scratch. The shortest decimal that CockroachDB writes reads back as the same float.
func (v *valueDecoder) appendFloat(typ uint32, b []byte) ([]byte, error) {
	bits := 64
	if typ == typeFloat4 {
		bits = 32
	}
	f, err := strconv.ParseFloat(string(v.scratch), bits)
	if err != nil {
		return b, errMisfit
	}
	if bits == 32 {
		if math.IsNaN(f) {
			return binary.BigEndian.AppendUint32(b, 0x7fc00000), nil // PostgreSQL's; Go's has another payload
		}
		return binary.BigEndian.AppendUint32(b, math.Float32bits(float32(f))), nil
	}
	if math.IsNaN(f) {
		return binary.BigEndian.AppendUint64(b, 0x7ff8000000000000), nil
	}
	return binary.BigEndian.AppendUint64(b, math.Float64bits(f)), nil
}

func appendUUID(b, text []byte) ([]byte, error) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return b, errMisfit
	}
	var id [16]byte
	at := 0
	for _, part := range [...][2]int{{0, 8}, {9, 13}, {14, 18}, {19, 23}, {24, 36}} {
		n, err := hex.Decode(id[at:], text[part[0]:part[1]])
		if err != nil {
			return b, errMisfit
		}
		at += n
	}
	return append(b, id[:]...), nil
}

// appendBytea reads bytes as "\x…".
func appendBytea(b, text []byte) ([]byte, error) {
	if len(text) < 2 || text[0] != '\\' || text[1] != 'x' {
		return b, fmt.Errorf("%w: bytes are not in hexadecimal form", errMisfit)
	}
	b, err := hex.AppendDecode(b, text[2:])
	if err != nil {
		return b, errMisfit
	}
	return b, nil
}

// appendJSONB appends a document as SQL prints it: a blank after each colon and comma, none elsewhere. Keys keep
// their order, which is the database's.
func (v *valueDecoder) appendJSONB(d *jx.Decoder, b []byte) ([]byte, error) {
	raw, err := d.Raw()
	if err != nil {
		return b, err
	}
	start := len(b)
	b = append(b, 1) // the version of the format
	inString := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case inString && c == '\\':
			b = append(b, c)
			i++
			c = raw[i]
		case c == '"':
			inString = !inString
		case inString:
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			continue
		case c == ':' || c == ',':
			b = append(b, c)
			c = ' '
		}
		b = append(b, c)
	}
	if string(b[start+1:]) == jsonNull {
		b = append(b[:start+1], "null"...)
	}
	return b, nil
}

// jsonNull stands for the JSON value null, which is not SQL's NULL, with the option encode_json_value_null_as_object.
const jsonNull = `{"__crdb_json_null__": true}`
