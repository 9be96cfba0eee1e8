package shares

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"
)

// machine drives a scheduler at random and checks its invariants after every step.
type machine struct {
	scheduler *Scheduler[int]
	directory *Directory
	now       time.Time
	slots     int
	next      int
	waiting   map[int]*Ticket[int]
	running   map[int]*Ticket[int]
	yielded   map[int]*Ticket[int]
	retaken   int // of those that run, how many yielded once: they may be more than there are slots
}

var users = []string{"ann", "bob", "cid", "stranger"}

// tenants draws a table in which strangers are everyone's tenant.
func tenants(t *rapid.T) *Table {
	var list []Tenant
	for _, user := range users[:3] {
		if !rapid.Bool().Draw(t, "configured") {
			continue
		}
		list = append(list, Tenant{Name: user, Users: []string{user}, Shares: rapid.IntRange(1, MaxShares).Draw(t, "shares"), Limits: Limits{
			Concurrency: rapid.IntRange(0, 3).Draw(t, "concurrency"), Queue: rapid.IntRange(0, 4).Draw(t, "queue"),
		}})
	}
	out, err := NewTable(list)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func newMachine(t *rapid.T) *machine {
	m := &machine{
		directory: NewDirectory(), now: time.Unix(0, 0), slots: rapid.IntRange(1, 5).Draw(t, "slots"),
		waiting: map[int]*Ticket[int]{}, running: map[int]*Ticket[int]{}, yielded: map[int]*Ticket[int]{},
	}
	m.directory.Set(tenants(t))
	m.scheduler = NewScheduler[int](m.slots, m.directory, func() time.Time { return m.now }, NewMetrics(prometheus.NewRegistry()))
	return m
}

func (m *machine) enter(t *rapid.T) {
	user := rapid.SampledFrom(users).Draw(t, "user")
	enter, into := m.scheduler.Enter, m.waiting
	if rapid.Bool().Draw(t, "now") {
		enter, into = m.scheduler.EnterNow, m.running
	}
	m.next++
	ticket, err := enter(user, m.next)
	var full *QueueFullError
	switch limits := m.directory.Of(user).Limits; {
	case errors.As(err, &full):
		if limits.Queue == 0 {
			t.Fatalf("refused without a limit: %v", err)
		}
	case err != nil:
		t.Fatal(err)
	case ticket != nil:
		into[m.next] = ticket
	}
}

func (m *machine) take(*rapid.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	taken, _ := m.scheduler.Take(ended) // nothing may run: its error is that of the context
	for _, ticket := range taken {
		m.running[ticket.Item] = ticket
		delete(m.waiting, ticket.Item)
	}
}

func (m *machine) leave(t *rapid.T) {
	for _, tickets := range []map[int]*Ticket[int]{m.running, m.yielded, m.waiting} {
		if len(tickets) == 0 || !rapid.Bool().Draw(t, "leave") {
			continue
		}
		i := rapid.SampledFrom(keys(tickets, m.next)).Draw(t, "which")
		tickets[i].Charge(time.Duration(rapid.IntRange(0, 1000).Draw(t, "ms")) * time.Millisecond)
		tickets[i].Leave()
		tickets[i].Leave()
		delete(tickets, i)
	}
}

func (m *machine) yield(t *rapid.T) { m.move(t, m.running, m.yielded, (*Ticket[int]).Yield) }

func (m *machine) retake(t *rapid.T) {
	if m.move(t, m.yielded, m.running, (*Ticket[int]).Retake) {
		m.retaken++
	}
}

// move changes one of some tickets, twice as that must make no difference; false if there is none.
func (m *machine) move(t *rapid.T, from, to map[int]*Ticket[int], change func(*Ticket[int])) bool {
	if len(from) == 0 {
		return false
	}
	i := rapid.SampledFrom(keys(from, m.next)).Draw(t, "which")
	change(from[i])
	change(from[i])
	to[i] = from[i]
	delete(from, i)
	return true
}

func keys(tickets map[int]*Ticket[int], last int) (out []int) {
	for i := range last + 1 { // in order, so that a failure can be repeated
		if tickets[i] != nil {
			out = append(out, i)
		}
	}
	return out
}

func (m *machine) reconfigure(t *rapid.T) { m.directory.Set(tenants(t)) }

// check is called after every step. Limits may have been lowered meanwhile: a tenant above its limit only may not get more.
func (m *machine) check(t *rapid.T) {
	s := m.scheduler
	running, yielded, waiting := 0, 0, 0
	for name, a := range s.accounts {
		running += a.running
		yielded += a.yielded
		waiting += len(a.waiting)
		if s.running < m.slots && a.wants() && len(s.wake) == 0 && s.edition == m.directory.current.Load() {
			t.Fatalf("%s waits beside a free slot, and nobody was woken", name)
		}
		if len(a.waiting) > 0 && a.clock < 0 {
			t.Fatalf("%s has a clock of %v", name, a.clock)
		}
	}
	if running != s.running || running != len(m.running) || yielded != len(m.yielded) || waiting != len(m.waiting) {
		t.Fatalf("%d running, %d yielded, %d waiting, %d slots taken; want %d running, %d yielded, %d waiting",
			running, yielded, waiting, s.running, len(m.running), len(m.yielded), len(m.waiting))
	}
	if s.running > m.slots+m.retaken {
		t.Fatalf("%d run in %d slots, %d have come back", s.running, m.slots, m.retaken)
	}
}

func TestScheduler_keepsItsInvariantsWhateverComes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"enter": m.enter, "take": m.take, "leave": m.leave, "yield": m.yield, "retake": m.retake, "reconfigure": m.reconfigure, "": m.check,
		})
	})
}

