package postgres

import "testing"

func TestLeftAt_findsTheEndOfAnAncestor(t *testing.T) {
	t.Parallel()
	const history = "1\t0/3000060\tno recovery target specified\n\n2\t1/A0\tbefore 2026-01-01 00:00:00+00\n"
	for _, tt := range []struct {
		timeline, want uint64
		ok             bool
	}{{1, 0x3000060, true}, {2, 1<<32 + 0xA0, true}, {3, 0, false}, {0, 0, false}} {
		if got, ok := leftAt([]byte(history), tt.timeline); got != tt.want || ok != tt.ok {
			t.Errorf("timeline %d: left at %X (%t), want %X (%t)", tt.timeline, got, ok, tt.want, tt.ok)
		}
	}
}

func TestLineage_tellsOneThatItDoesNotFollow(t *testing.T) {
	t.Parallel()
	l := lineage{timeline: 2, reached: 100}
	if !l.tell(2, 90) || l.reached != 100 || !l.tell(2, 110) || l.reached != 110 || l.tell(1, 120) || l.reached != 110 {
		t.Errorf("after what was told on timelines 2 and 1: %d", l.reached)
	}
}
