package replica

import (
	"errors"
	"fmt"
	"time"

	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// mostRefused is for how long the engine may refuse a table's next base before the table is copied anew. All its changes stay in memory meanwhile, and the
// source keeps everything since.
const mostRefused = 2 * time.Minute

var errRefused = errors.New("the columnar engine refuses to compact the table")

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
