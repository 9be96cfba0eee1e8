package analytics

import (
	"slices"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/gateway/batch"
	"github.com/freshet-io/freshet/gateway/finish"
)

// encoder adapts finish's decoder to the dispatcher, whose rows must stay valid.
type encoder struct{ decoder *finish.Decoder }

func newEncoder(output []finish.Column, formats []int16, style finish.Style) (batch.Encoder, error) {
	d, err := finish.NewDecoder(output, formats, style)
	if err != nil {
		return nil, err
	}
	return encoder{d}, nil
}

// Results implements [batch.Encoder].
func (e encoder) Results() proto.Results { return e.decoder.Results() }

// Encode implements [batch.Encoder]. The rows of a block share few pieces of memory: they are held and dropped together.
func (e encoder) Encode(n int) ([][][]byte, error) {
	rows := make([][][]byte, n)
	var values [][]byte
	var buf []byte
	for i := range rows {
		start := len(values)
		var err error
		if values, err = e.decoder.Row(i, values); err != nil {
			return nil, err
		}
		if i == 0 {
			values = slices.Grow(values, (n-1)*len(values))
		}
		rows[i] = values[start:len(values):len(values)]
		buf = own(rows[i], buf)
	}
	return rows, nil
}

// pieceSize is that of the pieces of memory that the values of rows are copied to, in bytes.
const pieceSize = 64 << 10

// own copies a row's values to the free end of buf, or to another piece of memory if they do not fit, and returns the one in use.
func own(row [][]byte, buf []byte) []byte {
	n := 0
	for _, v := range row {
		n += len(v)
	}
	if cap(buf)-len(buf) < n || buf == nil {
		buf = make([]byte, 0, max(n, pieceSize))
	}
	for i, v := range row {
		if v == nil {
			continue
		}
		start := len(buf)
		buf = append(buf, v...)
		row[i] = buf[start:len(buf):len(buf)]
	}
	return buf
}
