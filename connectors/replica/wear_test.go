package replica

import (
	"testing"
	"time"
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
				if w.scanned(loss); w.pays(tt.base) {
					scans = n
				}
			}
			if scans != tt.scans {
				t.Errorf("merging pays after %d scans, want %d", scans, tt.scans)
			}
		})
	}
}
