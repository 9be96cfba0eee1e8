package postgres

import (
	"context"
	"fmt"
	"time"
)

// slotInterval is how often the slot's state is looked at while streaming.
const slotInterval = 5 * time.Second

// LookPause is how long the watcher rests after it was made to look at the catalog.
const LookPause = 50 * time.Millisecond

// watch follows the catalog for DDL that sends no message until the table's next change, for new and
// dropped tables, and for the slot's state.
func (st *stream) watch(ctx context.Context) error {
	s := st.src
	catalog := time.NewTicker(s.cfg.CatalogInterval)
	defer catalog.Stop()
	slot := time.NewTicker(slotInterval)
	defer slot.Stop()
	last := ""
	look, rested := s.look, (<-chan time.Time)(nil)
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-catalog.C:
			last, err = st.followCatalog(ctx, last)
		case <-look:
			last, err = st.followCatalog(ctx, last)
			look, rested = nil, time.After(LookPause)
		case <-rested:
			look = s.look
		case <-slot.C:
			err = s.watchSlot(ctx)
		}
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
	}
}

func (st *stream) followCatalog(ctx context.Context, last string) (string, error) {
	last, err := st.src.follow(ctx, last)
	if err == nil && st.src.registry.pending() {
		err = st.ask() // the reader announces when it wakes
	}
	return last, err
}

// follow refreshes if the catalog has changed since the fingerprint last, and returns the one it is in line with.
func (s *Source) follow(ctx context.Context, last string) (string, error) {
	var now string
	if err := s.pool.QueryRow(ctx, fingerprintSQL, s.cfg.Publication).Scan(&now); err != nil {
		return last, fmt.Errorf("watch catalog: %w", err)
	}
	if now == last {
		return last, nil
	}
	err := s.refresh(ctx)
	if lockHeld(err) {
		// The application holds a lock on a table that is to be published; it is tried again.
		s.log.Warn("publication not brought in line yet", "error", err)
		return last, nil
	}
	if err != nil {
		return last, err
	}
	if s.takeRepublished() { // what it has now may be taken back before the next look, which would then find the fingerprint of before
		return "", nil
	}
	return now, nil
}

// takeRepublished reports whether the publication was changed from here since the last call.
func (s *Source) takeRepublished() bool {
	s.refreshing.Lock()
	defer s.refreshing.Unlock()
	changed := s.republished
	s.republished = false
	return changed
}

// watchSlot ends the stream when the slot is lost: the server may keep a connection that is idle.
func (s *Source) watchSlot(ctx context.Context) error {
	st, err := s.SlotStatus(ctx)
	if err != nil {
		return err
	}
	if lost := st.lost(s.cfg.Slot); lost != nil {
		return lost
	}
	return nil
}
