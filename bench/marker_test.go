package bench

import (
	"testing"
	"time"
)

func TestMarker_freshnessIsTheAgeOfTheFirstMissedCommit(t *testing.T) {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }
	m := &marker{began: at(5), first: 5, commits: []time.Time{at(10), at(20), at(30)}} // transactions 5, 6 and 7
	for name, test := range map[string]struct {
		start time.Time
		seen  int64
		want  time.Duration
	}{
		"saw all":                       {at(40), 7, 0},
		"missed the last":               {at(40), 6, 10 * time.Millisecond},
		"missed all":                    {at(40), 4, 30 * time.Millisecond},
		"missed one committed later":    {at(15), 5, 0},
		"state from before the marker":  {at(40), 2, 35 * time.Millisecond},
		"asked before the marker began": {at(4), 2, 0},
		"saw one that is not noted yet": {at(40), 8, 0},
	} {
		if got := m.freshness(test.start, test.seen); got != test.want {
			t.Errorf("%s: freshness %v, want %v", name, got, test.want)
		}
	}
}
