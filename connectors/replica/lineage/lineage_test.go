package lineage

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// stored is a row of a delta.
type stored struct{ epoch, since, rid, key, value uint32 }

// model is a table of keys with a steady column, kept both as what it holds and as base and deltas.
type model struct {
	lineage Lineage
	epoch   uint32
	live    map[uint32]stored // by key
	rids    uint32
	dead    map[uint32]bool
	base    []stored
	at      uint32 // epoch of base
	deltas  []stored
}

func (m *model) bear(key, value, previous uint32, same bool) {
	m.rids++
	since := m.epoch
	if m.lineage.Columns() != nil {
		since = m.lineage.Born(m.epoch, m.rids, previous, same)
	}
	if previous != 0 {
		m.dead[previous] = true
	}
	r := stored{m.epoch, since, m.rids, key, value}
	m.live[key] = r
	m.deltas = append(m.deltas, r)
}

// check compares the live rows' steady column with what base and deltas show where it alone is read.
func (m *model) check(t *rapid.T) {
	if !m.lineage.Whole(m.at) {
		return
	}
	var want, got [][2]uint32
	for _, r := range m.live {
		want = append(want, [2]uint32{r.key, r.value})
	}
	for _, r := range m.base {
		got = append(got, [2]uint32{r.key, r.value})
	}
	for _, r := range m.deltas {
		if r.since > m.at && (!m.lineage.Buried(m.at) || !m.dead[r.rid]) {
			got = append(got, [2]uint32{r.key, r.value})
		}
	}
	order := func(a, b [2]uint32) int { return slices.Compare(a[:], b[:]) }
	slices.SortFunc(want, order)
	slices.SortFunc(got, order)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("steady column in epoch %d, base of epoch %d (-want +got):\n%s", m.epoch, m.at, diff)
	}
}

func TestLineage_baseAndYoungLinesAreTheTable(t *testing.T) {
	whole := 0
	rapid.Check(t, func(t *rapid.T) {
		m := &model{epoch: 1, live: map[uint32]stored{}, dead: map[uint32]bool{}}
		var cuts []model // bases that are being built
		key := rapid.Uint32Range(1, 6)
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				if k := key.Draw(t, "key"); m.live[k].rid == 0 {
					m.bear(k, rapid.Uint32Range(1, 3).Draw(t, "value"), 0, false)
				}
			},
			"update": func(t *rapid.T) {
				if old := m.live[key.Draw(t, "key")]; old.rid != 0 {
					m.bear(old.key, old.value, old.rid, rapid.IntRange(0, 9).Draw(t, "known") > 0)
				}
			},
			"change": func(t *rapid.T) {
				if old := m.live[key.Draw(t, "key")]; old.rid != 0 && rapid.Bool().Draw(t, "really") {
					m.bear(old.key, old.value+1, old.rid, false)
				}
			},
			"delete": func(t *rapid.T) {
				if old := m.live[key.Draw(t, "key")]; old.rid != 0 && rapid.Bool().Draw(t, "really") {
					if m.lineage.Columns() != nil {
						m.lineage.Died(m.epoch, old.rid)
					}
					m.dead[old.rid] = true
					delete(m.live, old.key)
				}
			},
			"truncate": func(t *rapid.T) {
				if rapid.IntRange(0, 5).Draw(t, "really") > 0 {
					return
				}
				m.epoch++ // a truncation comes before what its epoch bears
				m.lineage.Cleared(m.epoch)
				m.live, m.base, m.deltas, cuts = map[uint32]stored{}, nil, nil, nil
			},
			"follow": func(t *rapid.T) {
				if m.lineage.Columns() == nil || rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					m.lineage.Follow([]int{0}, m.epoch)
					m.epoch++
				}
			},
			"epoch": func(*rapid.T) { m.epoch++ },
			"cut": func(*rapid.T) {
				if len(cuts) == 0 {
					cuts = append(cuts, model{epoch: m.epoch, live: maps.Clone(m.live)})
					m.epoch++
				}
			},
			"install": func(*rapid.T) {
				if len(cuts) == 0 {
					return
				}
				c := cuts[0]
				cuts = nil
				m.base, m.at = slices.Collect(maps.Values(c.live)), c.epoch
				m.deltas = slices.DeleteFunc(m.deltas, func(r stored) bool { return r.epoch <= c.epoch })
				m.lineage.Rebased(c.epoch)
			},
			"": func(t *rapid.T) {
				m.check(t)
				if m.lineage.Whole(m.at) && len(m.deltas) > 0 {
					whole++
				}
			},
		})
	})
	if whole == 0 {
		t.Error("no base stayed whole while something changed")
	}
}

func TestDigests_knowsWhatItWasTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d Digests
		rid := rapid.SampledFrom([]uint32{1, 2, chunkRows - 1, chunkRows, 5*chunkRows + 7})
		digest := rapid.SampledFrom([]uint64{0, 1, 1 << 15, 1 << 16, 3 << 16, 1 << 48, 1<<48 | 1<<16, 1<<64 - 1})
		told := map[uint32]uint64{}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				r := rid.Draw(t, "rid")
				told[r] = digest.Draw(t, "digest")
				d.Set(r, told[r])
			},
			"": func(t *rapid.T) {
				r, v := rid.Draw(t, "rid"), digest.Draw(t, "digest")
				was, there := told[r]
				if got, want := d.Same(r, v), there && known(was)>>16 == known(v)>>16; got != want {
					t.Fatalf("row %d with digest %x is the same as %x: %v, want %v", r, was, v, got, want)
				}
			},
		})
	})
}
