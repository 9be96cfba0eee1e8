package replica

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What is left of deltas are those with rows, in their order; and something to read where there is no base.
func TestStored_prunesDeltasWithoutRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var st stored
		if rapid.Bool().Draw(t, "there is a base") {
			st.base = &object{}
		}
		var all, filled []*object
		for _, rows := range rapid.SliceOfN(rapid.IntRange(0, 2), 1, 6).Draw(t, "rows") {
			d := &delta{object: &object{}, rids: make([]uint32, rows)}
			st.deltas, all = append(st.deltas, d), append(all, d.object)
			if rows > 0 {
				filled = append(filled, d.object)
			}
		}
		empty := st.prune()
		kept := objects(st.deltas)
		if len(kept)+len(empty) != len(all) || slices.ContainsFunc(empty, func(o *object) bool { return slices.Contains(kept, o) }) {
			t.Fatalf("of %d deltas %d stay and %d go", len(all), len(kept), len(empty))
		}
		if len(filled) == 0 && st.base == nil {
			if len(kept) != 1 {
				t.Fatalf("without base or rows %d deltas stay", len(kept))
			}
			return
		}
		if !slices.Equal(kept, filled) {
			t.Fatalf("%d deltas stay, of which %d have rows", len(kept), len(filled))
		}
	})
}
