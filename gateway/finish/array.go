package finish

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"github.com/freshet-io/freshet/connectors/arraytext"
)

// The types of elements that are not sent as their text.
const (
	oidBool      = 16
	oidInt8      = 20
	oidInt2      = 21
	oidInt4      = 23
	oidFloat8    = 701
	oidDate      = 1082
	oidTimestamp = 1114
	oidNumeric   = 1700
	oidUUID      = 2950

	oidTimestamps = 1115
	oidDates      = 1182
)

// elementOf is the type of the elements of an array that the replica has, or that is made of dates or timestamps there.
func elementOf(array uint32) (oid uint32, ok bool) {
	switch array {
	case oidDates:
		return oidDate, true
	case oidTimestamps:
		return oidTimestamp, true
	}
	return arraytext.Element(array)
}

// addArray adds a column of arrays in binary format, made of their texts.
func (d *Decoder) addArray(element uint32) {
	d.addParsed(func(dst, text []byte) ([]byte, error) { return binaryArray(dst, text, element) })
}

// addParsed adds a column that is made of texts, which may turn out to be none of those that are expected.
func (d *Decoder) addParsed(write func(dst, text []byte) ([]byte, error)) {
	values := new(proto.ColStr)
	col := proto.NewColNullable[string](values)
	d.target(col)
	d.columns = append(d.columns, func(dst []byte, i int) ([]byte, bool, error) {
		if col.Nulls[i] != 0 {
			return dst, false, nil
		}
		out, err := write(dst, values.RowBytes(i))
		return out, true, err
	})
}

// addFloats adds a column of arrays of float8.
func (d *Decoder) addFloats(binary bool) {
	d.addParsed(func(dst, text []byte) ([]byte, error) {
		var a arraytext.Array
		for part := range strings.SplitSeq(string(text), ",") {
			if part == arraytext.Nullary {
				a.Elements = append(a.Elements, nil)
				continue
			}
			v, err := strconv.ParseFloat(part, 64)
			if err != nil {
				return dst, fmt.Errorf("element of an array: %w", err)
			}
			a.Elements = append(a.Elements, pick(binary, binaryFloat64, textFloat64)(nil, v))
		}
		a.Dims = []arraytext.Dim{{Length: len(a.Elements), Lower: 1}}
		if binary {
			return a.AppendBinary(dst, oidFloat8), nil
		}
		return a.AppendText(dst), nil
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
	case oidDate:
		day, err := time.Parse(time.DateOnly, string(text))
		return binaryDate(dst, int32(day.UnixMicro()/microsPerDay)), err
	case oidTimestamp:
		at, err := time.Parse(time.DateTime, string(text)) // it reads fractions as well
		return binaryTimestamp(dst, at.UnixMicro()), err
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
