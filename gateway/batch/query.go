package batch

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/datarow"
	"github.com/freshet-io/freshet/gateway/shares"
)

// Snapshot is one transaction-consistent state of all tables. It stays readable until it is released.
type Snapshot interface {
	Position() cdc.Position
	// Time is when the snapshot's watermark was committed, by the source's clock.
	Time() time.Time
	// Table is the table's definition at this snapshot; false when the table is not to be had.
	Table(id cdc.TableID) (*cdc.Table, bool)
	// Relation is the subquery that yields the table's columns at this
	// snapshot; false when the table is not to be had.
	Relation(id cdc.TableID, columns []string) (string, bool)
	Retain()
	Release()
}

// Snapshots publishes.
type Snapshots interface {
	// Publish makes what has arrived visible and returns the newest snapshot, retained for the caller.
	Publish(ctx context.Context) (Snapshot, error)
}

// Engine runs a statement of the columnar engine.
type Engine interface {
	// Query decodes each block of the result into result's columns and calls onBlock with its number of rows.
	// While it runs and at its end, onCPU is told of the CPU time that was consumed since the last time.
	Query(ctx context.Context, sql string, settings map[string]string, result proto.Results, onBlock func(rows int) error, onCPU func(time.Duration)) error
}

// Encoder turns blocks of the engine into rows for the client.
type Encoder interface {
	// Results are the columns that the engine's blocks are decoded into.
	Results() proto.Results
	// Encode returns the n rows of the current block, with one value for each field. They stay valid.
	Encode(n int) (datarow.Rows, error)
}

// Query is one analytical query.
type Query struct {
	// Key names what is asked: queries with equal keys have equal results on one snapshot. Empty: never shared.
	Key string
	// Build yields the engine's statement for a snapshot.
	Build func(Snapshot) (string, error)
	// Settings are the engine's settings for this statement.
	Settings map[string]string
	// Encoder makes an encoder for one run.
	Encoder func() (Encoder, error)
	// MaxStaleness refuses an older snapshot with [*StaleError]; zero accepts any.
	MaxStaleness time.Duration
	// User is whose tenant the query runs for.
	User string

	ctx context.Context
	// ticket is the query's place in the engine, from when it is taken out of the queue.
	ticket *shares.Ticket[*Query]
	// held is the snapshot that the query is to run on, retained; nil: that of its batch.
	held    Snapshot
	result  chan answer
	claimed atomic.Bool
}

type answer struct {
	reader *Reader
	err    error
}

func (q *Query) prepare(ctx context.Context) {
	q.ctx, q.result = ctx, make(chan answer, 1)
}

// answer hands the outcome to the submitter, or closes the reader when the submitter has gone.
func (q *Query) answer(r *Reader, err error) {
	if !q.claimed.CompareAndSwap(false, true) {
		if r != nil {
			r.Close()
		}
		return
	}
	q.result <- answer{r, err}
}

// await is the submitter's side of answer.
func (q *Query) await() (*Reader, error) {
	select {
	case a := <-q.result:
		return a.reader, a.err
	case <-q.ctx.Done():
		if q.claimed.CompareAndSwap(false, true) {
			return nil, context.Cause(q.ctx)
		}
		a := <-q.result
		return a.reader, a.err
	}
}

// StaleError says that the newest snapshot is older than the query allows.
type StaleError struct{ Staleness, Max time.Duration }

func (e *StaleError) Error() string {
	return fmt.Sprintf("newest snapshot is %v old, the query allows %v", e.Staleness.Round(time.Millisecond), e.Max)
}

// ErrClosed says that the dispatcher has ended.
var ErrClosed = errors.New("dispatcher is shut down")

// Submit queues q and waits until it has started on a snapshot. The caller closes the reader.
// When ctx ends, the query is given up, also in the engine. A tenant whose queue is full gets a [*shares.QueueFullError].
func (d *Dispatcher) Submit(ctx context.Context, q *Query) (*Reader, error) {
	q.prepare(ctx)
	ticket, err := d.shares.Enter(q.User, q)
	if err != nil {
		return nil, refused(err)
	}
	return d.wait(q, ticket)
}

// RunOn runs q on a snapshot that the caller holds: statements of a READ ONLY transaction. It is like Submit, but waits for no batch
// where a slot is free.
func (d *Dispatcher) RunOn(ctx context.Context, s Snapshot, q *Query) (*Reader, error) {
	q.prepare(ctx)
	s.Retain()
	q.held = s
	ticket, err := d.shares.EnterNow(q.User, q)
	if ticket != nil {
		q.ticket = ticket
		d.resume(q)
	} else if err == nil {
		ticket, err = d.shares.Enter(q.User, q)
	}
	if err != nil {
		s.Release()
		return nil, refused(err)
	}
	return d.wait(q, ticket)
}

// refused is the dispatcher's word for what the scheduler says.
func refused(err error) error {
	if errors.Is(err, shares.ErrClosed) {
		return ErrClosed
	}
	return err
}

// wait waits until q has started, or takes it out of the queue.
func (d *Dispatcher) wait(q *Query, ticket *shares.Ticket[*Query]) (*Reader, error) {
	queued := d.clock()
	r, err := q.await()
	d.metrics.wait.Observe(d.clock().Sub(queued).Seconds())
	if err != nil && ticket.Withdraw() && q.held != nil {
		q.held.Release()
	}
	return r, err
}
