package rowindex

import (
	"hash/maphash"
	"iter"
	"math/bits"
	"runtime"
)

// None is the row id of no row.
const None uint32 = 0

const (
	shardBits = 6
	shards    = 1 << shardBits
	// A shard grows by half once it is fuller than maxLoad: between 53 % and
	// 80 % full it takes 15 to 23 bytes a key.
	maxLoadNum, maxLoadDen = 4, 5
	minSlots               = 8
)

// Index maps the 64-bit hash of each live key to its row id. It is split into
// shards so that growing never needs a second copy of the whole. Large shards
// are outside of the heap. It is not safe for concurrent use. Make it by [New].
type Index struct {
	seed   maphash.Seed
	shards [shards]shard
	arena  *arena
	n      int
}

type shard struct {
	hashes []uint64
	rids   []uint32 // None marks a free slot
	n      int
}

// New returns an empty index with a seed of its own.
func New() *Index {
	x := &Index{seed: maphash.MakeSeed(), arena: &arena{}}
	runtime.AddCleanup(x, (*arena).free, x.arena)
	return x
}

// Hash returns the hash of an encoded key.
func (x *Index) Hash(key []byte) uint64 { return maphash.Bytes(x.seed, key) }

// Len returns the number of live keys.
func (x *Index) Len() int { return x.n }

// Get returns the row id of a key, or None.
func (x *Index) Get(h uint64) uint32 {
	defer runtime.KeepAlive(x)
	s := &x.shards[h>>(64-shardBits)]
	if s.n == 0 {
		return None
	}
	i, ok := s.find(h)
	if !ok {
		return None
	}
	return s.rids[i]
}

// Insert adds a key that is not there. It reports false if it is.
func (x *Index) Insert(h uint64, rid uint32) bool {
	defer runtime.KeepAlive(x)
	s := &x.shards[h>>(64-shardBits)]
	if (s.n+1)*maxLoadDen > len(s.rids)*maxLoadNum {
		x.grow(int(h >> (64 - shardBits)))
	}
	i, found := s.find(h)
	if found {
		return false
	}
	s.hashes[i], s.rids[i] = h, rid
	s.n++
	x.n++
	return true
}

// Replace gives a key another row id and returns the previous one, or None if
// the key is not there; it is not added then.
func (x *Index) Replace(h uint64, rid uint32) uint32 {
	defer runtime.KeepAlive(x)
	s := &x.shards[h>>(64-shardBits)]
	if s.n == 0 {
		return None
	}
	i, ok := s.find(h)
	if !ok {
		return None
	}
	old := s.rids[i]
	s.rids[i] = rid
	return old
}

// Delete removes a key and returns its row id, or None if it is not there.
func (x *Index) Delete(h uint64) uint32 {
	defer runtime.KeepAlive(x)
	s := &x.shards[h>>(64-shardBits)]
	if s.n == 0 {
		return None
	}
	i, ok := s.find(h)
	if !ok {
		return None
	}
	rid := s.rids[i]
	s.remove(i)
	x.n--
	return rid
}

// RowIDs yields the row ids of all live keys in no order. The index must not change meanwhile.
func (x *Index) RowIDs() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		defer runtime.KeepAlive(x)
		for i := range x.shards {
			for _, rid := range x.shards[i].rids {
				if rid != None && !yield(rid) {
					return
				}
			}
		}
	}
}

// home is the slot where a hash belongs. The bits that chose the shard are shifted out.
func (s *shard) home(h uint64) int {
	hi, _ := bits.Mul64(h<<shardBits, uint64(len(s.rids)))
	return int(hi)
}

// find returns the slot of a hash, or the free slot where it would go.
func (s *shard) find(h uint64) (int, bool) {
	i := s.home(h)
	for s.rids[i] != None {
		if s.hashes[i] == h {
			return i, true
		}
		if i++; i == len(s.rids) {
			i = 0
		}
	}
	return i, false
}

// remove frees a slot and moves later entries up, so that no search ends early at the gap.
func (s *shard) remove(gap int) {
	size := len(s.rids)
	for i := gap; ; {
		if i++; i == size {
			i = 0
		}
		if s.rids[i] == None {
			break
		}
		// An entry may move to the gap unless its home lies after the gap, cyclically up to i.
		home := s.home(s.hashes[i])
		if (i-home+size)%size >= (i-gap+size)%size {
			s.hashes[gap], s.rids[gap] = s.hashes[i], s.rids[i]
			gap = i
		}
	}
	s.hashes[gap], s.rids[gap] = 0, None
	s.n--
}

func (x *Index) grow(shard int) {
	s := &x.shards[shard]
	old, mapped := *s, x.arena.mapped[shard]
	size := max(minSlots, len(old.rids)+len(old.rids)/2)
	s.hashes, s.rids = x.arena.slots(shard, size)
	for i, rid := range old.rids {
		if rid != None {
			at, _ := s.find(old.hashes[i])
			s.hashes[at], s.rids[at] = old.hashes[i], rid
		}
	}
	unmap(mapped) // old is not read any more
}
