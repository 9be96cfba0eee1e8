package finish

import (
	"fmt"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/freshet-io/freshet/gateway/datarow"
	"github.com/freshet-io/freshet/gateway/timezone"
)

// Decoder holds the buffers of one running result and writes its rows. It is for one goroutine.
type Decoder struct {
	columns []reader
	results proto.Results
}

// reader appends the value of row i; false for NULL.
type reader func(dst []byte, i int) ([]byte, bool, error)

// NewDecoder makes a decoder for a plan's output. formats are the protocol's result format codes: none
// (all text), one for all, or one per column. The error wraps [ErrStyle] if a setting is not handled.
func NewDecoder(columns []Column, formats []int16, style Style) (*Decoder, error) {
	d := &Decoder{}
	for i, c := range columns {
		binary, err := isBinary(formats, i, len(columns))
		if err != nil {
			return nil, err
		}
		if err := style.check(c, binary); err != nil {
			return nil, err
		}
		if err := d.add(c, binary, style); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func isBinary(formats []int16, i, n int) (bool, error) {
	var f int16
	switch len(formats) {
	case 0:
	case 1:
		f = formats[0]
	case n:
		f = formats[i]
	default:
		return false, fmt.Errorf("decode result: %d format codes for %d columns", len(formats), n)
	}
	if f != 0 && f != 1 {
		return false, fmt.Errorf("decode result: format code %d is neither text nor binary", f)
	}
	return f == 1, nil
}

// Results returns the columns that the engine's client is to decode blocks into. Each block replaces the last one.
func (d *Decoder) Results() proto.Results { return d.results }

// sample is how many rows of a block are written before the room for the others is made.
const sample = 64

// Encode returns the n rows of the current block, in the clients' formats. An error means that the engine sent what the plan rules out.
func (d *Decoder) Encode(n int) (datarow.Rows, error) {
	var w datarow.Writer
	for i := range n {
		if i == sample {
			w.Expect(n - sample)
		}
		w.Begin(len(d.columns))
		for c, read := range d.columns {
			b, ok, err := read(w.Value(), i)
			if err != nil {
				return datarow.Rows{}, fmt.Errorf("decode column %d of row %d: %w", c+1, i, err)
			}
			w.End(b, ok)
		}
		w.EndRow()
	}
	return w.Rows(), nil
}

func (d *Decoder) add(c Column, binary bool, style Style) error {
	switch c.Kind {
	case Bool:
		addScalar(d, new(proto.ColBool), pick(binary, binaryBool, textBool))
	case Int16:
		addScalar(d, new(proto.ColInt16), pick(binary, binaryInt16, textInt[int16]))
	case Int32:
		addScalar(d, new(proto.ColInt32), pick(binary, binaryInt32, textInt[int32]))
	case Int64:
		addScalar(d, new(proto.ColInt64), pick(binary, binaryInt64, textInt[int64]))
	case OID:
		addScalar(d, new(proto.ColInt64), pick(binary, binaryOID, textInt[int64]))
	case Float32:
		addScalar(d, new(proto.ColFloat32), pick(binary, binaryFloat32, textFloat32))
	case Float64:
		addScalar(d, new(proto.ColFloat64), pick(binary, binaryFloat64, textFloat64))
	case Date:
		addScalar(d, new(proto.ColInt32), pick(binary, binaryDate, textDate))
	case Timestamp:
		addScalar(d, new(proto.ColInt64), pick(binary, binaryTimestamp, textTimestamp))
	case TimestampTZ:
		if !binary && !IsUTC(style.TimeZone) {
			d.addZoned(style.Zone)
			break
		}
		addScalar(d, new(proto.ColInt64), pick(binary, binaryTimestamp, textTimestampTZ))
	case Time:
		addScalar(d, new(proto.ColInt64), pick(binary, binaryInt64, textTime))
	case Interval:
		write := style.intervalWriter(binary)
		addScalar(d, new(proto.ColInt64), func(dst []byte, micros int64) []byte { return write(dst, durationOf(micros)) })
	case IntervalSum:
		d.addIntervalSum(style.intervalWriter(binary))
	case String:
		d.addBytes(new(proto.ColStr), stringWriter(c.Type, binary))
	case Array:
		element, ok := elementOf(c.Type)
		switch {
		case !ok:
			return fmt.Errorf("decode column %q: type %d is not an array", c.Name, c.Type)
		case binary:
			d.addArray(element)
		default:
			d.addBytes(new(proto.ColStr), raw)
		}
	case Floats:
		d.addFloats(binary)
	case OpaqueNumeric:
		d.addBytes(new(proto.ColStr), pick(binary, binaryNumericText, raw))
	case Char:
		d.addBytes(new(proto.ColStr), padded(c.Pad))
	case Bytea:
		d.addBytes(new(proto.ColStr), pick(binary, raw, textBytea))
	case UUID:
		d.addUUID(pick(binary, raw, textUUID))
	case Numeric:
		if c.Quotient != nil {
			d.addQuotient(*c.Quotient, binary)
			break
		}
		d.addNumeric(c, binary)
	default:
		return fmt.Errorf("decode column %q: unknown kind %d", c.Name, c.Kind)
	}
	return nil
}

func pick[T any](binary bool, b, t T) T {
	if binary {
		return b
	}
	return t
}

func (d *Decoder) target(data proto.ColResult) {
	d.results = append(d.results, proto.ResultColumn{Data: data})
}

func addScalar[T any](d *Decoder, values proto.ColumnOf[T], write func([]byte, T) []byte) {
	col := proto.NewColNullable(values)
	d.target(col)
	d.columns = append(d.columns, func(dst []byte, i int) ([]byte, bool, error) {
		v := col.Row(i)
		if !v.Set {
			return dst, false, nil
		}
		return write(dst, v.Value), true, nil
	})
}

// addZoned adds a column of timestamptz as the clocks in a zone show them.
func (d *Decoder) addZoned(z *timezone.Zone) {
	col := proto.NewColNullable(new(proto.ColInt64))
	d.target(col)
	d.columns = append(d.columns, func(dst []byte, i int) ([]byte, bool, error) {
		v := col.Row(i)
		if !v.Set {
			return dst, false, nil
		}
		out, err := textZoned(dst, v.Value, z)
		return out, true, err
	})
}

func (d *Decoder) addBytes(values *proto.ColStr, write func(dst, v []byte) []byte) {
	col := proto.NewColNullable[string](values)
	d.target(col)
	d.columns = append(d.columns, func(dst []byte, i int) ([]byte, bool, error) {
		if col.Nulls[i] != 0 {
			return dst, false, nil
		}
		return write(dst, values.RowBytes(i)), true, nil
	})
}

func (d *Decoder) addUUID(write func(dst, v []byte) []byte) {
	values := new(proto.ColFixedStr16)
	col := proto.NewColNullable[[16]byte](values)
	d.target(col)
	d.columns = append(d.columns, func(dst []byte, i int) ([]byte, bool, error) {
		if col.Nulls[i] != 0 {
			return dst, false, nil
		}
		v := values.Row(i)
		return write(dst, v[:]), true, nil
	})
}
