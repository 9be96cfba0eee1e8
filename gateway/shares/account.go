package shares

import (
	"slices"
	"time"
)

// account is what a scheduler knows of one tenant.
type account[T any] struct {
	tenant *Tenant
	// waiting are the tenant's queries in the order of arrival.
	waiting []*Ticket[T]
	running int
	// yielded are queries in the engine that have given their slots to others.
	yielded int
	// clock is the CPU time in seconds that the tenant was charged, divided by its shares.
	clock float64
	// expected is what a query of the tenant is charged before it is known what it consumes.
	expected time.Duration
	meter    meter
}

const (
	// firstCost is what a tenant's first query is expected to consume.
	firstCost = 10 * time.Millisecond
	// leastCost is charged for any query: also those that need no CPU may not keep others waiting.
	leastCost = 100 * time.Microsecond
)

// wants reports whether a query of the account could run, if there were a slot.
func (a *account[T]) wants() bool { return len(a.waiting) > 0 && a.room(1) > 0 }

// room is how many more queries the tenant's own limit lets run, at most the given number.
func (a *account[T]) room(most int) int {
	if limit := a.tenant.Limits.Concurrency; limit > 0 {
		most = min(most, limit-a.running)
	}
	return max(most, 0)
}

func (a *account[T]) busy() bool { return a.running > 0 || len(a.waiting) > 0 }

// charge makes what a ticket is charged the given cost, and moves the account's clock by the difference.
func (a *account[T]) charge(t *Ticket[T], cost time.Duration) {
	moved := cost.Seconds() / float64(a.tenant.Shares)
	a.clock += moved - t.moved
	t.charged, t.moved = cost, moved
}

// learn makes the next query expected to consume about what the last ones did.
func (a *account[T]) learn(used time.Duration) {
	const weight = 4
	a.expected += (max(used, leastCost) - a.expected) / weight
}

// state is how far a query has come.
type state uint8

const (
	waiting state = iota
	running
	yielded
	gone
)

// Ticket is a query's place in the queue, then in the engine. Its methods are safe for concurrent use.
type Ticket[T any] struct {
	// Item is what was queued.
	Item T

	scheduler *Scheduler[T]
	account   *account[T]
	number    uint64
	entered   time.Time
	state     state
	// charged is the cost by which the tenant's clock was moved, moved is how far: shares may change before it is corrected.
	charged time.Duration
	moved   float64
	// used is what the engine has consumed; ran says that it told.
	used time.Duration
	ran  bool
}

// Charge adds CPU time that the engine has consumed for the query. More than was expected is charged at once, so that a long
// query holds its tenant back while it runs.
func (t *Ticket[T]) Charge(cpu time.Duration) {
	s, a := t.scheduler, t.account
	s.mu.Lock()
	defer s.mu.Unlock()
	t.ran = true
	t.used += cpu
	a.meter.cpu.Add(cpu.Seconds())
	if (t.state == running || t.state == yielded) && t.used > t.charged {
		a.charge(t, t.used)
	}
}

// Yield gives the slot of a running query to others, for as long as the query only waits for those who read its result.
// It does nothing for a query that has no slot.
func (t *Ticket[T]) Yield() {
	s, a := t.scheduler, t.account
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.state != running {
		return
	}
	t.state = yielded
	s.want(a, func() {
		s.running--
		a.running--
		a.yielded++
	})
	s.signal()
}

// Retake has a query that yielded its slot run again, at once: it is in the engine already, and more run than there are slots until another
// ends. It does nothing for a query that has not yielded.
func (t *Ticket[T]) Retake() {
	t.scheduler.mu.Lock()
	defer t.scheduler.mu.Unlock()
	t.retake()
}

func (t *Ticket[T]) retake() {
	if t.state != yielded {
		return
	}
	t.state = running
	t.scheduler.running++
	t.account.running++
	t.account.yielded--
}

// Leave ends the query, wherever it is: in the queue or in the engine. It may be called again.
func (t *Ticket[T]) Leave() {
	s := t.scheduler
	s.mu.Lock()
	defer s.mu.Unlock()
	t.retake()
	if t.state == running {
		s.end(t)
	}
	t.withdraw()
	t.state = gone
}

// Withdraw takes the query out of the queue; false when it does not wait any more.
func (t *Ticket[T]) Withdraw() bool {
	s := t.scheduler
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.withdraw()
}

func (t *Ticket[T]) withdraw() bool {
	if t.state != waiting {
		return false
	}
	t.state = gone
	a := t.account
	a.waiting = slices.DeleteFunc(a.waiting, func(other *Ticket[T]) bool { return other == t })
	t.scheduler.drop(a)
	return true
}
