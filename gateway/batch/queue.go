package batch

import (
	"context"
	"errors"
	"sync"
)

// ErrClosed says that the dispatcher has ended.
var ErrClosed = errors.New("dispatcher is shut down")

// queue holds the queries that wait for the next batch, in order of arrival.
type queue struct {
	mu     sync.Mutex
	items  []*Query
	closed bool
	arrive chan struct{}
}

func newQueue() *queue { return &queue{arrive: make(chan struct{}, 1)} }

func (q *queue) put(item *Query) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	q.items = append(q.items, item)
	select {
	case q.arrive <- struct{}{}:
	default:
	}
	return nil
}

// wait returns when something is queued that has not been given up.
func (q *queue) wait(ctx context.Context) error {
	for {
		q.mu.Lock()
		n := len(q.items)
		q.mu.Unlock()
		if n > 0 {
			return nil
		}
		select {
		case <-q.arrive:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take removes up to n queries, and all that were given up while they waited.
func (q *queue) take(n int) []*Query {
	q.mu.Lock()
	defer q.mu.Unlock()
	var taken, left []*Query
	for _, item := range q.items {
		switch {
		case item.claimed.Load():
		case len(taken) < n:
			taken = append(taken, item)
		default:
			left = append(left, item)
		}
	}
	q.items = left
	return taken
}

// close answers what is queued and refuses what comes.
func (q *queue) close() {
	q.mu.Lock()
	items := q.items
	q.items, q.closed = nil, true
	q.mu.Unlock()
	for _, item := range items {
		item.answer(nil, ErrClosed)
	}
}
