package finish

import (
	"fmt"
	"strconv"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"github.com/freshet-io/freshet/connectors/arraytext"
)

// The types of elements that are not sent as their text.
const (
	oidBool    = 16
	oidInt8    = 20
	oidInt2    = 21
	oidInt4    = 23
	oidNumeric = 1700
	oidUUID    = 2950
)

// addArray adds a column of arrays in binary format, made of their texts.
func (d *Decoder) addArray(element uint32) {
	values := new(proto.ColStr)
	col := proto.NewColNullable[string](values)
	d.target(col)
	d.columns = append(d.columns, func(dst []byte, i int) ([]byte, bool, error) {
		if col.Nulls[i] != 0 {
			return dst, false, nil
		}
		out, err := binaryArray(dst, values.RowBytes(i), element)
		return out, true, err
	})
}

func binaryArray(dst, text []byte, element uint32) ([]byte, error) {
	a, err := arraytext.Read(text)
	if err != nil {
		return dst, err
	}
	values := make([]byte, 0, 2*len(text)) // of all elements: not nil, which is NULL
	for i, e := range a.Elements {
		if e == nil {
			continue
		}
		start := len(values)
		if values, err = binaryElement(values, e, element); err != nil {
			return dst, fmt.Errorf("element of an array: %w", err)
		}
		a.Elements[i] = values[start:len(values):len(values)]
	}
	return a.AppendBinary(dst, element), nil
}

// binaryElement appends the binary format of an element's text.
func binaryElement(dst, text []byte, oid uint32) ([]byte, error) {
	switch oid {
	case oidBool:
		return binaryBool(dst, string(text) == "t"), nil
	case oidInt2, oidInt4, oidInt8:
		v, err := strconv.ParseInt(string(text), 10, 64)
		switch oid {
		case oidInt2:
			return binaryInt16(dst, int16(v)), err
		case oidInt4:
			return binaryInt32(dst, int32(v)), err
		}
		return binaryInt64(dst, v), err
	case oidNumeric:
		return binaryNumericText(dst, text), nil
	case oidUUID:
		id, err := uuid.ParseBytes(text)
		return append(dst, id[:]...), err
	case oidJSONB:
		return append(append(dst, 1), text...), nil
	}
	return raw(dst, text), nil
}
