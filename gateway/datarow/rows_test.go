package datarow

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgproto3"
	"pgregory.net/rapid"
)

func TestRows_areTheMessagesOfTheProtocol(t *testing.T) {
	value := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 20), rapid.Just([]byte(nil)))
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.SliceOfN(value, 0, 4), 0, 6).Draw(t, "rows")
		var messages []byte
		for _, row := range want {
			var err error
			if messages, err = (&pgproto3.DataRow{Values: row}).Encode(messages); err != nil {
				t.Fatal(err)
			}
		}
		rows := Of(want...)
		if d := cmp.Diff(messages, rows.Messages()); d != "" {
			t.Fatalf("messages (-want +got):\n%s", d)
		}
		head := rapid.IntRange(0, len(want)+1).Draw(t, "head")
		first := want[:min(head, len(want))]
		got, rest := rows.Split(head)
		if d := cmp.Diff(first, slices.Collect(got.Values()), equalEmpty); d != "" || got.Len() != len(first) {
			t.Fatalf("the first %d of %d rows are %d (-want +got):\n%s", head, len(want), got.Len(), d)
		}
		if d := cmp.Diff(want[len(first):], slices.Collect(rest.Values()), equalEmpty); d != "" || rest.Len() != len(want)-len(first) {
			t.Fatalf("behind the first %d of %d rows are %d (-want +got):\n%s", head, len(want), rest.Len(), d)
		}
	})
}

// equalEmpty takes no rows and no values for equal however they are written; NULL and an empty value differ.
var equalEmpty = cmp.Options{
	cmp.Transformer("rows", func(rows [][][]byte) []map[int]string {
		out := make([]map[int]string, len(rows))
		for i, row := range rows {
			out[i] = map[int]string{}
			for j, v := range row {
				if v != nil {
					out[i][j] = string(v)
				}
			}
		}
		return out
	}),
}

func TestWriter_roomThatIsExpectedChangesNothing(t *testing.T) {
	var w Writer
	for i := range 100 {
		w.Expect(i)
		w.Begin(1)
		w.End(append(w.Value(), "value"...), i%2 == 0)
		w.EndRow()
	}
	n := 0
	for row := range w.Rows().Values() {
		if want := n%2 == 0; (string(row[0]) == "value") != want || (row[0] == nil) == want {
			t.Errorf("row %d is %q", n, row)
		}
		n++
	}
	if n != 100 {
		t.Errorf("%d rows, want 100", n)
	}
}
