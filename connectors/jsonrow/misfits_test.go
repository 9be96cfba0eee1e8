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
		{a, 2, 0, Awaited}, // announced already
		{a, 5, 9, Covered}, // the copy has it
		{a, 10, 9, CopyAnew},
		{a, 20, 19, CopyAnew},
		{a, 30, 29, Stop},
		{b, 31, 29, CopyAnew}, // another definition begins anew
		{b, 40, 39, CopyAnew},
	} {
		if c.copied > 0 {
			m.Begun(1, at(c.copied))
		}
		if got := m.Judge(c.def, at(c.at)); got != c.want {
			t.Errorf("row %d: verdict %d, want %d", i, got, c.want)
		}
	}
	m.Fits(1)
	for i := range uint64(3) {
		m.Begun(1, at(50+10*i))
		if got := m.Judge(b, at(51+10*i)); got != CopyAnew {
			t.Errorf("after a row that fitted: verdict %d", got)
		}
	}
}

// The position of a copy is chosen before anybody is told of it: rows that come in between are left out for a copy that lacks them.
func TestMisfits_findACopyThatIsEarlierThanARowLeftOutForIt(t *testing.T) {
	at := func(n uint64) cdc.Position { return cdc.Position{Major: n} }
	def := &cdc.Table{ID: 1}
	var m Misfits
	judge := func(n uint64, want Verdict) {
		t.Helper()
		if got := m.Judge(def, at(n)); got != want {
			t.Errorf("row at %d: verdict %d, want %d", n, got, want)
		}
	}
	begun := func(n uint64, want bool) {
		t.Helper()
		if got := m.Begun(1, at(n)); got != want {
			t.Errorf("copy at %d is early: %t, want %t", n, got, want)
		}
	}
	judge(10, CopyAnew)
	judge(20, Awaited)
	m.Fits(1)
	begun(15, true)
	judge(12, Covered)
	judge(30, CopyAnew)
	judge(31, Awaited)
	begun(30, true)
	judge(32, Awaited) // the next one is asked for
	begun(32, false)
	m.Resume()
	judge(32, Covered)
	m.Forget()
	judge(32, CopyAnew)
}
