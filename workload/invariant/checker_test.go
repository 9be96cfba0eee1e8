package invariant

import "testing"

func TestChecker_countsEachSnapshotOnce(t *testing.T) {
	c := NewChecker(nil)
	broken := []Violation{{Check: "a"}}
	for _, r := range []struct {
		snapshot string
		found    []Violation
		want     Counts
	}{
		{"0/1", nil, Counts{Snapshots: 1}},
		{"0/1", nil, Counts{Snapshots: 1}},
		{"0/2", broken, Counts{Snapshots: 2, Violations: 1}},
		{"0/1", broken, Counts{Snapshots: 2, Violations: 2}}, // a wrong answer counts each time
		{"", nil, Counts{Snapshots: 3, Violations: 2}},       // PostgreSQL itself
		{"", nil, Counts{Snapshots: 4, Violations: 2}},
	} {
		c.record(r.snapshot, r.found)
		got := c.Counts()
		if got.First = nil; got != r.want {
			t.Errorf("after snapshot %q: %+v, want %+v", r.snapshot, got, r.want)
		}
	}
}
