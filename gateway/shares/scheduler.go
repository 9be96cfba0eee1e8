package shares

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrClosed says that the scheduler takes no more queries.
var ErrClosed = errors.New("scheduler is closed")

// QueueFullError says that a tenant has as many queries waiting as it may.
type QueueFullError struct{ Tenant *Tenant }

func (e *QueueFullError) Error() string {
	return fmt.Sprintf("tenant %q has %d queries waiting already, which is its limit", e.Tenant.Name, e.Tenant.Limits.Queue)
}

// Scheduler decides which query runs next. T is what it orders. It is safe for concurrent use; one goroutine calls Take.
type Scheduler[T any] struct {
	slots     int
	directory *Directory
	clock     func() time.Time
	metrics   *Metrics

	mu       sync.Mutex
	edition  *edition
	accounts map[string]*account[T]
	running  int
	arrivals uint64
	// floor is how far the clocks of busy tenants had come when one last began to want CPU.
	floor  float64
	closed bool
	// wake tells Take that a query came or ended.
	wake chan struct{}
}

// NewScheduler returns a scheduler of a number of slots, which is how many queries run simultaneously.
func NewScheduler[T any](slots int, directory *Directory, clock func() time.Time, metrics *Metrics) *Scheduler[T] {
	return &Scheduler[T]{
		slots: slots, directory: directory, clock: clock, metrics: metrics,
		accounts: map[string]*account[T]{}, wake: make(chan struct{}, 1),
	}
}

