package jsonrow

import (
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
)

func TestMisfits_stopATableThatCopiesDoNotHelp(t *testing.T) {
	at := func(n uint64) cdc.Position { return cdc.Position{Major: n} }
	a, b := &cdc.Table{ID: 1}, &cdc.Table{ID: 1}
	var m Misfits
	for i, c := range []struct {
		def        *cdc.Table
		at, copied uint64
		want       Verdict
	}{
		{a, 1, 0, CopyAnew},
		{a, 2, 0, Covered}, // announced already
		{a, 5, 9, Covered}, // the copy has it
		{a, 10, 9, CopyAnew},
		{a, 20, 19, CopyAnew},
		{a, 30, 29, Stop},
		{b, 31, 29, CopyAnew}, // another definition begins anew
		{b, 40, 39, CopyAnew},
	} {
		if got := m.Judge(c.def, at(c.at), at(c.copied)); got != c.want {
			t.Errorf("row %d: verdict %d, want %d", i, got, c.want)
		}
	}
	m.Fits(1)
	for i := range uint64(3) {
		if got := m.Judge(b, at(51+i), at(50+i)); got != CopyAnew {
			t.Errorf("after a row that fitted: verdict %d", got)
		}
	}
}
