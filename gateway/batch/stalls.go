package batch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/freshet-io/freshet/gateway/shares"
)

// patience is for how long a reader may keep the engine waiting although others need its place among [Config.Stalled].
const patience = 10 * time.Second

// ErrStalled ends a query whose reader took nothing for long while too many did so.
var ErrStalled = errors.New("the client reads its result too slowly while many do")

// stalls are the executions that yielded their slots because a reader keeps the engine waiting. What is in the engine and in
// the spools for them is bounded by their number.
type stalls struct {
	most  int
	clock func() time.Time

	mu      sync.Mutex
	current []*stall // the longest first
}

// stall is one time that a reader keeps the engine waiting.
type stall struct {
	since time.Time
	end   context.CancelCauseFunc
}

// enter registers a stall; end ends its execution. If as many stalls as may be are there, the longest makes room by being ended,
// provided that it has lasted for [patience]; otherwise enter returns nil.
func (s *stalls) enter(end context.CancelCauseFunc) *stall {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	if len(s.current) >= s.most {
		longest := s.current[0]
		if now.Sub(longest.since) < patience {
			return nil
		}
		longest.end(ErrStalled)
		s.current = slices.Delete(s.current, 0, 1)
	}
	added := &stall{since: now, end: end}
	s.current = append(s.current, added)
	return added
}

// leave takes a stall out; nil is none.
func (s *stalls) leave(gone *stall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.current, gone); i >= 0 {
		s.current = slices.Delete(s.current, i, i+1)
	}
}

// now is how many stall at the moment.
func (s *stalls) now() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.current)
}

// slot is an execution's place in the engine: the slot of its ticket or, while a reader keeps the engine waiting, one among the stalls.
// It is used by one goroutine.
type slot struct {
	stalls *stalls
	ticket *shares.Ticket[*Query]
	end    context.CancelCauseFunc
	stall  *stall // nil: none
}

func (s *slot) yield() {
	if s.stall != nil {
		return
	}
	if s.stall = s.stalls.enter(s.end); s.stall != nil {
		s.ticket.Yield()
	}
}

func (s *slot) retake() {
	if s.stall != nil {
		s.stalls.leave(s.stall)
		s.stall = nil
		s.ticket.Retake()
	}
}

// leave gives the place up.
func (s *slot) leave() {
	s.stalls.leave(s.stall)
	s.ticket.Leave()
}
