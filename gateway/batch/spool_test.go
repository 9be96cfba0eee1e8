package batch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/freshet-io/freshet/gateway/datarow"
)

func TestSpool_everyReaderGetsEveryRowInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.IntRange(0, 40).Draw(t, "chunks")
		readers := rapid.IntRange(1, 5).Draw(t, "readers")
		limit := rapid.IntRange(1, 400).Draw(t, "limit")
		leaveAt := rapid.SliceOfN(rapid.IntRange(0, 80), readers, readers).Draw(t, "leaveAt") // beyond chunks: stays
		leaveAt[0] = 1 << 30

		s := newSpool(limit, func() {}, noPlace{})
		s.ahead = rapid.IntRange(0, 100).Draw(t, "ahead") // a few chunks
		s.disk.broken = rapid.Bool().Draw(t, "noDisk")
		var all sync.WaitGroup
		for r := range readers {
			id, ok := s.join()
			if !ok {
				t.Fatal("a fresh spool refused a reader")
			}
			all.Go(func() {
				defer s.leave(id)
				for next := 0; next < leaveAt[r]; next++ {
					rows, err := s.next(context.Background(), id)
					if errors.Is(err, io.EOF) {
						if next != chunks {
							t.Errorf("reader %d ended after %d chunks of %d", r, next, chunks)
						}
						return
					}
					if want := row(strconv.Itoa(next)); err != nil || !bytes.Equal(rows.Messages(), want.Messages()) {
						t.Errorf("reader %d, chunk %d: %q, %v", r, next, rows.Messages(), err)
						return
					}
				}
			})
		}
		for i := range chunks {
			if err := s.put(context.Background(), row(strconv.Itoa(i))); err != nil {
				t.Errorf("put %d: %v", i, err)
				break
			}
		}
		s.finish(nil)
		all.Wait()
	})
}

// noPlace is that of no execution.
type noPlace struct{}

func (noPlace) yield()  {}
func (noPlace) retake() {}

func row(value string) datarow.Rows { return datarow.Of([][]byte{[]byte(value)}) }

func TestSpool_lateReaderJoinsOnlyWhileTheBeginningIsThere(t *testing.T) {
	s := newSpool(1<<20, func() {}, noPlace{})
	first, _ := s.join()
	if err := s.put(t.Context(), row("a")); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.join(); !ok {
		t.Error("a reader was refused though nothing was dropped")
	}
	s.limit = 1
	done := make(chan error, 1)
	go func() { done <- s.put(t.Context(), row("b")) }()
	second := first + 1
	for range 2 {
		for _, id := range []int{first, second} {
			if _, err := s.next(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, ok := s.join(); ok {
		t.Error("a reader joined a result whose beginning is gone")
	}
}

func TestSpool_lastReaderToLeaveEndsTheExecution(t *testing.T) {
	abandoned := false
	s := newSpool(1, func() { abandoned = true }, noPlace{})
	a, _ := s.join()
	b, _ := s.join()
	s.leave(a)
	if abandoned {
		t.Error("abandoned while a reader was left")
	}
	s.leave(b)
	if !abandoned {
		t.Error("not abandoned without readers")
	}
	if err := s.put(t.Context(), row("x")); !errors.Is(err, errNobodyReads) {
		t.Errorf("put without readers: %v", err)
	}
}
