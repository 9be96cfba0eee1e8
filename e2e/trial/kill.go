package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// KillAll kills processes at random instants, each of the components at least once: most of them while everything works,
// some while another one recovers.
func (p *Platform) KillAll(t *testing.T, components []string, kills int, r *rand.Rand) {
	t.Helper()
	killed := map[string]int{}
	for i := range kills {
		if i < len(components) || r.IntN(3) > 0 {
			p.recover(t)
		}
		pause(t.Context(), time.Duration(r.IntN(2500))*time.Millisecond)
		name := components[i%len(components)]
		if i >= 2*len(components) {
			name = components[r.IntN(len(components))]
		}
		pid := p.kill(t, name)
		killed[name]++
		t.Logf("kill %d: %s (pid %d)", i+1, name, pid)
	}
	p.recover(t)
	t.Logf("killed %v", killed)
}

// recover waits until the replica answers freshly, and tells how long that took.
func (p *Platform) recover(t *testing.T) {
	t.Helper()
	start := time.Now()
	p.Eventually(t, "recovery", p.ColumnarAnswer)
	t.Logf("recovered in %.1f s", time.Since(start).Seconds())
}

// kill kills one server with SIGKILL as soon as it is up, and returns when another process has taken its place.
func (p *Platform) kill(t *testing.T, name string) (pid int) {
	t.Helper()
	victim := p.Component(t.Context(), t, name)
	p.Eventually(t, name+" up", func(ctx context.Context) error {
		if victim = p.Component(ctx, t, name); !victim.Up {
			return fmt.Errorf("%s is down: %s", name, victim.Problem)
		}
		return nil
	})
	if err := victim.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatalf("kill %s: %v", name, err)
	}
	p.Eventually(t, name+" restarted", func(ctx context.Context) error {
		if c := p.Component(ctx, t, name); !c.Up || c.Process.PID == victim.Process.PID {
			return errors.New("not yet")
		}
		return nil
	})
	return victim.Process.PID
}

// Suspend stops a server's process for a time, without ending it.
func (p *Platform) Suspend(t *testing.T, name string, d time.Duration) {
	t.Helper()
	c := p.Component(t.Context(), t, name)
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatalf("suspend %s: %v", name, err)
	}
	pause(t.Context(), d)
	if err := c.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatalf("resume %s: %v", name, err)
	}
}
