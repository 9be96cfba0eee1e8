package shares

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// three tenants of 4:2:1, each with a user of the same name.
func three() []Tenant {
	return []Tenant{
		{Name: "gold", Users: []string{"gold"}, Shares: 400},
		{Name: "silver", Users: []string{"silver"}, Shares: 200},
		{Name: "bronze", Users: []string{"bronze"}, Shares: 100},
	}
}

// within checks that users consumed CPU in the ratio of want.
func within(t *testing.T, consumed map[string]time.Duration, want map[string]float64, tolerance float64) {
	t.Helper()
	var sum time.Duration
	weights := 0.0
	for user, w := range want {
		sum += consumed[user]
		weights += w
	}
	for user, w := range want {
		entitled := sum.Seconds() * w / weights
		if off := consumed[user].Seconds()/entitled - 1; math.Abs(off) > tolerance {
			t.Errorf("%s consumed %v, %+.1f %% of its part of %v", user, consumed[user], 100*off, sum)
		}
	}
}

var fourTwoOne = map[string]float64{"gold": 4, "silver": 2, "bronze": 1}

func TestScheduler_dividesCPUBySharesUnderContention(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, cost := range map[string][3]func() time.Duration{
		"equal queries":               {fixed(20 * time.Millisecond), fixed(20 * time.Millisecond), fixed(20 * time.Millisecond)},
		"random queries":              {between(r, 1e6, 100e6), between(r, 1e6, 100e6), between(r, 1e6, 100e6)},
		"the poorest has the longest": {between(r, 5e6, 10e6), between(r, 20e6, 50e6), between(r, 100e6, 300e6)},
		"the richest has the longest": {between(r, 100e6, 300e6), between(r, 20e6, 50e6), between(r, 5e6, 10e6)},
	} {
		for _, slots := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s in %d slots", name, slots), func(t *testing.T) {
				s := simulate(t, slots, 2, three()...)
				for i, user := range []string{"gold", "silver", "bronze"} {
					s.clients(slots+2, user, step, cost[i])
				}
				s.run(2 * time.Second)
				within(t, s.run(40*time.Second), fourTwoOne, 0.05)
			})
		}
	}
}

func TestScheduler_leavesToOthersWhatATenantDoesNotUse(t *testing.T) {
	s := simulate(t, 4, 2, three()...)
	s.clients(1, "gold", 90*time.Millisecond, fixed(10*time.Millisecond)) // wants a twentieth of the CPU
	s.clients(6, "silver", step, fixed(20*time.Millisecond))
	s.clients(6, "bronze", step, fixed(20*time.Millisecond))
	s.run(time.Second)
	got := s.run(20 * time.Second)
	within(t, got, map[string]float64{"silver": 2, "bronze": 1}, 0.05)
	if total := got["gold"] + got["silver"] + got["bronze"]; total < 39*time.Second {
		t.Errorf("%v of 40 s of CPU were used", total)
	}
	if got["gold"] < 1500*time.Millisecond {
		t.Errorf("the tenant that wants little got %v", got["gold"])
	}
}

func TestScheduler_idleTimeIsNoCredit(t *testing.T) {
	s := simulate(t, 4, 2, three()...)
	s.clients(6, "silver", step, fixed(20*time.Millisecond))
	s.run(30 * time.Second)
	s.clients(6, "gold", step, fixed(20*time.Millisecond))
	s.clients(6, "bronze", step, fixed(20*time.Millisecond))
	within(t, s.run(2*time.Second), fourTwoOne, 0.1)
}

func TestScheduler_useOfAnIdleEngineIsNoDebt(t *testing.T) {
	s := simulate(t, 4, 2, three()...)
	left := 1
	s.clients(1, "silver", step, func() time.Duration { // one query that runs for long while nobody else is there
		if left--; left == 0 {
			return 20 * time.Second
		}
		return 20 * time.Millisecond
	})
	s.run(30 * time.Second)
	s.clients(5, "silver", step, fixed(20*time.Millisecond))
	s.clients(6, "bronze", step, fixed(20*time.Millisecond))
	within(t, s.run(5*time.Second), map[string]float64{"silver": 2, "bronze": 1}, 0.1)
}

func TestScheduler_longQueryHoldsItsTenantBackWhileItRuns(t *testing.T) {
	s := simulate(t, 2, 2, three()...)
	s.clients(1, "bronze", step, fixed(time.Hour))
	s.clients(2, "bronze", step, fixed(20*time.Millisecond))
	s.clients(2, "gold", step, fixed(20*time.Millisecond))
	s.run(time.Second)
	if s.run(10 * time.Second); s.answered["bronze"] > 5 {
		t.Errorf("bronze's short queries ran %d times, though its long one has taken more than its part", s.answered["bronze"])
	}
}

func TestScheduler_followsChangedSharesAndLimits(t *testing.T) {
	s := simulate(t, 4, 2, three()...)
	for _, user := range []string{"gold", "silver", "bronze"} {
		s.clients(6, user, step, fixed(20*time.Millisecond))
	}
	s.run(5 * time.Second)
	changed := three()
	changed[0].Shares, changed[2].Shares = 100, 400
	s.directory.Set(table(t, changed...))
	within(t, s.run(20*time.Second), map[string]float64{"gold": 1, "silver": 2, "bronze": 4}, 0.05)
	changed[2].Limits.Concurrency = 1
	s.directory.Set(table(t, changed...))
	s.run(time.Second)
	got := s.run(20 * time.Second)
	if most := 21 * time.Second; got["bronze"] > most/2+time.Second { // one of four slots, of two cores
		t.Errorf("bronze consumed %v with one query at a time", got["bronze"])
	}
	within(t, got, map[string]float64{"gold": 1, "silver": 2}, 0.05)
}
