package postgres

import (
	"slices"
	"sync"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// pieceBytes is how much of a table's files one connection copies before others may go on with the table.
const pieceBytes = 128 << 20

// tableCopy is a table to be copied. Its pieces' queue guards it.
type tableCopy struct {
	def  *definition
	left int             // pieces that are not copied
	why  *cdc.TableError // why it was given up
}

// piece is the rows of a table on the pages from first on, up to the page next; next 0: to the end.
type piece struct {
	table       *tableCopy
	first, next uint64
}

func (p piece) whole() bool { return p.first == 0 && p.next == 0 }

// pieces hands out what is to be copied to whoever copies.
type pieces struct {
	mu      sync.Mutex
	changed sync.Cond
	waiting []piece
	taken   int // those that somebody copies, and may cut
	closed  bool
}

// newPieces has every table as one piece.
func newPieces(defs []*definition) *pieces {
	q := &pieces{}
	q.changed.L = &q.mu
	for _, d := range defs {
		q.waiting = append(q.waiting, piece{table: &tableCopy{def: d, left: 1}})
	}
	return q
}

// take returns the next piece, which done or putBack is to be called with. It waits while others may still cut theirs, and reports false once all
// are copied or the queue is closed.
func (q *pieces) take() (p piece, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && q.taken > 0 && !q.closed {
		q.changed.Wait()
	}
	if len(q.waiting) == 0 || q.closed {
		return p, false
	}
	p, q.waiting = q.waiting[0], q.waiting[1:]
	q.taken++
	return p, true
}

// putBack leaves a piece to others.
func (q *pieces) putBack(p piece) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, p)
	q.returned()
}

// cut leaves most of a whole table of so many pages to others, in pieces of so many, and returns the first piece.
func (q *pieces) cut(p piece, pages, each uint64) piece {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := p
	for at := each; at < pages; at += each {
		p.first, p.next = at, at+each
		if first.next == 0 {
			first.next = at
		}
		if p.next >= pages {
			p.next = 0
		}
		p.table.left++
		q.waiting = append(q.waiting, p)
	}
	q.changed.Broadcast()
	return first
}

// done says that a piece is copied. It reports whether that was the last one of a table that was not given up.
func (q *pieces) done(p piece) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	p.table.left--
	q.returned()
	return p.table.left == 0 && p.table.why == nil
}

// giveUp gives a table up. It reports false if that was done before.
func (q *pieces) giveUp(t *tableCopy, why *cdc.TableError) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.why != nil {
		return false
	}
	t.why = why
	q.waiting = slices.DeleteFunc(q.waiting, func(p piece) bool { return p.table == t })
	return true
}

func (q *pieces) givenUp(t *tableCopy) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return t.why != nil
}

// close lets nobody wait or take any more.
func (q *pieces) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

func (q *pieces) returned() {
	q.taken--
	q.changed.Broadcast()
}
