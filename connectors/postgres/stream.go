package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// stream is one run of [Source.Stream]. Its fields belong to the goroutine that reads, except the atomics.
type stream struct {
	src  *Source
	conn *replConn
	h    cdc.Handler
	from uint64

	relations map[cdc.TableID]*relation
	root      *relation // the partitioned table whose description came last: next comes that of the partition with the change
	batch     *batch
	open      bool       // between begin and commit
	commitLSN uint64     // of the open transaction
	skip      bool       // the open transaction is not after from
	rows      bool       // the open transaction has changed any
	proof     commitMark // the last transaction that was told before, until the stream shows it
	quiet     uint64     // the position after which no transaction with rows comes before what is new; 0: not known
	handed    bool       // the handler has had changes of the open transaction
	// replicated says that the open transaction came to the server by replication.
	replicated bool
	received   int // bytes not yet counted
	pings      int // replies that the server asked for in quick succession
	pinged     time.Time

	// proved says that the server was found to have what was told before.
	proved atomic.Bool
	// streamed is the position up to which everything was handed over.
	streamed atomic.Uint64
	// skew is measured when the stream begins, and then by the pulse.
	skew Skew
	// commits counts transactions handed over that told the time.
	commits atomic.Uint64
	// target is what the next watermark waits for; set by the pulse, cleared by the reader.
	target atomic.Pointer[logState]
}

// handlerError marks an error as the handler's, which says nothing about the server.
type handlerError struct{ err error }

func (e handlerError) Error() string { return e.err.Error() }
func (e handlerError) Unwrap() error { return e.err }

func fromHandler(err error) error {
	if err == nil {
		return nil
	}
	return handlerError{err}
}

// Stream implements [cdc.Source]. From the zero position it begins where the slot is.
//
// A definition that changed is announced by Discovered before the first change that has it whenever the
// transaction at hand has not been handed over in part; otherwise right after its commit. Changes of that table then
// come with a *cdc.Table that the handler was not told of: they precede the copy to be taken.
func (s *Source) Stream(ctx context.Context, from cdc.Position, h cdc.Handler) error {
	if !s.streaming.CompareAndSwap(false, true) {
		return errors.New("stream changes: this source streams already")
	}
	defer s.streaming.Store(false)
	err := s.stream(ctx, from.Major, h)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.explain(ctx, err)
}

// startingPoint makes sure that the server can stream from a position on, and returns it (the slot's for zero), with the slot's.
func (s *Source) startingPoint(ctx context.Context, from uint64) (position, confirmed uint64, err error) {
	slot, err := s.claimSlot(ctx)
	if err != nil {
		return 0, 0, err
	}
	if from == 0 {
		from = slot.Confirmed.Major
	}
	log, err := s.readLog(ctx)
	if err != nil {
		return 0, 0, err
	}
	switch at := (cdc.Position{Major: from}); {
	case at.Before(slot.Confirmed):
		return 0, 0, &cdc.TerminalError{
			Code: cdc.CodeSlotLost,
			Detail: fmt.Sprintf("replication slot %q is at %s, after the replica's position %s: somebody else has read it or moved it, as another gateway with the same slot does, or the columnar data were restored to an earlier state",
				s.cfg.Slot, slot.Confirmed, at),
			Remedy: cdc.RemedyRecopy,
		}
	case from > log.inserted:
		return 0, 0, &cdc.TerminalError{
			Code: cdc.CodeSourceMismatch,
			Detail: fmt.Sprintf("the replica's position %s is ahead of the server's log at %s: the server was restored to an earlier state",
				at, cdc.Position{Major: log.inserted}),
			Remedy: cdc.RemedyRecopy,
		}
	}
	return from, slot.Confirmed.Major, nil
}

func (s *Source) stream(ctx context.Context, from uint64, h cdc.Handler) error {
	if err := s.checkServer(ctx); err != nil {
		return err
	}
	from, confirmed, err := s.startingPoint(ctx, from)
	if err != nil {
		return err
	}
	if err := s.refresh(ctx); err != nil && !lockHeld(err) { // held up, the watcher tries again
		return err
	}
	proof, quiet := s.lineage.beginAt(from)
	if proof.Position <= confirmed { // the slot knows of it
		proof = commitMark{}
	}
	if s.facts.Load().losesChanges() { // and may show the next time what it lost
		quiet = 0
	}
	conn, err := s.startReplication(ctx, from, confirmed)
	if err != nil {
		return err
	}
	defer conn.close()
	s.log.Info("streaming", "slot", s.cfg.Slot, "from", cdc.Position{Major: from})
	st := &stream{src: s, conn: conn, h: h, from: from, proof: proof, quiet: quiet, relations: map[cdc.TableID]*relation{}, batch: newBatch(s.cfg.ChunkChanges)}
	st.streamed.Store(from)
	if _, err := st.readLog(ctx); err != nil {
		return err
	}
	group, gctx := errgroup.WithContext(ctx)
	stop := context.AfterFunc(gctx, conn.interrupt)
	defer stop()
	group.Go(func() error { return st.read(gctx) })
	group.Go(func() error { return st.pulse(gctx) })
	group.Go(func() error { return st.report(gctx) })
	group.Go(func() error { return st.watch(gctx) })
	return group.Wait()
}

