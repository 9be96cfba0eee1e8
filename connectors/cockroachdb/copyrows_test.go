package cockroachdb

import (
	"bytes"
	"context"
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// measuringSink notes how many rows came, and how many bytes in one call at most.
type measuringSink struct {
	cdc.CopySink
	rows, most int
}

func (s *measuringSink) Rows(_ context.Context, _ *cdc.Table, rows []cdc.Row) error {
	size := 0
	for _, row := range rows {
		for _, d := range row {
			size += len(d.Data)
		}
	}
	s.rows, s.most = s.rows+len(rows), max(s.most, size)
	return nil
}

func TestCopyRows_handsLongRowsOverBeforeTheyTakeMuchMemory(t *testing.T) {
	const rows, rowBytes = 200, 128 << 10
	sink := &measuringSink{}
	r := copyRows{table: &cdc.Table{}, sink: sink}
	long := [][]byte{bytes.Repeat([]byte("x"), rowBytes), nil}
	for range rows {
		if err := r.add(t.Context(), long); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if sink.rows != rows || sink.most > copyBytes+rowBytes {
		t.Errorf("%d rows, up to %d bytes of them at once, want %d and no more than %d", sink.rows, sink.most, rows, copyBytes+rowBytes)
	}
	if err := r.add(t.Context(), [][]byte{make([]byte, 16*copyBytes)}); err != nil {
		t.Fatal(err)
	}
	if kept := cap(r.arena); kept > 8*copyBytes {
		t.Errorf("%d bytes are kept after a huge row", kept)
	}
}
