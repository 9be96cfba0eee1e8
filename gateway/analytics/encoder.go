package analytics

import (
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

// Encode implements [batch.Encoder].
func (e encoder) Encode(n int) ([][][]byte, error) {
	rows := make([][][]byte, 0, n)
	for i := range n {
		row, err := e.decoder.Row(i, nil)
		if err != nil {
			return nil, err
		}
		rows = append(rows, own(row))
	}
	return rows, nil
}

// own copies a row's values into one piece of memory.
func own(row [][]byte) [][]byte {
	n := 0
	for _, v := range row {
		n += len(v)
	}
	buf := make([]byte, 0, n)
	for i, v := range row {
		if v == nil {
			continue
		}
		start := len(buf)
		buf = append(buf, v...)
		row[i] = buf[start:len(buf):len(buf)]
	}
	return row
}
