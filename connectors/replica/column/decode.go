package column

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"

	"github.com/google/uuid"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/document"
)

func malformed(kind string, d cdc.Datum) error {
	const shown = 64
	return fmt.Errorf("malformed %s %.*q from the source", kind, shown, d.Data)
}

func decodeBool(d cdc.Datum) (bool, error) {
	if len(d.Data) != 1 {
		return false, malformed("bool", d)
	}
	switch d.Data[0] {
	case 't', 1:
		return true, nil
	case 'f', 0:
		return false, nil
	}
	return false, malformed("bool", d)
}

func decodeInt16(d cdc.Datum) (int16, error) {
	if d.Kind == cdc.Binary {
		if len(d.Data) != 2 {
			return 0, malformed("int2", d)
		}
		return int16(binary.BigEndian.Uint16(d.Data)), nil
	}
	v, err := strconv.ParseInt(string(d.Data), 10, 16)
	if err != nil {
		return 0, malformed("int2", d)
	}
	return int16(v), nil
}

func decodeInt32(d cdc.Datum) (int32, error) {
	if d.Kind == cdc.Binary {
		if len(d.Data) != 4 {
			return 0, malformed("int4", d)
		}
		return int32(binary.BigEndian.Uint32(d.Data)), nil
	}
	v, err := strconv.ParseInt(string(d.Data), 10, 32)
	if err != nil {
		return 0, malformed("int4", d)
	}
	return int32(v), nil
}

func decodeInt64(d cdc.Datum) (int64, error) {
	if d.Kind == cdc.Binary {
		if len(d.Data) != 8 {
			return 0, malformed("int8", d)
		}
		return int64(binary.BigEndian.Uint64(d.Data)), nil
	}
	v, err := strconv.ParseInt(string(d.Data), 10, 64)
	if err != nil {
		return 0, malformed("int8", d)
	}
	return v, nil
}

func decodeFloat32(d cdc.Datum) (float32, error) {
	if d.Kind == cdc.Binary {
		if len(d.Data) != 4 {
			return 0, malformed("float4", d)
		}
		return math.Float32frombits(binary.BigEndian.Uint32(d.Data)), nil
	}
	v, err := strconv.ParseFloat(string(d.Data), 32)
	if err != nil {
		return 0, malformed("float4", d)
	}
	return float32(v), nil
}

func decodeFloat64(d cdc.Datum) (float64, error) {
	if d.Kind == cdc.Binary {
		if len(d.Data) != 8 {
			return 0, malformed("float8", d)
		}
		return math.Float64frombits(binary.BigEndian.Uint64(d.Data)), nil
	}
	v, err := strconv.ParseFloat(string(d.Data), 64)
	if err != nil {
		return 0, malformed("float8", d)
	}
	return v, nil
}

func decodeUUID(d cdc.Datum) (v [16]byte, err error) {
	if d.Kind == cdc.Binary {
		if len(d.Data) != len(v) {
			return v, malformed("uuid", d)
		}
		return [16]byte(d.Data), nil
	}
	const length = 36 // of the form that PostgreSQL writes; the library reads others, too
	id, err := uuid.ParseBytes(d.Data)
	if err != nil || len(d.Data) != length {
		return v, malformed("uuid", d)
	}
	return id, nil
}

func verbatim(b []byte, d cdc.Datum) ([]byte, error) { return append(b, d.Data...), nil }

func stripBlanks(b []byte, d cdc.Datum) ([]byte, error) {
	return append(b, bytes.TrimRight(d.Data, " ")...), nil
}

// decodeJSONB stores a jsonb in the form that statements look into.
func decodeJSONB(b []byte, d cdc.Datum) ([]byte, error) {
	written, err := textOfJSONB(d)
	if err != nil {
		return nil, err
	}
	stored, err := document.Append(b, written)
	if err != nil {
		return nil, malformed("jsonb", d)
	}
	return stored, nil
}

// jsonbText stores a jsonb as the source writes it.
func jsonbText(b []byte, d cdc.Datum) ([]byte, error) {
	written, err := textOfJSONB(d)
	return append(b, written...), err
}

// textOfJSONB is jsonb's text, which its binary format carries behind a version.
func textOfJSONB(d cdc.Datum) ([]byte, error) {
	if d.Kind != cdc.Binary {
		return d.Data, nil
	}
	if len(d.Data) == 0 || d.Data[0] != 1 {
		return nil, malformed("jsonb", d)
	}
	return d.Data[1:], nil
}

// decodeBytea reads the text format "hex"; the source sets bytea_output to it.
func decodeBytea(b []byte, d cdc.Datum) ([]byte, error) {
	if d.Kind == cdc.Binary {
		return append(b, d.Data...), nil
	}
	digits, ok := bytes.CutPrefix(d.Data, []byte(`\x`))
	if !ok {
		return nil, malformed("bytea", d)
	}
	b, err := hex.AppendDecode(b, digits)
	if err != nil {
		return nil, malformed("bytea", d)
	}
	return b, nil
}
