package replica

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What is marked must tell every dead row and no other one, and each group once: the engine keeps any of several.
func TestDeadRows_marksAreTheSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d deadRows
		var m marks
		dead := map[uint32]bool{}
		rid := rapid.Uint32Range(0, 300)
		t.Repeat(map[string]func(*rapid.T){
			"die": func(t *rapid.T) {
				for _, r := range rapid.SliceOf(rid).Draw(t, "rids") {
					d.add(r)
					dead[r] = true
				}
			},
			"forget": func(t *rapid.T) {
				rids := rapid.SliceOf(rid).Draw(t, "rids")
				d.remove(rids)
				for _, r := range rids {
					delete(dead, r)
				}
			},
			"": func(t *rapid.T) {
				d.mark(&m)
				got, groups := map[uint32]bool{}, map[uint32]bool{}
				for i, g := range m.group {
					if groups[g] {
						t.Fatalf("group %d is marked twice", g)
					}
					groups[g] = true
					for bit := range uint32(1 << groupBits) {
						if m.alive[i]>>bit&1 == 0 {
							got[g<<groupBits+bit] = true
						}
					}
				}
				if diff := cmp.Diff(dead, got); diff != "" {
					t.Fatalf("dead rows (-want +got):\n%s", diff)
				}
			},
		})
	})
}

// A mask is loaded again only when nobody has it.
func TestLedger_idleMasksAreNobodys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &ledger{wake: func() {}}
		current := &object{mask: true, refs: 1}
		live := []*Snapshot{}
		all := map[*object]bool{current: true}
		t.Repeat(map[string]func(*rapid.T){
			"load": func(t *rapid.T) {
				next := l.takeIdle()
				if next == nil {
					next = l.created("died")
					next.mask = true
					all[next] = true
				}
				if next == current {
					t.Fatal("the current mask is loaded again")
				}
				for _, s := range live {
					if s.mask == next {
						t.Fatal("a mask is loaded again that a snapshot has")
					}
				}
				l.drop(current)
				current = next
			},
			"open": func(*rapid.T) { live = append(live, l.open(&Snapshot{mask: current})) },
			"release": func(t *rapid.T) {
				if len(live) == 0 {
					return
				}
				i := rapid.IntRange(0, len(live)-1).Draw(t, "snapshot")
				live[i].Release()
				live = append(live[:i], live[i+1:]...)
			},
			"drop": func(*rapid.T) {
				for _, o := range l.takeUnseen() {
					delete(all, o)
				}
			},
			"": func(t *rapid.T) {
				held := map[*object]bool{current: true}
				for _, s := range live {
					held[s.mask] = true
				}
				if n := len(l.idle); n > mostIdle || n+len(held)+len(l.unseen) != len(all) {
					t.Fatalf("of %d masks %d are held, %d idle and %d to be dropped", len(all), len(held), n, len(l.unseen))
				}
			},
		})
	})
}
