package pgwire

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"pgregory.net/rapid"

	"github.com/freshet-io/freshet/gateway/datarow"
)

// What a portal keeps comes back row by row, whatever of it is in memory; it keeps no more than it may.
func TestPortal_yieldsWhatItKeeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &portal{room: rapid.IntRange(-1, 400).Draw(t, "room"), disk: rapid.Int64Range(0, 2000).Draw(t, "disk")}
		defer p.close()
		var want []byte
		for _, sizes := range rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 200), 1, 5), 0, 8).Draw(t, "chunks") {
			var rows [][][]byte
			for _, n := range sizes {
				rows = append(rows, [][]byte{bytes.Repeat([]byte{byte(len(want))}, n), nil})
			}
			chunk := datarow.Of(rows...)
			err := p.keep(chunk)
			var e *Error
			switch {
			case err == nil:
				want = append(want, chunk.Messages()...)
			case !errors.As(err, &e) || e.Code != codeProgramLimitExceeded:
				t.Fatal(err)
			case p.size+int64(len(chunk.Messages())) <= p.disk:
				t.Fatalf("%d bytes refused behind %d of %d", len(chunk.Messages()), p.size, p.disk)
			}
			if len(p.memory) > max(p.room, 0) || p.size > p.disk {
				t.Fatalf("%d bytes in memory where %d may be, %d on disk where %d may be", len(p.memory), p.room, p.size, p.disk)
			}
		}
		var got, buf []byte
		for {
			row, err := p.next(buf)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got, buf = append(got, row...), row
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("kept %x, yielded %x", want, got)
		}
	})
}
