package replica

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// mostRefused is for how long the engine may refuse a table's next base before the table is copied anew. All its changes stay in memory meanwhile, and the
// source keeps everything since.
const mostRefused = 2 * time.Minute

var (
	errRefused = errors.New("the columnar engine refuses to compact the table")
	errDamaged = errors.New("the columnar engine's files of the table are damaged")
)

// ofEngine reports whether a table does not fit by the engine's doing, not by that of its changes.
func ofEngine(err error) bool { return errors.Is(err, errRefused) || errors.Is(err, errDamaged) }

// Suspect is to be told why the engine refused a query on a snapshot. A table whose files are damaged is copied anew: only those who read it meet them, and
// as long as it does not change no compaction does.
func (r *Replica) Suspect(refused error) {
	if !engine.Damaged(refused) {
		return
	}
	select {
	case r.suspicions <- refused:
	default: // others told of some; if it is another table, the next query that reads it tells again
	}
}

// suspect has the table copied anew that the engine's words name.
func (c *compactor) suspect(ctx context.Context, refused error) error {
	named := map[string]bool{}
	for _, word := range regexp.MustCompile(`\w+`).FindAllString(refused.Error(), -1) {
		named[word] = true
	}
	var found *table
	err := c.s.publisher.do(ctx, func() {
		for _, t := range c.s.publisher.tables {
			for _, o := range append(objects(t.stored.deltas), t.stored.base) {
				if o != nil && named[o.name] {
					found = t
				}
			}
		}
	})
	if err != nil || found == nil { // it may have another base by now
		return err
	}
	c.s.log.Warn("files of the columnar engine are damaged", "table", found.def.FullName(), "error", refused)
	c.s.distrust(found, fmt.Errorf("%w: %w", errDamaged, refused))
	return nil
}

// built notes how the building of a table's next base ended. Another copy helps if the base is damaged.
func (s *session) built(t *table, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.refusedTooLong(err, s.r.clock()) && s.tables[t.def.ID] == t {
		s.misfit(t, fmt.Errorf("%w: %w", errRefused, err))
		s.wake()
	}
}

// refusedTooLong reports whether the engine has done nothing but refuse for mostRefused. A lack of memory or disk does not count: it is no
// table's fault, and a copy takes more of both.
func (t *table) refusedTooLong(err error, now time.Time) bool {
	switch {
	case !engine.Refused(err) || engine.MemoryExceeded(err) || engine.DiskFull(err):
		t.refused = time.Time{}
	case t.refused.IsZero():
		t.refused = now
	}
	return !t.refused.IsZero() && now.Sub(t.refused) >= mostRefused
}
