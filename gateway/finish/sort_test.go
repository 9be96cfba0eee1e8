package finish_test

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/freshet-io/freshet/gateway/finish"
)

// folded ranks as a collation would that puts case after letters.
func folded(_ string, values []string) ([]int, error) {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return compareFolded(values[a], values[b]) })
	return order, nil
}

func compareFolded(a, b string) int {
	return cmp.Or(strings.Compare(strings.ToLower(a), strings.ToLower(b)), -strings.Compare(a, b))
}

func TestSort_ordersAndCutsOff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := finish.Sort{
			Keys: []finish.SortKey{
				{Collation: "folded", Descending: rapid.Bool().Draw(t, "descending"), NullsFirst: rapid.Bool().Draw(t, "nulls first")},
				{},
			},
			Offset: uint64(rapid.IntRange(0, 4).Draw(t, "offset")), Limited: rapid.Bool().Draw(t, "limited"),
			Limit: uint64(rapid.IntRange(0, 8).Draw(t, "limit")), Ties: rapid.Bool().Draw(t, "ties"),
		}
		n := rapid.IntRange(0, 12).Draw(t, "rows")
		rows := make([][][]byte, n)
		for i := range rows {
			rows[i] = [][]byte{[]byte(strconv.Itoa(i)), rapid.SampledFrom([][]byte{nil, []byte("a"), []byte("A"), []byte("b"), []byte("B"), {}}).Draw(t, "key"),
				[]byte(rapid.SampledFrom([]string{"1", "2", "10"}).Draw(t, "rank"))}
		}
		compare := func(a, b [][]byte) int { return compareRows(s.Keys[0], a, b) }
		want := slices.Clone(rows)
		slices.SortStableFunc(want, compare)
		from := min(int(s.Offset), n)
		to := n
		if s.Limited {
			for to = min(from+int(s.Limit), n); s.Ties && to > from && to < n && compare(want[to], want[to-1]) == 0; {
				to++
			}
		}
		got, err := s.Rows(rows, folded)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(numbers(want[from:to]), numbers(got)); diff != "" {
			t.Errorf("order by %+v (-want +got):\n%s", s, diff)
		}
		for _, row := range got {
			if len(row) != 1 {
				t.Errorf("a row has the columns of the keys: %q", row)
			}
		}
	})
}

func compareRows(k finish.SortKey, a, b [][]byte) int {
	x, y := a[1], b[1]
	order := 0
	switch {
	case x == nil && y == nil:
	case x == nil || y == nil:
		order = 1
		if (x == nil) == k.NullsFirst {
			order = -1
		}
	default:
		if order = compareFolded(string(x), string(y)); k.Descending {
			order = -order
		}
	}
	rank := func(row [][]byte) int { n, _ := strconv.Atoi(string(row[2])); return n }
	return cmp.Or(order, cmp.Compare(rank(a), rank(b)))
}

func numbers(rows [][][]byte) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = string(row[0])
	}
	return out
}

func TestSort_choosesExtremes(t *testing.T) {
	s := finish.Sort{
		Keys:     []finish.SortKey{{}},
		Extremes: []finish.Extreme{{Column: 0, Collation: "folded"}, {Column: 1, Collation: "folded", Greatest: true}},
	}
	rows := [][][]byte{
		{[]byte(`["b","A","a"]`), []byte(`["b","C","c"]`), []byte("2")},
		{[]byte(`[]`), []byte(`["\"\n\/é"]`), []byte("1")},
	}
	got, err := s.Rows(rows, folded)
	if err != nil {
		t.Fatal(err)
	}
	want := [][][]byte{{nil, []byte("\"\n/é")}, {[]byte("a"), []byte("C")}}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("extremes (-want +got):\n%s", diff)
	}
	if string(rows[0][0]) != `["b","A","a"]` {
		t.Errorf("the rows were changed: %q", rows[0])
	}
	rows[0][0] = []byte("b")
	if got, err := s.Rows(rows, folded); err == nil {
		t.Errorf("what is no array: got %q", got)
	}
}

func TestSort_refusesWhatItCannotOrder(t *testing.T) {
	s := finish.Sort{Keys: []finish.SortKey{{Collation: "folded"}}}
	if _, err := s.Rows(make([][][]byte, finish.MostSorted+1), folded); !errors.Is(err, finish.ErrTooMany) {
		t.Errorf("too many rows: %v", err)
	}
	long := func(c string) [][]byte { return [][]byte{[]byte(strings.Repeat(c, 3<<20))} }
	if _, err := s.Rows([][][]byte{long("a"), long("b")}, folded); !errors.Is(err, finish.ErrTooMany) {
		t.Errorf("long strings: %v", err)
	}
	two := [][][]byte{{[]byte("a")}, {[]byte("b")}}
	for name, answer := range map[string][]int{"a string is missing": {0}, "a string is unknown": {0, 2}} {
		if rows, err := s.Rows(two, func(string, []string) ([]int, error) { return answer, nil }); err == nil {
			t.Errorf("%s: got %q", name, rows)
		}
	}
	lost := errors.New("the connection is lost")
	if _, err := s.Rows(two, func(string, []string) ([]int, error) { return nil, lost }); !errors.Is(err, lost) {
		t.Errorf("PostgreSQL fails: %v", err)
	}
}