// explain finds out whether a stream that failed can be resumed.
func (s *Source) explain(ctx context.Context, err error) error {
	var terminal *cdc.TerminalError
	var handler handlerError
	switch {
	case errors.As(err, &handler):
		return handler.err
	case errors.As(err, &terminal):
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if st, statusErr := s.SlotStatus(ctx); statusErr == nil {
		if lost := st.lost(s.cfg.Slot); lost != nil {
			return lost
		}
	}
	if sqlState(err) == stateUndefinedObject {
		return &cdc.TerminalError{
			Code:   cdc.CodePublicationMismatch,
			Detail: fmt.Sprintf("publication %q did not exist while changes were written that were not read yet, and this server cannot decode those", s.cfg.Publication),
			Remedy: remedyNewSlot(s.cfg.Slot),
			Err:    err,
		}
	}
	return fmt.Errorf("stream slot %q: %w", s.cfg.Slot, err)
}

// read receives messages until the connection fails or is interrupted.
func (st *stream) read(ctx context.Context) error {
	if err := st.announce(ctx); err != nil {
		return err
	}
	for {
		data, err := st.conn.receive()
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("receive change: %w", err)
		}
		if err := st.message(ctx, data); err != nil {
			return err
		}
	}
}

func (st *stream) message(ctx context.Context, data []byte) error {
	switch {
	case len(data) >= 25 && data[0] == 'w':
		st.pings = 0
		st.received += len(data)
		return st.change(ctx, data[25:])
	case len(data) >= 18 && data[0] == 'k':
		return st.keepalive(ctx, binary.BigEndian.Uint64(data[1:]), data[17] == 1)
	}
	return fmt.Errorf("decode replication message of %d bytes: unknown kind", len(data))
}

// errShutdown ends the stream when the server waits for us to confirm before it shuts down: that
// may take the replica seconds, and a shutdown must not wait for analytics.
var errShutdown = errors.New("the server is shutting down")

// keepalive takes the position up to which the server has sent everything.
func (st *stream) keepalive(ctx context.Context, end uint64, reply bool) error {
	if reply {
		// We report often enough that a server in service hardly ever asks: one that does so again and again is shutting down.
		now := st.src.cfg.Now()
		if now.Sub(st.pinged) > time.Second {
			st.pings = 0
		}
		st.pinged = now
		if st.pings++; st.pings > 3 {
			return errShutdown
		}
		if err := st.conn.status(st.confirmed(), now, false); err != nil {
			return err
		}
	}
	if err := st.prove(end); err != nil {
		return err
	}
	raise(&st.streamed, end)
	return st.betweenTransactions(ctx)
}

// betweenTransactions hands over what may only come there, once the server is known to have what was told before.
func (st *stream) betweenTransactions(ctx context.Context) error {
	if st.open || !st.proved.Load() {
		return nil
	}
	if err := st.announce(ctx); err != nil {
		return err
	}
	target, streamed := st.target.Load(), st.streamed.Load()
	if target == nil || streamed < target.inserted {
		return nil
	}
	st.target.Store(nil)
	return fromHandler(st.h.Watermark(ctx, cdc.Watermark{Position: cdc.Position{Major: streamed}, Time: target.asked}))
}

// announce hands over what the registry has queued.
func (st *stream) announce(ctx context.Context) error {
	return fromHandler(cdc.Announce(ctx, st.h, st.src.log, st.src.registry.next))
}

// flush hands over the changes collected.
func (st *stream) flush(ctx context.Context) error {
	m := st.src.metrics
	m.bytes.Add(float64(st.received))
	st.received = 0
	if len(st.batch.changes) == 0 {
		st.batch.reset()
		return nil
	}
	m.changes.Add(float64(len(st.batch.changes)))
	if o, ok := st.h.(cdc.Opener); ok && !st.handed {
		// Where its commit record begins is known. A copy's position is where a record ends: none is inside.
		o.Open(cdc.Position{Major: st.commitLSN + 1})
	}
	st.handed = true
	err := st.h.Changes(ctx, st.batch.changes)
	st.batch.reset()
	return fromHandler(err)
}
