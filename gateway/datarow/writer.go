package datarow

import (
	"encoding/binary"
	"slices"
)

// Writer writes rows: Begin, then Value and End for each value, then EndRow. The zero value is ready.
type Writer struct {
	buf   []byte
	row   int // where the message begins that is being written
	value int // where the value begins that is being written, with its length
	count int
}

// Begin begins a row of n values.
func (w *Writer) Begin(n int) {
	w.row = len(w.buf)
	w.buf = append(w.buf, kind, 0, 0, 0, 0, byte(n>>8), byte(n))
}

// Value returns what the next value is to be appended to.
func (w *Writer) Value() []byte {
	w.value = len(w.buf)
	return append(w.buf, 0, 0, 0, 0)
}

// End takes what Value returned with the value behind it; if set is false the value is NULL.
func (w *Writer) End(written []byte, set bool) {
	w.buf = written
	start := w.value + lengthLen
	length := uint32(len(written) - start)
	if !set {
		w.buf, length = written[:start], null
	}
	binary.BigEndian.PutUint32(w.buf[w.value:], length)
}

// EndRow ends the row.
func (w *Writer) EndRow() {
	binary.BigEndian.PutUint32(w.buf[w.row+1:], uint32(len(w.buf)-w.row-1))
	w.count++
}

// Expect makes room for n rows more that are as long as those so far on the average, or a little longer.
func (w *Writer) Expect(n int) {
	if w.count > 0 {
		w.buf = slices.Grow(w.buf, n*(len(w.buf)/w.count+1)*9/8)
	}
}

// Rows returns the rows that were written. The writer must not be used after it.
func (w *Writer) Rows() Rows { return Rows{w.buf, w.count} }
