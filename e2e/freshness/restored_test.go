package freshness

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/e2e/endpoint"
	"github.com/freshet-io/freshet/e2e/stand"
)

var (
	restores    = flag.Int("restores", 4, "random histories around a data folder that is put back")
	restoreSeed = flag.Uint64("restore-seed", 0, "seed of these; 0 for a random one")
)

// history is what the counters were, as the database has it now.
type history struct {
	n      map[int]int64
	totals []int64 // after each transaction; the last one is now's
	next   int64   // a value that no counter ever had
}

func (h *history) clone() history { return history{maps.Clone(h.n), slices.Clone(h.totals), h.next} }

// write commits some transactions, between which the log grows by more or less.
func (h *history) write(t *testing.T, r *rig, random *rand.Rand) {
	t.Helper()
	direct := r.direct(t)
	for range random.IntN(5) {
		switch random.IntN(4) {
		case 0:
			exec(t, direct, "SELECT pg_switch_wal()")
		case 1:
			exec(t, direct, "SELECT pg_logical_emit_message(false, 'test', repeat('x', $1))", 1<<random.IntN(18))
		default:
			id := 1 + random.IntN(10)
			exec(t, direct, "UPDATE counter SET n = $1 WHERE id = $2", h.next, id)
			h.n[id], h.next = h.next, 2*h.next // so that no two sums are equal
			total := int64(0)
			for _, n := range h.n {
				total += n
			}
			h.totals = append(h.totals, total)
		}
	}
}

// check requires that sessions see a state that the database has had, and with strong reads the present one. It reports whether all were answered by
// the replica.
func (h *history) check(t *testing.T, r *rig) (columnar bool) {
	t.Helper()
	columnar = true
	for _, mode := range modes {
		s := r.session(t, mode)
		got, route := total(t, s), show(t, s, "freshet.last_route")
		if !slices.Contains(h.totals, got) || mode == strong && got != h.totals[len(h.totals)-1] {
			t.Fatalf("%s: a read sees %d by route %s, and the database had %d", mode, got, route, h.totals)
		}
		columnar = columnar && route == "columnar"
	}
	return columnar
}

// A data folder is put back to an earlier state at a random point of a random history. Whether the gateway notices, goes on because nothing is lost, or was
// not there: its sessions see what their database has.
func TestEndpoint_afterRandomRestores(t *testing.T) {
	seed := *restoreSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("histories by -restore-seed %d", seed)
	for n := range *restores {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			r := newRig(t)
			h := history{n: map[int]int64{}, totals: []int64{0}, next: 1}
			h.write(t, r, random)
			putBack := stand.KeepFolder(t, r.postgres)
			kept := h.clone()
			h.write(t, r, random)
			for told := random.IntN(2) > 0; told && !h.check(t, r); { // until the replica has all
			}
			stopped := random.IntN(2) > 0
			if stopped {
				r.gateway.Stop()
			}
			putBack()
			kept.next = h.next
			h = kept
			h.write(t, r, random)
			if stopped {
				r.gateway = endpoint.Start(t, r.postgres, r.engine, database)
			}
			r.awaitDecision(t, &h)
			h.write(t, r, random)
			h.check(t, r)
		})
	}
}

// awaitDecision waits until the replica answers again or says that it cannot.
func (r *rig) awaitDecision(t *testing.T, h *history) {
	t.Helper()
	ctx := stand.Within(t, time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !h.check(t, r) {
		if why := r.gateway.Status().Stopped; why != nil {
			if t.Logf("stopped: %+v", why); why.Code != cdc.CodeSourceMismatch {
				t.Errorf("the replica stopped with %s, want %s", why.Code, cdc.CodeSourceMismatch)
			}
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the replica neither answers nor says why: %+v", r.gateway.Status())
		}
	}
}
