package batch

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/freshet-io/freshet/gateway/datarow"
)

var (
	errNobodyReads = errors.New("every reader of the result has left")
	errLeft        = errors.New("the result was given up")
)

// maxAhead is how much of a result the engine may yield before its slowest reader takes it, in bytes; one chunk may always be more.
const maxAhead = 1 << 20

// spool holds a result between the engine and its readers. What every reader
// has taken is dropped once more than limit bytes are held, or a reader has kept the engine waiting; until then new readers may join.
// A slow reader makes the engine wait, but no other reader: what those have taken already goes to disk.
type spool struct {
	limit, ahead int
	abandon      context.CancelFunc
	place        place

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change
	chunks  []chunk
	first   int // number of chunks that were dropped
	bytes   int // of chunks in memory
	disk    overflow
	readers map[int]int // reader → number of chunks taken
	nextID  int
	waits   bool // put waits for a reader
	ended   bool
	err     error
}

// place is an execution's in the engine. Both methods may be called again.
type place interface {
	// yield is called while the engine waits for a reader, every [stallInterval].
	yield()
	// retake is called when it goes on.
	retake()
}

func newSpool(limit int, abandon context.CancelFunc, p place) *spool {
	return &spool{limit: limit, ahead: maxAhead, abandon: abandon, place: p, changed: make(chan struct{}), readers: map[int]int{}}
}

func (s *spool) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// join adds a reader; false when the beginning is gone, another keeps the engine waiting, or the result has failed or been given up.
func (s *spool) join() (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	abandoned := s.nextID > 0 && len(s.readers) == 0 && !s.ended
	if s.first > 0 || s.disk.size > 0 || s.waits || s.err != nil || abandoned {
		return 0, false
	}
	s.nextID++
	s.readers[s.nextID] = 0
	return s.nextID, true
}

// stallInterval is how often a spool says that the engine waits.
const stallInterval = time.Second

// put adds rows, and waits while too much is held for the slowest reader.
func (s *spool) put(ctx context.Context, rows datarow.Rows) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chunks = append(s.chunks, chunk{rows: rows})
	s.bytes += len(rows.Messages())
	s.signal()
	for {
		if len(s.readers) == 0 {
			return errNobodyReads
		}
		least, most := s.taken()
		if s.bytes > s.limit || s.waits {
			s.trim(least)
		}
		left := s.chunks[least-s.first:]
		if s.tooFar(left) && most == s.first+len(s.chunks) && s.disk.takes() { // another reader would wait, too
			s.bytes -= size(left)
			s.disk.add(left)
			s.bytes += size(left)
		}
		if !s.tooFar(left) {
			s.waits = false
			s.place.retake()
			return nil
		}
		s.waits = true
		s.place.yield()
		if err := s.waitLocked(ctx, time.After(stallInterval)); err != nil {
			return err
		}
	}
}

// tooFar reports whether the engine is too far ahead of a reader that has yet to take the given chunks.
func (s *spool) tooFar(left []chunk) bool { return len(left) > 1 && size(left) > s.ahead }

// taken is the number of chunks that the slowest reader has taken, and the fastest.
func (s *spool) taken() (least, most int) {
	least = s.first + len(s.chunks)
	for _, taken := range s.readers {
		least, most = min(least, taken), max(most, taken)
	}
	return least, most
}

func size(chunks []chunk) (bytes int) {
	for _, c := range chunks {
		bytes += c.held()
	}
	return bytes
}

// trim drops the chunks that every reader has taken.
func (s *spool) trim(least int) {
	for s.first < least {
		s.bytes -= s.chunks[0].held()
		s.chunks[0] = chunk{}
		s.chunks = s.chunks[1:]
		s.first++
	}
}

// next returns the reader's next chunk, io.EOF at the end, the execution's error, or that the reader has left.
func (s *spool) next(ctx context.Context, id int) (datarow.Rows, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		taken, reads := s.readers[id]
		if !reads {
			return datarow.Rows{}, errLeft
		}
		if i := taken - s.first; i < len(s.chunks) {
			s.readers[id] = taken + 1
			s.signal()
			return s.disk.read(s.chunks[i])
		}
		if s.ended {
			if s.err != nil {
				return datarow.Rows{}, s.err
			}
			return datarow.Rows{}, io.EOF
		}
		if err := s.waitLocked(ctx, nil); err != nil {
			return datarow.Rows{}, err
		}
	}
}

// waitLocked waits for a change, or until it is time.
func (s *spool) waitLocked(ctx context.Context, until <-chan time.Time) error {
	changed := s.changed
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-until:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// held is what the result holds of memory, in bytes.
func (s *spool) held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

func (s *spool) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.err = true, err
	s.signal()
}

// leave removes a reader. Without readers the execution is cancelled.
func (s *spool) leave(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.readers[id]; !ok {
		return
	}
	delete(s.readers, id)
	s.signal()
	if len(s.readers) > 0 {
		return
	}
	s.disk.close()
	if !s.ended {
		s.abandon()
	}
}
