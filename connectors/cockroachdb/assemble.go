package cockroachdb

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// What a row's message says it did.
const (
	flagBefore  = 1 << iota // the row was there before
	flagAfter               // the row is there now
	flagScanned             // a scan found the row: it may have been written earlier
)

// row is a change that waits for its cut. Its identity is table, key and position.
type row struct {
	position cdc.Position
	table    cdc.TableID
	flags    byte
	key      []byte // as the message has it
	data     []byte // JSON object: the new row if there is one, else the old one
}

// compare orders rows as they are handed over; rows of one identity are equal.
func (r *row) compare(o *row) int {
	if c := r.position.Compare(o.position); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(r.table, o.table), bytes.Compare(r.key, o.key))
}

// assembler keeps rows until a cut takes them.
//
// Invariant: cuts hand over every identity that was added after the last cut exactly once, in order. It takes about
// spillAt bytes of memory, whatever waits: what is more lies sorted in files.
type assembler struct {
	// last is the cut before: rows at or before it have been handed over.
	last    cdc.Position
	spillAt int
	dir     string

	waiting  []entry
	buf      []byte
	dead     int // bytes of buf that no entry has
	spare    []byte
	runs     []*run
	spilled  int64 // bytes in files
	repeated int   // rows dropped because they had been added before
}

// entry is a row in buf and where it was read.
type entry struct {
	position  cdc.Position
	table     cdc.TableID
	partition uint32
	offset    int64
	at        int
	key, data uint32 // lengths
	flags     byte
}

const entryBytes = 56

func newAssembler(from cdc.Position, dir string, spillAt int) *assembler {
	return &assembler{last: from, dir: dir, spillAt: spillAt}
}

func (a *assembler) row(e *entry) row {
	key := e.at + int(e.key)
	return row{position: e.position, table: e.table, flags: e.flags, key: a.buf[e.at:key:key], data: a.buf[key : key+int(e.data)]}
}

// memory is about what the rows in memory take.
func (a *assembler) memory() int { return len(a.buf) + entryBytes*len(a.waiting) }

// add takes a row that was read from a partition at an offset. It copies the slices.
func (a *assembler) add(r *row, partition int, offset int64) error {
	if !a.last.Before(r.position) {
		a.repeated++
		return nil
	}
	if len(a.waiting) > 0 && a.memory()+len(r.key)+len(r.data) > a.spillAt {
		if err := a.spill(); err != nil {
			return err
		}
	}
	a.waiting = append(a.waiting, entry{position: r.position, table: r.table, partition: uint32(partition), offset: offset,
		at: len(a.buf), key: uint32(len(r.key)), data: uint32(len(r.data)), flags: r.flags})
	a.buf = append(append(a.buf, r.key...), r.data...)
	return nil
}

func (a *assembler) sort(entries []entry) {
	slices.SortFunc(entries, func(x, y entry) int {
		if c := x.position.Compare(y.position); c != 0 {
			return c
		}
		if c := cmp.Compare(x.table, y.table); c != 0 {
			return c
		}
		c := bytes.Compare(a.buf[x.at:x.at+int(x.key)], a.buf[y.at:y.at+int(y.key)])
		return cmp.Or(c, cmp.Compare(x.at, y.at))
	})
}

// spill writes what is in memory into a file.
func (a *assembler) spill() error {
	a.sort(a.waiting)
	run, err := createRun(a.dir)
	if err != nil {
		return err
	}
	a.runs = append(a.runs, run)
	for i := range a.waiting {
		e := &a.waiting[i]
		r := a.row(e)
		run.note(int(e.partition), e.offset)
		if err := run.write(&r); err != nil {
			return err
		}
	}
	if err := run.rewind(); err != nil {
		return err
	}
	a.spilled += run.bytes
	a.waiting, a.buf, a.dead = a.waiting[:0], a.buf[:0], 0
	return nil
}

// cut hands over all rows up to a position, in order. A row is valid during the call only. After an error the
// assembler is of no use any more.
func (a *assembler) cut(at cdc.Position, hand func(*row) error) error {
	rest := a.waiting[:0:0]
	due := a.waiting[:0]
	for _, e := range a.waiting {
		if at.Before(e.position) {
			rest = append(rest, e)
		} else {
			due = append(due, e)
		}
	}
	a.sort(due)
	if err := a.merge(due, at, hand); err != nil {
		return err
	}
	for i := range due {
		a.dead += int(due[i].key + due[i].data)
	}
	a.waiting, a.last = rest, at
	a.compact()
	kept := a.runs[:0]
	for _, r := range a.runs {
		if r.ok {
			kept = append(kept, r)
			continue
		}
		a.spilled -= r.bytes
		r.close()
	}
	a.runs = kept
	return nil
}

// compact gives back the bytes of rows that were handed over.
func (a *assembler) compact() {
	switch {
	case len(a.waiting) == 0:
		a.buf, a.dead = a.buf[:0], 0
		const idle = 1 << 20
		if cap(a.buf) > 2*max(a.spillAt, idle) { // after a huge row
			a.buf, a.spare = nil, nil
		}
	case a.dead > len(a.buf)/2:
		b := a.spare[:0]
		for i := range a.waiting {
			e := &a.waiting[i]
			at := len(b)
			b = append(b, a.buf[e.at:e.at+int(e.key+e.data)]...)
			e.at = at
		}
		a.buf, a.spare, a.dead = b, a.buf, 0
	}
}

// merge hands over the rows of due and of the files in one order, each identity once.
func (a *assembler) merge(due []entry, at cdc.Position, hand func(*row) error) error {
	var last row // with a key of its own: the one before may be overwritten
	have := false
	deliver := func(r *row) error {
		if have && last.compare(r) == 0 {
			a.repeated++
			return nil
		}
		last = row{position: r.position, table: r.table, key: append(last.key[:0], r.key...)}
		have = true
		return hand(r)
	}
	heap := newRunHeap(a.runs, at)
	var mine row // of memory, the next one
	for len(due) > 0 || len(heap) > 0 {
		if len(due) > 0 {
			mine = a.row(&due[0])
		}
		if len(heap) == 0 || len(due) > 0 && mine.compare(&heap[0].row) < 0 {
			if err := deliver(&mine); err != nil {
				return err
			}
			due = due[1:]
			continue
		}
		if err := deliver(&heap[0].row); err != nil {
			return err
		}
		if err := heap[0].next(); err != nil {
			return err
		}
		heap = heap.settle(at)
	}
	return nil
}

// oldest lowers next, the next offset of each partition, to the offset of the oldest row that waits from it. Of rows in files
// only the oldest of the file is known.
func (a *assembler) oldest(next []int64) {
	for i := range a.waiting {
		e := &a.waiting[i]
		if e.offset < next[e.partition] {
			next[e.partition] = e.offset
		}
	}
	for _, r := range a.runs {
		for partition, offset := range r.first {
			next[partition] = min(next[partition], offset)
		}
	}
}

// close removes the files.
func (a *assembler) close() {
	for _, r := range a.runs {
		r.close()
	}
	a.runs = nil
}
