package compare

import "testing"

func TestDifference_findsWhatDiffers(t *testing.T) {
	columns := []string{"a type 23(-1)", "b type 25(-1)"}
	want := answer{columns: columns, rows: [][]string{{"1", "x"}, {"1", "y"}, {"2", `\N`}}}
	tests := map[string]struct {
		got   answer
		order []int
		equal bool
	}{
		"same":                    {want, []int{0}, true},
		"ties in another order":   {answer{columns, [][]string{{"1", "y"}, {"1", "x"}, {"2", `\N`}}}, []int{0}, true},
		"out of order":            {answer{columns, [][]string{{"2", `\N`}, {"1", "x"}, {"1", "y"}}}, []int{0}, false},
		"any order without ORDER": {answer{columns, [][]string{{"2", `\N`}, {"1", "x"}, {"1", "y"}}}, nil, true},
		"another value":           {answer{columns, [][]string{{"1", "x"}, {"1", "z"}, {"2", `\N`}}}, []int{0}, false},
		"another scale":           {answer{columns, [][]string{{"1", "x"}, {"1", "y"}, {"2.0", `\N`}}}, nil, false},
		"NULL is not text":        {answer{columns, [][]string{{"1", "x"}, {"1", "y"}, {"2", `\\N`}}}, []int{0}, false},
		"a row less":              {answer{columns, [][]string{{"1", "x"}, {"1", "y"}}}, nil, false},
		"a row twice":             {answer{columns, [][]string{{"1", "x"}, {"1", "x"}, {"2", `\N`}}}, []int{0}, false},
		"another type":            {answer{[]string{"a type 20(-1)", columns[1]}, want.rows}, nil, false},
	}
	for name, test := range tests {
		if detail := difference(want, test.got, test.order); (detail == "") != test.equal {
			t.Errorf("%s: difference says %q", name, detail)
		}
	}
}
