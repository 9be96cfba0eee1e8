package column

import (
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/freshet-io/freshet/connectors/arraytext"
	"github.com/freshet-io/freshet/connectors/cdc"
)

// arrayText stores an array, whose elements are of a type, as PostgreSQL prints it.
func arrayText(element uint32) func(b []byte, d cdc.Datum) ([]byte, error) {
	write := elementWriter(element)
	return func(b []byte, d cdc.Datum) ([]byte, error) {
		if d.Kind != cdc.Binary {
			return append(b, d.Data...), nil
		}
		a, err := arraytext.FromBinary(d.Data)
		if err != nil {
			return nil, malformed("array", d)
		}
		texts := make([]byte, 0, len(d.Data)) // of all elements: not nil, which is NULL
		for i, e := range a.Elements {
			if e == nil {
				continue
			}
			start := len(texts)
			if texts, err = write(texts, cdc.Datum{Kind: cdc.Binary, Data: e}); err != nil {
				return nil, fmt.Errorf("element of an array: %w", err)
			}
			a.Elements[i] = texts[start:len(texts):len(texts)]
		}
		return a.AppendText(b), nil
	}
}

// elementWriter writes values in binary format as PostgreSQL prints them.
func elementWriter(oid uint32) func(b []byte, d cdc.Datum) ([]byte, error) {
	switch oid {
	case oidBool:
		return func(b []byte, d cdc.Datum) ([]byte, error) {
			v, err := decodeBool(d)
			if v {
				return append(b, 't'), err
			}
			return append(b, 'f'), err
		}
	case oidInt2:
		return integerText(decodeInt16)
	case oidInt4:
		return integerText(decodeInt32)
	case oidInt8:
		return integerText(decodeInt64)
	case oidNumeric:
		return numericText
	case oidUUID:
		return uuidText
	case oidJSONB:
		return jsonbText
	}
	return verbatim
}

func integerText[T int16 | int32 | int64](decode func(cdc.Datum) (T, error)) func([]byte, cdc.Datum) ([]byte, error) {
	return func(b []byte, d cdc.Datum) ([]byte, error) {
		v, err := decode(d)
		return strconv.AppendInt(b, int64(v), 10), err
	}
}

func uuidText(b []byte, d cdc.Datum) ([]byte, error) {
	v, err := decodeUUID(d)
	return append(b, uuid.UUID(v).String()...), err
}
