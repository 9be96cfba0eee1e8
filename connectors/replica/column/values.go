package column

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// scalar holds values of a fixed width. C is the engine client's column of them.
type scalar[T any, C ~[]T, P interface {
	*C
	proto.Column
}] struct {
	col    C
	decode func(cdc.Datum) (T, error)
	key    func([]byte, T) []byte
}

func newScalar[C ~[]T, P interface {
	*C
	proto.Column
}, T any](decode func(cdc.Datum) (T, error), key func([]byte, T) []byte) *scalar[T, C, P] {
	return &scalar[T, C, P]{decode: decode, key: key}
}

func (s *scalar[T, C, P]) Type() proto.ColumnType           { return P(&s.col).Type() }
func (s *scalar[T, C, P]) Rows() int                        { return len(s.col) }
func (s *scalar[T, C, P]) Reset()                           { s.col = s.col[:0] }
func (s *scalar[T, C, P]) EncodeColumn(b *proto.Buffer)     { P(&s.col).EncodeColumn(b) }
func (s *scalar[T, C, P]) WriteColumn(w *proto.Writer)      { P(&s.col).WriteColumn(w) }
func (s *scalar[T, C, P]) truncate(n int)                   { s.col = s.col[:n] }
func (s *scalar[T, C, P]) drop(n int)                       { s.col = s.col[n:] }
func (s *scalar[T, C, P]) appendKey(b []byte, i int) []byte { return s.key(b, s.col[i]) }

func (s *scalar[T, C, P]) DecodeColumn(r *proto.Reader, rows int) error {
	return P(&s.col).DecodeColumn(r, rows)
}

func (s *scalar[T, C, P]) append(d cdc.Datum) error {
	v, err := s.decode(d)
	if err != nil {
		return err
	}
	s.col = append(s.col, v)
	return nil
}

func (s *scalar[T, C, P]) appendZero() {
	var zero T
	s.col = append(s.col, zero)
}

func (s *scalar[T, C, P]) appendFrom(src values, i int) {
	s.col = append(s.col, src.(*scalar[T, C, P]).col[i])
}

func (s *scalar[T, C, P]) set(i int, d cdc.Datum) error {
	v, err := s.decode(d)
	if err != nil {
		return err
	}
	s.col[i] = v
	return nil
}

func (s *scalar[T, C, P]) setFrom(i int, src values, j int) {
	s.col[i] = src.(*scalar[T, C, P]).col[j]
}

func (s *scalar[T, C, P]) bytes() int {
	var v T
	return len(s.col) * int(unsafe.Sizeof(v))
}

func keyBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func keyInt[T ~int16 | ~int32 | ~int64](b []byte, v T) []byte {
	return binary.LittleEndian.AppendUint64(b, uint64(v))
}

func keyFloat32(b []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
}

func keyFloat64(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

func keyUUID(b []byte, v [16]byte) []byte { return append(b, v[:]...) }

func keyDecimal128(b []byte, v proto.Decimal128) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, v.Low), v.High)
}

func keyDecimal256(b []byte, v proto.Decimal256) []byte {
	b = binary.LittleEndian.AppendUint64(b, v.Low.Low)
	b = binary.LittleEndian.AppendUint64(b, v.Low.High)
	b = binary.LittleEndian.AppendUint64(b, v.High.Low)
	return binary.LittleEndian.AppendUint64(b, v.High.High)
}

// text holds strings of bytes. A replaced value leaves its bytes behind until Reset.
type text struct {
	proto.ColStr
	// decode appends the bytes to store for a datum.
	decode func([]byte, cdc.Datum) ([]byte, error)
}

func (t *text) append(d cdc.Datum) error {
	p, err := t.store(d)
	if err != nil {
		return err
	}
	t.Pos = append(t.Pos, p)
	return nil
}

func (t *text) set(i int, d cdc.Datum) error {
	p, err := t.store(d)
	if err != nil {
		return err
	}
	t.Pos[i] = p
	return nil
}

func (t *text) store(d cdc.Datum) (proto.Position, error) {
	start := len(t.Buf)
	b, err := t.decode(t.Buf, d)
	if err != nil {
		return proto.Position{}, err
	}
	t.Buf = b
	return proto.Position{Start: start, End: len(b)}, nil
}

func (t *text) appendZero() { t.AppendBytes(nil) }

func (t *text) appendFrom(src values, i int) { t.AppendBytes(src.(*text).RowBytes(i)) }

func (t *text) setFrom(i int, src values, j int) {
	start := len(t.Buf)
	t.Buf = append(t.Buf, src.(*text).RowBytes(j)...)
	t.Pos[i] = proto.Position{Start: start, End: len(t.Buf)}
}

// truncate keeps the bytes: an earlier row may own the end of them after a replacement.
func (t *text) truncate(n int) { t.Pos = t.Pos[:n] }

// drop keeps the bytes, like truncate.
func (t *text) drop(n int) { t.Pos = t.Pos[n:] }

func (t *text) bytes() int {
	const position = 16
	return len(t.Buf) + position*len(t.Pos)
}

func (t *text) appendKey(b []byte, i int) []byte {
	v := t.RowBytes(i)
	return append(binary.AppendUvarint(b, uint64(len(v))), v...)
}
