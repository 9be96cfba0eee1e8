package debezium

import (
	"context"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/postgres"
)

const (
	// markDelay is how long somebody else's commit may take to carry the stream where Current promised, before a mark does.
	markDelay = 3 * time.Millisecond
	// slotInterval is how often slot and connector are looked at while streaming.
	slotInterval = 2 * time.Second
)

// pulse keeps watermarks honest and Current's promises kept.
//
// Whenever no transaction came for an interval, and now and then to compare the clocks, it asks how far the log is and sets that as the target of the next
// watermark, which the reader emits when the stream is there. A position is reached by the END of a transaction at or after
// it: if none is on its way, a mark is written into the log, at most one for what waits.
func (st *stream) pulse(ctx context.Context) error {
	tick := time.NewTicker(st.s.cfg.WatermarkInterval)
	defer tick.Stop()
	nudge := time.NewTimer(time.Hour)
	defer nudge.Stop()
	var commits uint64
	unmeasured := 0
	var marked cdc.Position
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-st.s.wake:
			nudge.Reset(markDelay)
		case <-nudge.C:
			marked, err = st.reach(ctx, cdc.Position{Major: st.s.wanted.Load()}, marked)
		case <-tick.C:
			n := st.commits.Load()
			if unmeasured++; n == commits || unmeasured > postgres.MostUnmeasured {
				unmeasured = 0
				marked, err = st.aim(ctx, marked)
			}
			commits = n
		}
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
	}
}

// aim sets the next watermark's target, and helps the stream to reach it.
func (st *stream) aim(ctx context.Context, marked cdc.Position) (cdc.Position, error) {
	t := st.target.Load()
	if t == nil {
		w, err := st.readLog(ctx)
		if err != nil {
			return marked, err
		}
		t = &w
		st.target.Store(t)
	}
	return st.reach(ctx, t.Inserted, marked)
}

// reach writes a mark unless the stream is at a position, or a mark after it is on its way.
func (st *stream) reach(ctx context.Context, p, marked cdc.Position) (cdc.Position, error) {
	if st.streamed.Load() >= p.Major || !marked.Before(p) {
		return marked, nil
	}
	return st.s.catalog.Mark(ctx)
}

// watch follows the catalog, makes sure that the slot is still there, and keeps the connector going.
func (st *stream) watch(ctx context.Context) error {
	catalog := time.NewTicker(st.s.cfg.Postgres.CatalogInterval)
	defer catalog.Stop()
	slot := time.NewTicker(slotInterval)
	defer slot.Stop()
	k := keeper{s: st.s}
	look, rested := st.s.catalog.Look(), (<-chan time.Time)(nil)
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-catalog.C:
			err = st.s.follow(ctx)
		case <-look:
			err = st.s.follow(ctx)
			look, rested = nil, time.After(postgres.LookPause)
		case <-rested:
			look = st.s.catalog.Look()
		case <-slot.C:
			if err = st.s.checkSlot(ctx); err == nil {
				err = k.look(ctx, st.s.cfg.Postgres.Now())
			}
		}
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
	}
}