// Enter queues a user's query. The error is a [*QueueFullError] or [ErrClosed].
func (s *Scheduler[T]) Enter(user string, item T) (*Ticket[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.ticket(user, item)
	if err != nil {
		return nil, err
	}
	a := t.account
	if most := a.tenant.Limits.Queue; most > 0 && len(a.waiting) >= most+s.certain(a) {
		a.meter.rejected.Inc()
		return nil, &QueueFullError{a.tenant}
	}
	s.want(a, func() { a.waiting = append(a.waiting, t) })
	s.signal()
	return t, nil
}

// EnterNow starts a user's query at once, if nobody waits and neither slots nor the tenant's own limit are in the way; nil if not.
func (s *Scheduler[T]) EnterNow(user string, item T) (*Ticket[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.ticket(user, item)
	if err != nil {
		return nil, err
	}
	a := t.account
	if s.running >= s.slots || a.room(s.slots) == 0 || s.waitingNow() > 0 {
		return nil, nil
	}
	s.want(a, func() { a.waiting = append(a.waiting, t) })
	s.begin(a)
	return t, nil
}

// Take waits until a query may run, and returns all that may now, in the order of their turn. Each holds a slot until its ticket is
// left. The error is that of ctx.
func (s *Scheduler[T]) Take(ctx context.Context) ([]*Ticket[T], error) {
	for {
		taken, changed := s.pick()
		if len(taken) > 0 {
			return taken, nil
		}
		select {
		case <-s.wake:
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close refuses what comes from now on and returns what waits.
func (s *Scheduler[T]) Close() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var left []T
	for _, a := range s.accounts {
		for _, t := range a.waiting {
			t.state = gone
			left = append(left, t.Item)
		}
		a.waiting = nil
	}
	return left
}

// Waiting is the number of queries that wait.
func (s *Scheduler[T]) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waitingNow()
}

func (s *Scheduler[T]) waitingNow() (n int) {
	for _, a := range s.accounts {
		n += len(a.waiting)
	}
	return n
}

// pick takes out of the queues what may run. changed is closed when another table is in force.
func (s *Scheduler[T]) pick() (taken []*Ticket[T], changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	for s.running < s.slots {
		next := s.next()
		if next == nil {
			break
		}
		taken = append(taken, s.begin(next))
	}
	return taken, s.edition.changed
}

// next is the account whose turn it is: of those that want a slot and may have one, that whose clock is furthest behind, and of
// several such that which has waited longest.
func (s *Scheduler[T]) next() *account[T] {
	var next *account[T]
	for _, a := range s.accounts {
		if !a.wants() {
			continue
		}
		if next == nil || a.clock < next.clock || a.clock == next.clock && a.waiting[0].number < next.waiting[0].number {
			next = a
		}
	}
	return next
}

// begin gives a slot to the account's first query, and charges what that is expected to consume.
func (s *Scheduler[T]) begin(a *account[T]) *Ticket[T] {
	t := a.waiting[0]
	a.waiting[0] = nil
	a.waiting = a.waiting[1:]
	s.running++
	a.running++
	t.state = running
	a.charge(t, a.expected)
	a.meter.queries.Inc()
	a.meter.queued.Add(s.clock().Sub(t.entered).Seconds())
	return t
}

// end gives a slot back and corrects what was charged.
func (s *Scheduler[T]) end(t *Ticket[T]) {
	a := t.account
	s.want(a, func() {
		s.running--
		a.running--
	})
	if t.ran {
		a.learn(t.used)
	}
	a.charge(t, max(t.used, leastCost))
	if s.idle() { // nobody waits, so nobody lost CPU time to another: the floor rises to the furthest clock, and no tenant begins with a debt or a credit
		for _, other := range s.accounts {
			s.floor = max(s.floor, other.clock)
		}
	}
	s.drop(a)
	s.signal()
}

// drop forgets an account whose tenant is not configured any more, once it has no queries.
func (s *Scheduler[T]) drop(a *account[T]) {
	name := a.tenant.Name
	if !a.busy() && a.yielded == 0 && s.edition.table.byName[name] == nil && s.accounts[name] == a {
		delete(s.accounts, name)
		s.metrics.forget(name)
	}
}

// want makes a change after which an account may want a slot. One that did not before has no credit from that time.
func (s *Scheduler[T]) want(a *account[T], change func()) {
	before := a.wants()
	change()
	if before || !a.wants() {
		return
	}
	if least, ok := s.leastOther(a); ok {
		s.floor = max(s.floor, least)
	}
	a.clock = max(a.clock, s.floor)
}

// leastOther is how far the clocks of all other busy accounts have come.
func (s *Scheduler[T]) leastOther(a *account[T]) (least float64, ok bool) {
	for _, other := range s.accounts {
		if other != a && other.busy() && (!ok || other.clock < least) {
			least, ok = other.clock, true
		}
	}
	return least, ok
}

// certain is how many queries of an account Take will start next, whatever others want: those do not wait for others to end.
func (s *Scheduler[T]) certain(a *account[T]) int {
	free := s.slots - s.running
	for _, other := range s.accounts {
		if other != a {
			free -= min(other.room(s.slots), len(other.waiting))
		}
	}
	return max(min(free, a.room(s.slots)), 0)
}

func (s *Scheduler[T]) idle() bool {
	for _, a := range s.accounts {
		if a.busy() {
			return false
		}
	}
	return true
}

// ticket makes a ticket for a user's query, which is not queued yet.
func (s *Scheduler[T]) ticket(user string, item T) (*Ticket[T], error) {
	if s.closed {
		return nil, ErrClosed
	}
	s.refresh()
	s.arrivals++
	return &Ticket[T]{
		Item: item, scheduler: s, account: s.account(s.edition.table.Of(user)), number: s.arrivals, entered: s.clock(),
	}, nil
}

// account returns a tenant's account, new if it has none.
func (s *Scheduler[T]) account(n *Tenant) *account[T] {
	a := s.accounts[n.Name]
	if a == nil {
		a = &account[T]{tenant: n, expected: firstCost, meter: s.metrics.of(n.Name)}
		s.accounts[n.Name] = a
	}
	return a
}

// refresh follows the directory: accounts get their tenants' new shares and limits. A tenant that is gone keeps its last ones until its queries
// have ended.
func (s *Scheduler[T]) refresh() {
	now := s.directory.current.Load()
	if now == s.edition {
		return
	}
	s.edition = now
	defer s.signal() // what waited may run now
	for name, a := range s.accounts {
		if n := now.table.byName[name]; n != nil {
			s.want(a, func() { a.tenant = n })
		}
		s.drop(a)
	}
}

func (s *Scheduler[T]) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
