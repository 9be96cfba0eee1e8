package rowindex

import "sync"

// Allocator hands out row ids, the lowest first as long as none was freed. It is safe
// for concurrent use. The zero value is ready and hands out 1 first.
type Allocator struct {
	mu   sync.Mutex
	last uint32
	free []uint32
}

// Next returns a row id that is not in use. It returns None when all 2^32-1 are.
func (a *Allocator) Next() uint32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.free); n > 0 {
		rid := a.free[n-1]
		a.free = a.free[:n-1]
		return rid
	}
	if a.last+1 == None {
		return None
	}
	a.last++
	return a.last
}

// Free takes row ids back that no snapshot can see any more.
func (a *Allocator) Free(rids []uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.free = append(a.free, rids...)
}

// InUse returns how many row ids are handed out.
func (a *Allocator) InUse() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int(a.last) - len(a.free)
}

// Restore makes the allocator hand out what is not in use. It is for a start
// from stored rows. It returns a row id that came twice, or None.
func (a *Allocator) Restore(tables ...*Index) (twice uint32) {
	last := None
	for _, t := range tables {
		for rid := range t.RowIDs() {
			last = max(last, rid)
		}
	}
	used := make([]uint64, last/64+1)
	for _, t := range tables {
		for rid := range t.RowIDs() {
			if used[rid/64]&(1<<(rid%64)) != 0 {
				twice = rid
			}
			used[rid/64] |= 1 << (rid % 64)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last, a.free = last, a.free[:0]
	for rid := last; rid > None; rid-- {
		if used[rid/64]&(1<<(rid%64)) == 0 {
			a.free = append(a.free, rid)
		}
	}
	return twice
}
