package postgres

import (
	"testing"
)

func TestRecentTransactions_knowWhatASnapshotMisses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		handed   []uint32
		snapshot string
		unseen   bool
	}{
		{"none handed over", nil, "5:5:", false},
		{"all seen", []uint32{3, 4}, "5:5:", false},
		{"in progress", []uint32{3, 4}, "4:6:4,5", true},
		{"others in progress", []uint32{3, 6}, "4:7:4,5", false},
		{"begun after the snapshot", []uint32{3, 5}, "5:5:", true},
		{"no table found", []uint32{3}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r recentTransactions
			for _, x := range c.handed {
				r.note(x)
			}
			if got, err := r.unseen(c.snapshot); err != nil || got != c.unseen {
				t.Errorf("unseen %t, %v; want %t", got, err, c.unseen)
			}
		})
	}
	t.Run("with epochs and around the end of the numbers", func(t *testing.T) {
		var r recentTransactions
		r.note(^uint32(0))
		r.note(4)
		if got, err := r.unseen("12884901893:12884901893:"); err != nil || got { // 3 epochs and 5
			t.Errorf("unseen %t, %v; want all seen", got, err)
		}
		if got, err := r.unseen("12884901892:12884901893:12884901892"); err != nil || !got {
			t.Errorf("unseen %t, %v; want transaction 4 missed", got, err)
		}
	})
	t.Run("long ago", func(t *testing.T) {
		var r recentTransactions
		for x := range uint32(3 * len(r.xids)) {
			r.note(x + 10)
		}
		if got, err := r.unseen("11:20000:11"); err != nil || got {
			t.Errorf("unseen %t, %v; want the first forgotten", got, err)
		}
	})
	var r recentTransactions
	if _, err := r.unseen("nonsense"); err == nil {
		t.Error("no error for what is no snapshot")
	}
}
