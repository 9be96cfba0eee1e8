package postgres

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommitMarks_findTheLastUntilAPosition(t *testing.T) {
	t.Parallel()
	var m commitMarks
	if got := m.until(100); got != (commitMark{}) {
		t.Errorf("of none: %v", got)
	}
	for p := uint64(10); p <= 50; p += 10 {
		m.add(commitMark{Position: p, Time: int64(p)})
	}
	m.forget(35)
	if diff := cmp.Diff(commitMarks{{Position: 30, Time: 30}, {Position: 40, Time: 40}, {Position: 50, Time: 50}}, m); diff != "" {
		t.Errorf("after forgetting (-want +got):\n%s", diff)
	}
	for _, c := range []struct{ at, want uint64 }{{29, 0}, {30, 30}, {39, 30}, {50, 50}, {90, 50}} {
		if got := m.until(c.at).Position; got != c.want {
			t.Errorf("until %d: %d, want %d", c.at, got, c.want)
		}
	}
}

func TestCommitMarks_areBounded(t *testing.T) {
	t.Parallel()
	var m commitMarks
	for p := range uint64(10 * mostMarks) {
		m.add(commitMark{Position: p + 1})
	}
	if len(m) > mostMarks || m.until(1<<40).Position != 10*mostMarks {
		t.Errorf("%d marks, the last at %d", len(m), m.until(1<<40).Position)
	}
	if first := m.until(1); !first.Thinned {
		t.Errorf("%+v does not say that the next ones were forgotten", first)
	}
}
