package rowindex

import (
	"encoding/binary"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

func TestIndex_behavesLikeAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, model := New(), map[uint64]uint32{}
		// Few distinct homes, so that entries collide, wrap around and move on deletion.
		hash := rapid.Custom(func(t *rapid.T) uint64 {
			return rapid.Uint64Range(0, 3).Draw(t, "shard")<<62 |
				rapid.Uint64Range(0, 5).Draw(t, "home")<<55 | rapid.Uint64Range(0, 9).Draw(t, "low")
		})
		rid := rapid.Uint32Range(1, 1<<31)
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				h, r := hash.Draw(t, "hash"), rid.Draw(t, "rid")
				_, there := model[h]
				if x.Insert(h, r) == there {
					t.Fatalf("insert %x reported %v", h, there)
				}
				if !there {
					model[h] = r
				}
			},
			"replace": func(t *rapid.T) {
				h, r := hash.Draw(t, "hash"), rid.Draw(t, "rid")
				old, there := model[h]
				if got := x.Replace(h, r); got != old {
					t.Fatalf("replace %x returned %d, want %d", h, got, old)
				}
				if there {
					model[h] = r
				}
			},
			"delete": func(t *rapid.T) {
				h := hash.Draw(t, "hash")
				if got := x.Delete(h); got != model[h] {
					t.Fatalf("delete %x returned %d, want %d", h, got, model[h])
				}
				delete(model, h)
			},
			"": func(t *rapid.T) {
				if x.Len() != len(model) {
					t.Fatalf("len %d, want %d", x.Len(), len(model))
				}
				for h, r := range model {
					if got := x.Get(h); got != r {
						t.Fatalf("get %x = %d, want %d", h, got, r)
					}
				}
			},
		})
	})
}

func TestIndex_staysSmall(t *testing.T) {
	x := New()
	var key [8]byte
	const keys = 200_000
	for i := range uint64(keys) {
		binary.LittleEndian.PutUint64(key[:], i)
		if !x.Insert(x.Hash(key[:]), uint32(i+1)) {
			t.Fatalf("two of %d keys share a 64-bit hash", keys)
		}
	}
	bytes := 0
	for i := range x.shards {
		bytes += 12 * cap(x.shards[i].rids)
	}
	if per := bytes / keys; per > 24 {
		t.Errorf("%d bytes a key, want at most 24", per)
	}
}

// at spreads keys over the first shard, which grows several times on the heap and outside of it.
func at(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 >> shardBits }

func TestIndex_movesLargeShardsOutOfTheHeap(t *testing.T) {
	x := New()
	const keys = 50_000
	for i := range keys {
		if !x.Insert(at(i), uint32(i+1)) {
			t.Fatalf("key %d was there", i)
		}
	}
	if got, want := len(x.arena.mapped[0]), slotBytes*len(x.shards[0].rids); got != want || got < leastMapped {
		t.Errorf("%d bytes outside of the heap, want the shard's %d", got, want)
	}
	for i := 0; i < keys; i += 2 {
		if rid := x.Delete(at(i)); rid != uint32(i+1) {
			t.Fatalf("deleting key %d returned %d", i, rid)
		}
	}
	for i := range keys {
		if want := uint32(i%2) * uint32(i+1); x.Get(at(i)) != want {
			t.Fatalf("key %d has %d, want %d", i, x.Get(at(i)), want)
		}
	}
	n := 0
	for range x.RowIDs() {
		n++
	}
	if n != keys/2 || x.Len() != n {
		t.Errorf("%d row ids and %d keys, want %d", n, x.Len(), keys/2)
	}
}

func TestIndex_givesItsMemoryBack(t *testing.T) {
	freed := make(chan struct{})
	func() {
		x := New()
		for i := range 50_000 {
			x.Insert(at(i), uint32(i+1))
		}
		runtime.AddCleanup(x.arena, func(c chan struct{}) { close(c) }, freed)
	}()
	for done := false; !done; {
		runtime.GC()
		select {
		case <-freed:
			done = true
		default:
			runtime.Gosched()
		}
	}
}

func TestAllocator_restoresWhatIsFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		used := rapid.SliceOfDistinct(rapid.Uint32Range(1, 300), rapid.ID[uint32]).Draw(t, "used")
		x := New()
		for i, rid := range used {
			x.Insert(uint64(i)*0x9e3779b97f4a7c15, rid)
		}
		var a Allocator
		if twice := a.Restore(x); twice != None {
			t.Fatalf("row id %d came twice", twice)
		}
		if a.InUse() != len(used) {
			t.Fatalf("%d in use, want %d", a.InUse(), len(used))
		}
		seen := map[uint32]bool{None: true}
		for _, rid := range used {
			seen[rid] = true
		}
		for range 400 {
			rid := a.Next()
			if seen[rid] {
				t.Fatalf("row id %d handed out twice", rid)
			}
			seen[rid] = true
		}
	})
}

func BenchmarkIndex_replace(b *testing.B) {
	x := New()
	var key [8]byte
	const keys = 1_000_000
	for i := range uint64(keys) {
		binary.LittleEndian.PutUint64(key[:], i)
		x.Insert(x.Hash(key[:]), uint32(i+1))
	}
	for i := uint64(0); b.Loop(); i++ {
		binary.LittleEndian.PutUint64(key[:], i*7919%keys)
		x.Replace(x.Hash(key[:]), uint32(i+1))
	}
}
