package replica

import (
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

func TestPublisher_hurriesOnlyForWhatHasArrived(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	const cost = 10 * time.Millisecond
	at := func(major uint64, behind time.Duration) cdc.Watermark {
		return cdc.Watermark{Position: cdc.Position{Major: major}, Time: now.Add(-behind)}
	}
	for _, tc := range []struct {
		name    string
		waiting []uint64
		arrived cdc.Watermark
		want    time.Duration
	}{
		{"nobody waits", nil, at(5, 0), pace * cost},
		{"somebody waits for what is there", []uint64{9, 5}, at(5, 0), cost},
		{"somebody waits for what comes later", []uint64{6}, at(5, 0), pace * cost},
		{"far behind", []uint64{6}, at(5, 2*time.Second), 2 * time.Second / lagShare},
		{"farther behind", nil, at(5, time.Hour), mostInterval},
		{"far behind, but somebody is content with it", []uint64{4}, at(5, time.Hour), cost},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &Replica{clock: func() time.Time { return now }}
			p := &publisher{s: &session{r: r, cfg: Config{FlushInterval: 20 * time.Millisecond}}, lastCost: cost}
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