func TestScheduler_neverExceedsConcurrencyAndStartsWhatMayRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			m.enter(t)
			m.take(t)
			for name, a := range m.scheduler.accounts {
				most := a.tenant.Limits.Concurrency
				if most > 0 && a.running > most {
					t.Fatalf("%s runs %d, its limit is %d", name, a.running, most)
				}
				if m.scheduler.running < m.slots && a.wants() {
					t.Fatalf("%s waits beside a free slot", name)
				}
				if q := a.tenant.Limits.Queue; q > 0 && len(a.waiting) > q {
					t.Fatalf("%s has %d waiting, its limit is %d", name, len(a.waiting), q)
				}
			}
			m.leave(t)
		}
	})
}

func TestScheduler_everyQueryIsRunWhileOthersKeepComing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := NewDirectory()
		poor := Tenant{Name: "poor", Users: []string{"poor"}, Shares: 1}
		rich := Tenant{Name: "rich", Users: []string{"rich"}, Shares: rapid.IntRange(1, MaxShares).Draw(t, "shares")}
		both, err := NewTable([]Tenant{poor, rich})
		if err != nil {
			t.Fatal(err)
		}
		d.Set(both)
		s := NewScheduler[*string](1, d, time.Now, NewMetrics(prometheus.NewRegistry()))
		enter := func(user string) *Ticket[*string] {
			ticket, err := s.Enter(user, &user)
			if err != nil {
				t.Fatal(err)
			}
			return ticket
		}
		first := enter("poor")
		tickets := []*Ticket[*string]{enter("rich"), enter("rich")}
		cost := time.Duration(rapid.IntRange(0, 50).Draw(t, "ms")) * time.Millisecond
		// The clock of the rich moves by at least the least cost, that of the poor waits at what one query was expected to cost.
		most := 2 + 2*MaxShares*int(firstCost/leastCost)
		for n := 0; first.state == waiting; n++ {
			if n > most {
				t.Fatalf("the poor tenant's query still waits after %d others", n)
			}
			if taken, _ := s.pick(); len(taken) != 1 {
				t.Fatalf("%d queries were started in one slot", len(taken))
			}
			if tickets[0].state == running {
				tickets[0].Charge(cost)
				tickets[0].Leave()
				tickets = append(tickets[1:], enter("rich"))
			}
		}
	})
}
