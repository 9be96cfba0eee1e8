package freshness

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// commits is a source whose position grows with every commit.
type commits struct {
	at    atomic.Uint64
	calls atomic.Int64
}

func (c *commits) Current(context.Context) (cdc.Position, error) {
	c.calls.Add(1)
	return cdc.Position{Major: c.at.Load()}, nil
}

// follower records the newest position that was waited for.
type follower struct {
	mu  sync.Mutex
	max cdc.Position
}

func (f *follower) Await(_ context.Context, p cdc.Position) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.max.Before(p) {
		f.max = p
	}
	return nil
}

func TestGate_strongNeverMissesACommitBeforeIt(t *testing.T) {
	source, replica := &commits{}, &follower{}
	g := NewGate(source, replica)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				mine := cdc.Position{Major: source.at.Add(1)}
				if err := g.Wait(t.Context(), Requirement{Mode: Strong}); err != nil {
					t.Error(err)
				}
				replica.mu.Lock()
				if replica.max.Before(mine) {
					t.Errorf("waited for %v only, own commit is %v", replica.max, mine)
				}
				replica.mu.Unlock()
			}
		})
	}
	all.Wait()
}

func TestGate_waitsForWhatTheRequirementNames(t *testing.T) {
	for _, c := range []struct {
		name string
		need Requirement
		want uint64
	}{
		{"bounded", Requirement{}, 0},
		{"bounded with token", Requirement{Min: cdc.Position{Major: 5}}, 5},
		{"bounded after own write", Requirement{OwnWrites: true}, 40},
		{"strong", Requirement{Mode: Strong, Min: cdc.Position{Major: 5}}, 40},
		{"strong with a later token", Requirement{Mode: Strong, Min: cdc.Position{Major: 50}}, 50},
		{"eventual after own write", Requirement{Mode: Eventual, OwnWrites: true}, 0},
		{"eventual with token", Requirement{Mode: Eventual, Min: cdc.Position{Major: 7}}, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			source, replica := &commits{}, &follower{}
			source.at.Store(40)
			if err := NewGate(source, replica).Wait(t.Context(), c.need); err != nil {
				t.Fatal(err)
			}
			if replica.max.Major != c.want {
				t.Errorf("waited for %v, want %d", replica.max, c.want)
			}
		})
	}
}
