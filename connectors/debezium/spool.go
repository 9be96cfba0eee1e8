package debezium

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/freshet-io/freshet/connectors/tempfile"
)

// The operations in messages.
const (
	opCreate   = 'c'
	opUpdate   = 'u'
	opDelete   = 'd'
	opTruncate = 't'
)

// storedRow is a change that waits for the end of its transaction.
type storedRow struct {
	lsn, order    uint64
	op            byte
	keyChanges    bool   // a delete that a create with the old key follows
	before, after []byte // JSON objects, nil for null
	oldKey        []byte // JSON object of a create that stands for a change of the key; nil otherwise
}

// earlier reports whether a change was made before another one of its transaction. Numbers alone do not tell: Debezium may count anew
// where it resumes inside a transaction.
func (r *storedRow) earlier(o *storedRow) bool {
	return cmp.Or(cmp.Compare(r.lsn, o.lsn), cmp.Compare(r.order, o.order)) < 0
}

// run keeps rows of one table and transaction in order, at first in memory, later on disk: those with a key that
// came in one partition, or keyless ones (a TRUNCATE, a table without a primary key), which come in any.
type run struct {
	partition int // index of the partition among those consumed
	keyless   bool
	table     *tableName
	lsn, last uint64 // of the last row, and its order
	rows      uint64
	// read is the number of the row that was read last, also of one that was there, and sent when that was sent.
	read uint64
	sent time.Time
	// have is how many rows the run has of the last one's record, and seen how many of these have come since Connect went back last.
	have, seen uint64
	// highest is the highest number that was read, also of rows that were there, and numbered how often there was a higher one.
	highest, numbered uint64
	buf               []byte
	file              *os.File // unlinked; nil until spilled
}

const (
	flagBefore = 1 << iota
	flagAfter
	flagOldKey
	flagKeyChanges
)

// add appends a row and returns how many bytes it takes.
func (r *run) add(row storedRow) int {
	start := len(r.buf)
	var flags byte
	if row.before != nil {
		flags |= flagBefore
	}
	if row.after != nil {
		flags |= flagAfter
	}
	if row.oldKey != nil {
		flags |= flagOldKey
	}
	if row.keyChanges {
		flags |= flagKeyChanges
	}
	size := 4 + 16 + 2 + 12 + len(row.before) + len(row.after) + len(row.oldKey)
	b := binary.BigEndian.AppendUint32(r.buf, uint32(size))
	b = binary.BigEndian.AppendUint64(b, row.lsn)
	b = binary.BigEndian.AppendUint64(b, row.order)
	b = append(b, row.op, flags)
	for _, part := range [][]byte{row.before, row.after, row.oldKey} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	r.buf, r.lsn, r.last = b, row.lsn, row.order
	r.rows++
	return len(b) - start
}

// number notes the number of a row that was read, and reports whether it is the highest one.
func (r *run) number(order uint64) bool {
	if order <= r.highest {
		return false
	}
	r.highest = order
	r.numbered++
	return true
}

// count is how many rows the run has of those that an END counts. Debezium may count a row twice, with another number, that it sends once more.
func (r *run) count() uint64 { return max(r.rows, r.numbered) }

// lacks reports whether the run does not have a row that was read, which it is then given. Connect, where it goes back, sends the rows of a
// record from the first one on, in their order, but maybe with other numbers. That it went back shows in a number, or in the time that it takes: then it is
// doubtful.
func (r *run) lacks(in *arrival) (lacking, doubtful bool) {
	back, late := in.order <= r.read, in.sent.Sub(r.sent) >= resumeGap
	r.read, r.sent = in.order, in.sent
	switch {
	case in.lsn < r.lsn:
		r.seen = 0
		return false, false
	case in.lsn > r.lsn:
		r.have, r.seen = 1, 1
		return true, false
	case back:
		r.seen = 0
	}
	r.seen++
	if r.seen <= r.have {
		return false, false
	}
	r.have = r.seen
	return true, late
}

// precedes reports whether a row comes after all that the run has.
func (r *run) precedes(lsn, order uint64) bool {
	return cmp.Or(cmp.Compare(r.lsn, lsn), cmp.Compare(r.last, order)) < 0
}

// spill moves what is in memory to disk.
func (r *run) spill(dir string) error {
	if r.file == nil {
		f, err := tempfile.Create(dir, "freshet-spool-")
		if err != nil {
			return fmt.Errorf("spool a large transaction: %w", err)
		}
		r.file = f
	}
	if _, err := r.file.Write(r.buf); err != nil {
		return fmt.Errorf("spool a large transaction: %w", err)
	}
	r.buf = nil
	return nil
}

func (r *run) close() {
	if r.file != nil {
		_ = r.file.Close() // unlinked: nothing can be lost
	}
}

// reader reads a run's rows in order.
type runReader struct {
	run     *run
	disk    *bufio.Reader // nil when the rest is in memory
	memory  []byte
	scratch []byte
	row     storedRow
	ok      bool // row is valid
}

func (r *run) reader() (*runReader, error) {
	rd := &runReader{run: r, memory: r.buf}
	if r.file != nil {
		if _, err := r.file.Seek(0, io.SeekStart); err != nil {
			return nil, fmt.Errorf("read spooled transaction: %w", err)
		}
		rd.disk = bufio.NewReaderSize(r.file, 64<<10)
	}
	return rd, rd.next()
}

// next reads the next row into rd.row, whose slices are valid until the call after.
func (rd *runReader) next() error {
	b := rd.memory
	if rd.disk != nil {
		var size [4]byte
		_, err := io.ReadFull(rd.disk, size[:])
		if err == nil {
			n := int(binary.BigEndian.Uint32(size[:]))
			if cap(rd.scratch) < n {
				rd.scratch = make([]byte, n)
			}
			b = rd.scratch[:n]
			_, err = io.ReadFull(rd.disk, b[4:])
		}
		switch {
		case errors.Is(err, io.EOF):
			rd.disk = nil
			return rd.next()
		case err != nil:
			return fmt.Errorf("read spooled transaction: %w", err)
		}
		rd.parse(b)
		return nil
	}
	if len(b) == 0 {
		rd.ok = false
		return nil
	}
	size := binary.BigEndian.Uint32(b)
	rd.memory = b[size:]
	rd.parse(b[:size])
	return nil
}

func (rd *runReader) parse(b []byte) {
	rd.ok = true
	flags := b[21]
	rd.row = storedRow{lsn: binary.BigEndian.Uint64(b[4:]), order: binary.BigEndian.Uint64(b[12:]), op: b[20], keyChanges: flags&flagKeyChanges != 0}
	b = b[22:]
	for _, part := range []struct {
		flag byte
		into *[]byte
	}{{flagBefore, &rd.row.before}, {flagAfter, &rd.row.after}, {flagOldKey, &rd.row.oldKey}} {
		n := binary.BigEndian.Uint32(b)
		if flags&part.flag != 0 {
			*part.into = b[4 : 4+n]
		}
		b = b[4+n:]
	}
}
