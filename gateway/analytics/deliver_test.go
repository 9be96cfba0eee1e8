package analytics

import (
	"fmt"
	"io"
	"testing"

	"github.com/freshet-io/freshet/gateway/datarow"
)

// broken is a result whose rows are followed by an error.
type broken struct {
	rows int
	err  error
	each datarow.Rows // the rows of each block; the zero value: one short one
}

func (b *broken) Next() (datarow.Rows, error) {
	if b.rows == 0 {
		return datarow.Rows{}, b.err
	}
	b.rows--
	if b.each.Len() > 0 {
		return b.each, nil
	}
	return datarow.Of([][]byte{[]byte("1")}), nil
}

func TestDeliver_tellsTheEndOfAResultFromALostConnection(t *testing.T) {
	for name, tc := range map[string]struct {
		result broken
		sent   int64
		fails  bool
	}{
		"complete":            {broken{rows: 3, err: io.EOF}, 3, false},
		"empty":               {broken{err: io.EOF}, 0, false},
		"lost at once":        {broken{err: fmt.Errorf("packet: %w", io.EOF)}, 0, true},
		"lost after rows":     {broken{rows: 3, err: fmt.Errorf("packet: %w", io.EOF)}, 0, true},
		"lost within a block": {broken{rows: 1, err: io.ErrUnexpectedEOF}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			arrived := int64(0)
			sent, err := deliver(&tc.result, func(rows datarow.Rows) error { arrived += int64(rows.Len()); return nil })
			if (err != nil) != tc.fails || sent != tc.sent || arrived != sent {
				t.Errorf("sent %d, of which %d arrived, %v; want %d, an error: %t", sent, arrived, err, tc.sent, tc.fails)
			}
		})
	}
}
