package analytics

import (
	"strings"
	"testing"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/go-cmp/cmp"

	"github.com/freshet-io/freshet/gateway/finish"
)

func TestEncoder_rowsStayAsTheyAre(t *testing.T) {
	e, err := newEncoder([]finish.Column{{Name: "a", Kind: finish.String}, {Name: "b", Kind: finish.String}}, nil, finish.Style{})
	if err != nil {
		t.Fatal(err)
	}
	block := func(values ...*string) [][][]byte {
		t.Helper()
		for i, c := range e.Results() {
			column := c.Data.(*proto.ColNullable[string])
			column.Reset()
			for j := i; j < len(values); j += 2 {
				v := proto.Null[string]()
				if values[j] != nil {
					v = proto.NewNullable(*values[j])
				}
				column.Append(v)
			}
		}
		rows, err := e.Encode(len(values) / 2)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	empty, short, long := "", "ä", strings.Repeat("x", pieceSize)
	first := block(&short, nil, &empty, &empty, &long, &short, &short, &long)
	block(&long, &long, &long, &long, &long, &long, &long, &long)
	want := [][][]byte{{[]byte(short), nil}, {{}, {}}, {[]byte(long), []byte(short)}, {[]byte(short), []byte(long)}}
	if d := cmp.Diff(want, first); d != "" {
		t.Errorf("rows after the next block (-want +got):\n%s", d)
	}
	first[0][0] = append(first[0][0], "overwritten"...)
	if d := cmp.Diff(want[1:], first[1:]); d != "" {
		t.Errorf("rows after one of them grew (-want +got):\n%s", d)
	}
}
