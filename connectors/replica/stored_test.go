package replica

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/freshet-io/freshet/connectors/cdc"
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

// A delta on disk may lose rows when the engine restarts, and the mask is gone then: a query that asks it fails, and never misses rows.
func TestStored_whatIsReadOnDiskAsksTheMask(t *testing.T) {
	for _, tt := range []struct {
		name         string
		onDisk, dead bool
		asked        bool
	}{
		{"in memory", false, false, false},
		{"in memory, with dead rows", false, true, true},
		{"on disk", true, false, true},
		{"on disk, with dead rows", true, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inMemory := &delta{object: &object{name: "m", volatile: true}, rids: []uint32{1}}
			d := &delta{object: &object{name: "d", volatile: !tt.onDisk}, rids: []uint32{2}}
			table := &table{def: &cdc.Table{}, stored: stored{deltas: []*delta{inMemory, d}, deadDeltas: tt.dead, wear: &wear{}, deltaWear: &wear{}}}
			s := &Snapshot{ledger: &ledger{}, mask: &object{name: "mask"}, tables: map[cdc.TableID]*version{1: table.version()}}
			relation, ok := s.Relation(1, []string{"id"})
			if asked := strings.Contains(relation, "dictGetUInt8('.mask'"); !ok || asked != tt.asked {
				t.Errorf("%s asks the mask: %t, want %t", relation, asked, tt.asked)
			}
		})
	}
}
