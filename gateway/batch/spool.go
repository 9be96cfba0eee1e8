package batch

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/freshet-io/freshet/gateway/datarow"
)

var errNobodyReads = errors.New("every reader of the result has left")

// spool holds a result between the engine and its readers. What every reader
// has taken is dropped once more than limit bytes are held; until then new readers may join.
type spool struct {
	limit   int
	abandon context.CancelFunc

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change
	chunks  []datarow.Rows
	first   int // number of chunks that were dropped
	bytes   int
	readers map[int]int // reader → number of chunks taken
	nextID  int
	ended   bool
	err     error
}

func newSpool(limit int, abandon context.CancelFunc) *spool {
	return &spool{limit: limit, abandon: abandon, changed: make(chan struct{}), readers: map[int]int{}}
}

func (s *spool) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// join adds a reader; false when the beginning is gone, or the result has failed or been given up.
func (s *spool) join() (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	abandoned := s.nextID > 0 && len(s.readers) == 0 && !s.ended
	if s.first > 0 || s.err != nil || abandoned {
		return 0, false
	}
	s.nextID++
	s.readers[s.nextID] = 0
	return s.nextID, true
}

// put adds rows, and waits while too much is held for the slowest reader.
func (s *spool) put(ctx context.Context, rows datarow.Rows) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chunks = append(s.chunks, rows)
	s.bytes += len(rows.Messages())
	s.signal()
	for {
		if len(s.readers) == 0 {
			return errNobodyReads
		}
		if s.bytes > s.limit {
			s.trim()
		}
		if s.bytes <= s.limit {
			return nil
		}
		if err := s.waitLocked(ctx); err != nil {
			return err
		}
	}
}

// trim drops the chunks that every reader has taken.
func (s *spool) trim() {
	least := s.first + len(s.chunks)
	for _, taken := range s.readers {
		least = min(least, taken)
	}
	for s.first < least {
		s.bytes -= len(s.chunks[0].Messages())
		s.chunks[0] = datarow.Rows{}
		s.chunks = s.chunks[1:]
		s.first++
	}
}

// next returns the reader's next chunk, io.EOF at the end, or the execution's error.
func (s *spool) next(ctx context.Context, id int) (datarow.Rows, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		taken := s.readers[id]
		if i := taken - s.first; i < len(s.chunks) {
			s.readers[id] = taken + 1
			s.signal()
			return s.chunks[i], nil
		}
		if s.ended {
			if s.err != nil {
				return datarow.Rows{}, s.err
			}
			return datarow.Rows{}, io.EOF
		}
		if err := s.waitLocked(ctx); err != nil {
			return datarow.Rows{}, err
		}
	}
}

func (s *spool) waitLocked(ctx context.Context) error {
	changed := s.changed
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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
	if len(s.readers) == 0 && !s.ended {
		s.abandon()
	}
}
