package replica

import (
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

func TestWear_paysOnceScansHaveLostAPartOfAMerge(t *testing.T) {
	const rows = 1_000_000
	clean := shape{rows: rows, physical: rows, parts: 1, bytes: 100_000_000}
	masked := shape{rows: rows, physical: rows * 5 / 4, parts: 1, bytes: 100_000_000}
	several := shape{rows: rows, physical: rows, parts: 4, bytes: 100_000_000}
	unknown := masked
	unknown.bytes = 0
	tests := []struct {
		name  string
		base  shape
		loss  time.Duration // of a scan
		scans int           // until merging pays; 0: it never does
	}{
		{"clean", clean, 0, 0},
		{"masked by a fifth", masked, 7500 * time.Microsecond, 15}, // merging takes 320 ms, of which a third is 107
		{"in four parts", several, 3 * time.Millisecond, 36},
		{"of unknown size", unknown, 7500 * time.Microsecond, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			loss := tt.base.scanLoss()
			if loss != tt.loss {
				t.Errorf("a scan loses %v, want %v", loss, tt.loss)
			}
			var w wear
			scans := 0
			for n := 1; n <= 1000 && scans == 0; n++ {
				if w.scanned(loss); w.pays(tt.base.mergeTime()) {
					scans = n
				}
			}
			if scans != tt.scans {
				t.Errorf("merging pays after %d scans, want %d", scans, tt.scans)
			}
		})
	}
}

func TestStored_deltasAreMergedOnceScansHaveLostEnough(t *testing.T) {
	const most = 96
	tests := []struct {
		name         string
		blocks, rows int
		onDisk       bool
		scans        int // until they are merged
	}{
		{"one block", 1, 50_000, false, -1},
		{"some blocks", 11, 50_000, false, 7}, // merging takes 8 ms, and each scan loses 400 µs
		{"some blocks of more rows", 11, 500_000, false, 30},
		{"many blocks that nobody reads", most, 50_000, false, 0},
		{"many blocks on disk", most, 50_000, true, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := stored{deltas: []*delta{{object: &object{volatile: !tt.onDisk}, rids: make([]uint32, tt.rows), blocks: tt.blocks}}, wear: &wear{}, deltaWear: &wear{}}
			table := &table{def: &cdc.Table{}, stored: st}
			s := &Snapshot{ledger: &ledger{}, mask: &object{}, tables: map[cdc.TableID]*version{1: table.version()}}
			scans := 0
			for ; !table.stored.fragmented(most); scans++ {
				if scans == 1000 {
					scans = -1
					break
				}
				if _, ok := s.Relation(1, []string{"a"}); !ok {
					t.Fatal("the snapshot has no such table")
				}
			}
			if scans != tt.scans {
				t.Errorf("deltas are merged after %d scans, want %d", scans, tt.scans)
			}
		})
	}
}
