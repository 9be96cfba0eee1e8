package cockroachdb

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/tempfile"
)

// run is a file of sorted rows, which is gone when the process is.
type run struct {
	file  *os.File // unlinked
	w     *bufio.Writer
	r     *bufio.Reader
	bytes int64
	first map[int]int64 // the least offset by partition
	row   row           // the next row, valid until the call of next after
	ok    bool          // row is there
	buf   []byte
}

const runHeader = 8 + 4 + 4 + 1 + 4 + 4

func createRun(dir string) (*run, error) {
	f, err := tempfile.Create(dir, "freshet-spool-")
	if err != nil {
		return nil, fmt.Errorf("spool rows: %w", err)
	}
	return &run{file: f, w: bufio.NewWriterSize(f, 256<<10), first: map[int]int64{}}, nil
}

// note remembers that the run has a row of a partition from an offset.
func (r *run) note(partition int, offset int64) {
	if least, ok := r.first[partition]; !ok || offset < least {
		r.first[partition] = offset
	}
}

func (r *run) write(x *row) error {
	var head [runHeader]byte
	binary.BigEndian.PutUint64(head[0:], x.position.Major)
	binary.BigEndian.PutUint32(head[8:], x.position.Minor)
	binary.BigEndian.PutUint32(head[12:], uint32(x.table))
	head[16] = x.flags
	binary.BigEndian.PutUint32(head[17:], uint32(len(x.key)))
	binary.BigEndian.PutUint32(head[21:], uint32(len(x.data)))
	for _, part := range [][]byte{head[:], x.key, x.data} {
		n, err := r.w.Write(part)
		r.bytes += int64(n)
		if err != nil {
			return fmt.Errorf("spool rows: %w; the folder for spooled rows needs space for what comes between two resolved timestamps", err)
		}
	}
	return nil
}

// rewind ends writing and reads the first row.
func (r *run) rewind() error {
	if err := r.w.Flush(); err != nil {
		return fmt.Errorf("spool rows: %w; the folder for spooled rows needs space for what comes between two resolved timestamps", err)
	}
	if _, err := r.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read spooled rows: %w", err)
	}
	r.w, r.r = nil, bufio.NewReaderSize(r.file, 64<<10)
	return r.next()
}

// next reads the next row; ok is false behind the last.
func (r *run) next() error {
	var head [runHeader]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		r.ok = false
		if errors.Is(err, io.EOF) {
			return nil
		}
		return fmt.Errorf("read spooled rows: %w", err)
	}
	key, data := int(binary.BigEndian.Uint32(head[17:])), int(binary.BigEndian.Uint32(head[21:]))
	if cap(r.buf) < key+data {
		r.buf = make([]byte, key+data)
	}
	r.buf = r.buf[:key+data]
	if _, err := io.ReadFull(r.r, r.buf); err != nil {
		return fmt.Errorf("read spooled rows: %w", err)
	}
	r.ok = true
	r.row = row{
		position: cdc.Position{Major: binary.BigEndian.Uint64(head[0:]), Minor: binary.BigEndian.Uint32(head[8:])},
		table:    cdc.TableID(binary.BigEndian.Uint32(head[12:])), flags: head[16], key: r.buf[:key:key], data: r.buf[key:],
	}
	return nil
}

func (r *run) close() { _ = r.file.Close() } // unlinked: nothing can be lost

// runHeap has the run with the least next row first, of those whose next row is due.
type runHeap []*run

func newRunHeap(runs []*run, at cdc.Position) runHeap {
	var h runHeap
	for _, r := range runs {
		if r.ok && !at.Before(r.row.position) {
			h = append(h, r)
		}
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
	return h
}

// settle restores the order after the first run went on.
func (h runHeap) settle(at cdc.Position) runHeap {
	if !h[0].ok || at.Before(h[0].row.position) {
		h[0] = h[len(h)-1]
		h = h[:len(h)-1]
	}
	if len(h) > 0 {
		h.down(0)
	}
	return h
}

func (h runHeap) down(i int) {
	for {
		least := i
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < len(h) && h[child].row.compare(&h[least].row) < 0 {
				least = child
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
