package shares

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// simulation is an engine with cores that its running queries share evenly, and clients that wait for each answer before
// they ask again.
type simulation struct {
	t         testing.TB
	now       time.Time
	cores     float64
	directory *Directory
	scheduler *Scheduler[*job]
	running   []*job
	resting   []*job
	consumed  map[string]time.Duration
	answered  map[string]int
}

// job is a client, and the query that it waits for.
type job struct {
	user   string
	cost   func() time.Duration
	pause  time.Duration // between an answer and the next question
	wakes  time.Time
	left   time.Duration
	ticket *Ticket[*job]
}

const step = time.Millisecond

func table(t testing.TB, tenants ...Tenant) *Table {
	t.Helper()
	out, err := NewTable(tenants)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func simulate(t testing.TB, slots int, cores float64, tenants ...Tenant) *simulation {
	t.Helper()
	s := &simulation{
		t: t, now: time.Unix(0, 0), cores: cores, directory: NewDirectory(),
		consumed: map[string]time.Duration{}, answered: map[string]int{},
	}
	s.directory.Set(table(t, tenants...))
	s.scheduler = NewScheduler[*job](slots, s.directory, func() time.Time { return s.now }, NewMetrics(prometheus.NewRegistry()))
	return s
}

// clients adds clients of a user.
func (s *simulation) clients(n int, user string, pause time.Duration, cost func() time.Duration) {
	for range n {
		s.resting = append(s.resting, &job{user: user, pause: pause, cost: cost, wakes: s.now})
	}
}

// run lets time pass, and returns what each tenant's user consumed in it.
func (s *simulation) run(d time.Duration) map[string]time.Duration {
	s.t.Helper()
	clear(s.consumed)
	clear(s.answered)
	for end := s.now.Add(d); s.now.Before(end); s.now = s.now.Add(step) {
		s.ask()
		s.start()
		s.work()
	}
	return s.consumed
}

func (s *simulation) ask() {
	still := s.resting[:0]
	for _, j := range s.resting {
		if j.wakes.After(s.now) {
			still = append(still, j)
			continue
		}
		var err error
		if j.ticket, err = s.scheduler.Enter(j.user, j); err != nil {
			s.t.Fatal(err)
		}
		j.left = j.cost()
	}
	s.resting = still
}

func (s *simulation) start() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		taken, err := s.scheduler.Take(ended)
		if err != nil {
			return
		}
		for _, ticket := range taken {
			s.running = append(s.running, ticket.Item)
		}
	}
}

func (s *simulation) work() {
	if len(s.running) == 0 {
		return
	}
	share := time.Duration(min(1, s.cores/float64(len(s.running))) * float64(step))
	still := s.running[:0]
	for _, j := range s.running {
		used := min(share, j.left)
		j.left -= used
		j.ticket.Charge(used)
		s.consumed[j.user] += used
		if j.left > 0 {
			still = append(still, j)
			continue
		}
		j.ticket.Leave()
		s.answered[j.user]++
		j.wakes = s.now.Add(j.pause)
		s.resting = append(s.resting, j)
	}
	s.running = still
}

func fixed(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// between costs anything from low to high.
func between(r *rand.Rand, low, high time.Duration) func() time.Duration {
	return func() time.Duration { return low + time.Duration(r.Int64N(int64(high-low))) }
}
