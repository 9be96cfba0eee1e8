package rowindex

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// arena is the memory of an index's large shards, outside of the heap. The garbage collector lets a heap grow by a share of what is
// live in it; of a table that only ever holds what is live that share would be memory for nothing. It is given back
// when a shard grows and when nobody has the index any more.
type arena struct{ mapped [shards][]byte }

// leastMapped is the size, in bytes, from which a shard is outside of the heap. A process may have some 65,000 mappings.
const leastMapped = 64 << 10

// A slot is a hash and a row id.
const (
	hashBytes = 8
	slotBytes = hashBytes + 4
)

// slots returns free slots for a shard. Without memory outside of the heap they are on it.
func (a *arena) slots(shard, n int) (hashes []uint64, rids []uint32) {
	a.mapped[shard] = nil
	if n*slotBytes >= leastMapped {
		if b, err := unix.Mmap(-1, 0, n*slotBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE); err == nil {
			a.mapped[shard] = b
			first := unsafe.Pointer(unsafe.SliceData(b))
			return unsafe.Slice((*uint64)(first), n), unsafe.Slice((*uint32)(unsafe.Add(first, n*hashBytes)), n)
		}
	}
	return make([]uint64, n), make([]uint32, n)
}

// free gives back all of the memory outside of the heap.
func (a *arena) free() {
	for i, b := range a.mapped {
		unmap(b)
		a.mapped[i] = nil
	}
}

// unmap gives memory back; nil: there is none. Of a whole mapping that cannot fail.
func unmap(b []byte) {
	if b != nil {
		_ = unix.Munmap(b)
	}
}
