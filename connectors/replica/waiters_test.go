package replica

import (
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

func TestPublisher_hurriesOnlyForWhatHasArrived(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	const cost = 10 * time.Millisecond
	const hung = time.Minute
	at := func(major uint64, behind time.Duration) cdc.Watermark {
		return cdc.Watermark{Position: cdc.Position{Major: major}, Time: now.Add(-behind)}
	}
	for _, tc := range []struct {
		name    string
		waiting []uint64
		arrived cdc.Watermark
		staged  int
		cost    time.Duration
		want    time.Duration
	}{
		{"nobody waits", nil, at(5, 0), 999, cost, 200 * time.Millisecond},
		{"nobody waits, but much is staged", nil, at(5, 0), 1000, cost, pace * cost},
		{"somebody waits for what is there", []uint64{9, 5}, at(5, 0), 1, cost, cost},
		{"somebody waits for what comes later", []uint64{6}, at(5, 0), 2000, cost, pace * cost},
		{"far behind", []uint64{6}, at(5, 2*time.Second), 1, cost, 2 * time.Second / lagShare},
		{"farther behind", nil, at(5, time.Hour), 2000, cost, mostInterval},
		{"far behind, but somebody is content with it", []uint64{4}, at(5, time.Hour), 2000, cost, cost},
		{"the engine hung", nil, at(5, time.Minute), 2000, hung, pace * mostCost},
		{"the engine hung, and somebody waits", []uint64{5}, at(5, time.Minute), 2000, hung, mostCost},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &Replica{clock: func() time.Time { return now }}
			p := &publisher{s: &session{r: r, stagedBytes: tc.staged, cfg: Config{FlushInterval: 200 * time.Millisecond, FlushBytes: 1000}}, lastCost: tc.cost}
			for _, major := range tc.waiting {
				gone := r.waiters.add(cdc.Position{Major: major})
				defer gone()
				r.waiters.add(cdc.Position{Major: 1})() // left again
			}
			if got := p.interval(tc.arrived); got != tc.want {
				t.Errorf("interval %v, want %v", got, tc.want)
			}
		})
	}
}
