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
}

func (b *broken) Next() (datarow.Rows, error) {
	if b.rows == 0 {
		return datarow.Rows{}, b.err
	}
	b.rows--
	return datarow.Of([][]byte{[]byte("1")}), nil
}

func TestDeliver_tellsTheEndOfAResultFromALostConnection(t *testing.T) {
	for name, tc := range map[string]struct {
		result broken
		sent   int64
		fails  bool
	}{
		"complete":            {broken{3, io.EOF}, 3, false},
		"empty":               {broken{0, io.EOF}, 0, false},
		"lost at once":        {broken{0, fmt.Errorf("packet: %w", io.EOF)}, 0, true},
		"lost after rows":     {broken{3, fmt.Errorf("packet: %w", io.EOF)}, 0, true},
		"lost within a block": {broken{1, io.ErrUnexpectedEOF}, 0, true},
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
