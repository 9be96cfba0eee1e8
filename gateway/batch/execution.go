package batch

import (
	"context"
	"errors"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/datarow"
)

// Execution is one run of a statement on one snapshot, shared by all who asked the same.
type Execution struct {
	snapshot Snapshot
	spool    *spool
	done     chan struct{}
	started  time.Time // when the engine got the statement
}

// execute starts one execution for a group of identical queries and answers them. Its goroutine is owned by d.running.
func (d *Dispatcher) execute(s Snapshot, group []*Query) *Execution {
	q := group[0]
	now := d.clock()
	age := now.Sub(s.Time())
	if e := d.recent.lookup(q.Key, s); e != nil && e.attach(group, age) {
		d.metrics.shared.Add(float64(len(group)))
		leave(group)
		return e
	}
	ctx, cancel := context.WithCancelCause(d.ctx)
	place := &slot{stalls: d.stalls, ticket: q.ticket, end: cancel}
	e := &Execution{
		snapshot: s, done: make(chan struct{}), started: now,
		spool: newSpool(d.cfg.ShareBytes, func() { cancel(errNobodyReads) }, place),
	}
	sql, err := q.Build(s)
	if err == nil {
		err = d.enter()
	}
	if err != nil {
		cancel(err)
		close(e.done)
		d.refuse(group, err)
		return e
	}
	s.Retain()
	e.attach(group, age) // first: once it is known, others join and leave, and the last to leave ends it
	d.recent.keep(q.Key, s, e)
	leave(group[1:]) // the tenant that asked first pays for all
	d.metrics.shared.Add(float64(len(group) - 1))
	d.metrics.staleness.Observe(age.Seconds())
	go func() {
		defer d.running.Done()
		defer close(e.done)
		defer place.leave()
		defer s.Release()
		defer cancel(nil)
		err := d.run(ctx, e, sql, q)
		if errors.Is(err, context.Canceled) && d.ctx.Err() != nil {
			err = ErrClosed
		}
		e.spool.finish(err)
		d.metrics.run.Observe(d.clock().Sub(e.started).Seconds())
	}()
	return e
}

// leave gives back the slots of queries that another's execution answers.
func leave(queries []*Query) {
	for _, q := range queries {
		q.ticket.Leave()
	}
}

// run encodes what comes while the engine works, and charges the query's tenant for it.
func (d *Dispatcher) run(ctx context.Context, e *Execution, sql string, q *Query) error {
	encoder, err := q.Encoder()
	if err != nil {
		return err
	}
	return d.engine.Query(ctx, sql, q.Settings, encoder.Results(), func(n int) error {
		rows, err := encoder.Encode(n)
		if err != nil {
			return err
		}
		return e.spool.put(ctx, rows)
	}, q.ticket.Charge)
}

// attach answers every query of the group, whose snapshot has an age, with a reader; false when the result's beginning is gone.
func (e *Execution) attach(group []*Query, age time.Duration) bool {
	readers := make([]*Reader, 0, len(group))
	for range group {
		id, ok := e.spool.join()
		if !ok {
			for _, r := range readers {
				r.Close()
			}
			return false
		}
		readers = append(readers, &Reader{e: e, id: id, staleness: age})
	}
	for i, q := range group {
		r := readers[i]
		r.ctx = q.ctx
		// Whoever reads may be busy with its client when the query is given up.
		r.stop = context.AfterFunc(q.ctx, func() { e.spool.leave(r.id) })
		q.answer(r, nil)
	}
	return true
}

// Reader yields the rows of one query.
type Reader struct {
	e         *Execution
	id        int
	staleness time.Duration
	ctx       context.Context
	stop      func() bool
}

// Next returns the next rows, or io.EOF after the last.
func (r *Reader) Next() (datarow.Rows, error) {
	rows, err := r.e.spool.next(r.ctx, r.id)
	if errors.Is(err, errLeft) && r.ctx.Err() != nil {
		err = context.Cause(r.ctx)
	}
	return rows, err
}

// Close gives the query up; the last reader's Close, or the end of its query's context, ends it in the engine.
func (r *Reader) Close() {
	if r.stop != nil {
		r.stop()
	}
	r.e.spool.leave(r.id)
}

// Position is the position of the snapshot that the rows come from.
func (r *Reader) Position() cdc.Position { return r.e.snapshot.Position() }

// Staleness is the snapshot's age when the query started on it, or joined one that had.
func (r *Reader) Staleness() time.Duration { return r.staleness }

// share groups queries with equal keys, in order of arrival.
func share(queries []*Query) [][]*Query {
	var groups [][]*Query
	index := map[string]int{}
	for _, q := range queries {
		if q.Key == "" {
			groups = append(groups, []*Query{q})
			continue
		}
		if i, ok := index[q.Key]; ok {
			groups[i] = append(groups[i], q)
			continue
		}
		index[q.Key] = len(groups)
		groups = append(groups, []*Query{q})
	}
	return groups
}
