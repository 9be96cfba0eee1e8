package debezium

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/jsonrow"
	"github.com/freshet-io/freshet/connectors/postgres"
)

// stream is one run of [Source.Stream]. Its fields belong to the goroutine that reads, except the atomics.
type stream struct {
	s       *Source
	rd      *reader
	h       cdc.Handler
	decoder decoder

	generation uint64
	tables     map[postgres.TableName]postgres.Definition
	current    cdc.Position // of the transaction at hand
	handed     bool         // the handler has had changes of it
	waiting    time.Time

	// streamed is the position up to which everything was handed over.
	streamed atomic.Uint64
	// skew is measured when the stream begins, and then by the pulse.
	skew postgres.Skew
	// commits counts transactions handed over that told the time.
	commits atomic.Uint64
	// target is what the next watermark waits for; set by the pulse, cleared by the reader.
	target atomic.Pointer[postgres.LogState]
}

// patience is how long a transaction waits for its rows before topics and partitions are looked at.
const patience = time.Second

// Stream implements [cdc.Source]. From the zero position it begins with the oldest transaction in the topics.
//
// A definition that changed is announced between transactions. Changes that fit no known definition come as a Truncate
// with a *cdc.Table that the handler was not told of and that has no columns: they precede the copy to be taken.
func (s *Source) Stream(ctx context.Context, from cdc.Position, h cdc.Handler) error {
	if !s.streaming.CompareAndSwap(false, true) {
		return errors.New("stream changes: this source streams already")
	}
	defer s.streaming.Store(false)
	err := s.stream(ctx, from, h)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := errors.AsType[*cdc.TerminalError](err); ok {
		return err
	}
	return fmt.Errorf("stream topics %s.*: %w", s.cfg.Prefix, err)
}

func (s *Source) stream(ctx context.Context, from cdc.Position, h cdc.Handler) error {
	attendance, err := s.catalog.Attend(ctx) // before it is found out which server this is
	if err != nil {
		return err
	}
	defer attendance.Close(context.WithoutCancel(ctx))
	if err := s.checkPosition(ctx, from); err != nil {
		return err
	}
	if err := s.follow(ctx); err != nil {
		return err
	}
	rd, err := s.openReader(ctx, from)
	if err != nil {
		return err
	}
	defer rd.close()
	s.log.Info("streaming", "prefix", s.cfg.Prefix, "from", from)
	st := &stream{s: s, rd: rd, h: h, decoder: newDecoder(), generation: ^uint64(0)}
	st.streamed.Store(from.Major)
	s.misfits.Resume()
	s.streamed.Store(from.Major)
	if _, err := st.readLog(ctx); err != nil {
		return err
	}
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() error { return st.read(gctx) })
	group.Go(func() error { return st.pulse(gctx) })
	group.Go(func() error { return st.watch(gctx) })
	group.Go(func() error { return attendance.Wait(gctx) })
	return group.Wait()
}

// checkPosition makes sure that the server is one that can have reached a position, and that the slot lives.
func (s *Source) checkPosition(ctx context.Context, from cdc.Position) error {
	if err := s.checkSlot(ctx); err != nil {
		return err
	}
	since := func(after, upTo cdc.Position, start time.Time) (bool, error) {
		return s.committedSince(ctx, after, upTo, start)
	}
	if err := s.catalog.Follow(ctx, from, since); err != nil {
		return anew(err)
	}
	log, err := s.catalog.ReadLog(ctx)
	if err != nil {
		return err
	}
	if log.Inserted.Before(from) {
		return &cdc.TerminalError{
			Code:   cdc.CodeSourceMismatch,
			Detail: fmt.Sprintf("the replica's position %s is ahead of the server's log at %s: the server was restored to an earlier state", from, log.Inserted),
			Remedy: remedyAnew,
		}
	}
	return nil
}

func (s *Source) checkSlot(ctx context.Context) error {
	slot, err := s.pg.SlotStatus(ctx)
	if err != nil {
		return err
	}
	if !slot.Exists || slot.Lost {
		return s.slotLost()
	}
	return nil
}

func (s *Source) slotLost() error {
	return &cdc.TerminalError{
		Code:   cdc.CodeSlotLost,
		Detail: fmt.Sprintf("replication slot %q, which the connector reads, does not exist any more or was invalidated", s.cfg.Postgres.Slot),
		Remedy: remedyAnew,
	}
}

// remedyAnew is the remedy where slot, connector and topics do not belong together any more.
const remedyAnew = "remove the connector, its topics and the slot, and " + cdc.RemedyRecopy + "; on a local platform freshet local reset --replica does all of this"

// read polls and hands over until ctx ends.
func (st *stream) read(ctx context.Context) error {
	for {
		if err := st.betweenTransactions(ctx); err != nil {
			return err
		}
		poll, cancel := context.WithTimeout(ctx, st.s.cfg.WatermarkInterval)
		err := st.rd.poll(poll)
		cancel()
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := st.handOver(ctx); err != nil {
			return err
		}
		st.rd.balance()
		st.s.metrics.buffered.Set(float64(st.rd.assembler.bytes))
		st.s.metrics.waiting.Set(float64(len(st.rd.assembler.ends)))
	}
}

// handOver hands over all transactions that are complete and next.
func (st *stream) handOver(ctx context.Context) error {
	for {
		head, t, missing, ok := st.rd.assembler.head()
		if !ok {
			return nil
		}
		if len(missing) > 0 {
			return st.wait(ctx, head, missing)
		}
		st.waiting = time.Time{}
		if t.resumed {
			if settled, err := st.rd.settled(ctx, head, st.s.cfg.Postgres.Now()); err != nil || !settled {
				return err
			}
		}
		if head.follows || t.beheaded(head) {
			st.distrust(head)
		}
		if err := st.announce(ctx); err != nil {
			return err
		}
		if err := st.transaction(ctx, head, t); err != nil {
			return err
		}
		st.rd.assembler.pop()
		if err := st.betweenTransactions(ctx); err != nil {
			return err
		}
	}
}

// distrust has all tables copied anew, before a transaction is handed over of which changes may be missing in any of them, or those of one before it.
func (st *stream) distrust(head endEvent) {
	st.s.log.Warn("Debezium may have left out changes where it resumed: all tables are copied anew", "transaction", head)
	for _, def := range st.s.catalog.Definitions() {
		if def.Given != nil {
			st.s.catalog.CopyAnew(def.Given.ID)
		}
	}
}

// wait looks after a transaction that lacks rows, at once for a table whose topic is not read.
func (st *stream) wait(ctx context.Context, head endEvent, missing map[string]uint64) error {
	now := st.s.cfg.Postgres.Now()
	if st.waiting.IsZero() {
		st.waiting = now
		for table := range missing {
			if st.rd.topics[st.s.cfg.tableTopic(table)] == nil {
				return st.rd.subscribe(ctx, time.Time{})
			}
		}
	}
	if now.Sub(st.waiting) < patience {
		return nil
	}
	st.waiting = now
	return st.rd.stalled(ctx, head, missing)
}

// transaction hands over one transaction.
func (st *stream) transaction(ctx context.Context, head endEvent, t *transaction) error {
	st.handed, st.current = false, head.position
	if err := st.tell(head, t); err != nil {
		return err
	}
	st.s.catalog.HandedOver(uint32(head.txID))
	err := t.each(func(table *tableName, row storedRow) error { return st.change(ctx, table.TableName, row) })
	if err == nil {
		err = st.flush(ctx)
	}
	if err != nil {
		return fmt.Errorf("transaction %s: %w", head, err)
	}
	if st.handed {
		c := cdc.Commit{Position: head.position, Time: st.committedBy(t)}
		if err := st.h.Commit(ctx, c); err != nil {
			return err
		}
		if !c.Time.IsZero() {
			st.commits.Add(1)
		}
		st.s.metrics.transactions.Inc()
	}
	st.handed = false
	raise(&st.streamed, head.position.Major)
	st.s.streamed.Store(st.streamed.Load())
	st.s.metrics.streamed.Set(float64(head.position.Major))
	return nil
}

// change decodes a row and keeps it for the next hand-over.
func (st *stream) change(ctx context.Context, table postgres.TableName, row storedRow) error {
	def, err := st.lookup(ctx, table)
	if err != nil || def.Given == nil {
		return err
	}
	if st.decoder.Full(st.s.cfg.ChunkChanges) {
		if err := st.flush(ctx); err != nil {
			return err
		}
	}
	if st.decoder.add(def.Given, row) == nil {
		st.s.misfits.Fits(def.Given.ID)
		return nil
	}
	return st.misfit(ctx, table, row)
}

// lookup returns the definition of the table that has a name now, or none if nobody wants its changes. A table that is
// unknown becomes known together with a copy that is later than the transaction at hand. So does one whose name another
// had when a row was written.
func (st *stream) lookup(ctx context.Context, table postgres.TableName) (postgres.Definition, error) {
	st.refresh()
	if def, known := st.tables[table]; known {
		return def, nil
	}
	if err := st.s.follow(ctx); err != nil {
		return postgres.Definition{}, err
	}
	if !st.handed && len(st.decoder.Changes) == 0 {
		if err := st.announce(ctx); err != nil {
			return postgres.Definition{}, err
		}
	}
	st.refresh()
	def, known := st.tables[table]
	if !known {
		st.tables[table] = postgres.Definition{} // until a definition changes
	}
	return def, nil
}

// refresh takes the definitions anew if any has changed.
func (st *stream) refresh() {
	g := st.s.catalog.Generation()
	if g == st.generation && st.tables != nil {
		return
	}
	st.generation, st.tables = g, st.s.catalog.Definitions()
	st.decoder.Forget()
}

// misfit deals with a row that does not fit its table's definition: either the catalog knows a newer one,
// or the row precedes the one that is known. In both cases a copy is to be taken that is later than the row.
func (st *stream) misfit(ctx context.Context, name postgres.TableName, row storedRow) error {
	st.s.metrics.misfits.Inc()
	if err := st.s.follow(ctx); err != nil {
		return err
	}
	st.refresh()
	def := st.tables[name]
	if def.Newest == nil {
		return nil // gone, or stopped: the announcement is queued
	}
	if def.Newest != def.Given && st.decoder.add(def.Newest, row) == nil {
		return nil
	}
	why := st.decoder.add(def.Given, row)
	if why == nil {
		return nil
	}
	id, table := def.Given.ID, def.Given.FullName()
	switch st.s.misfits.Judge(def.Given, st.current) {
	case jsonrow.Covered:
		return nil
	case jsonrow.Awaited:
	case jsonrow.Stop:
		st.s.catalog.StopTable(id, &cdc.TableError{
			Code: cdc.CodeUnrepresentable, Table: table, Detail: fmt.Sprintf("its changes do not fit its definition again and again: %v", why),
			Remedy: "exclude the table, or use the direct stream; its queries go to the source database",
		})
	case jsonrow.CopyAnew:
		st.s.log.Info("a change does not fit the table's definition: the table is copied anew", "table", table, "why", why)
		st.s.catalog.CopyAnew(id)
	}
	st.decoder.Void(def.Given)
	return nil
}

// flush hands over the changes collected.
func (st *stream) flush(ctx context.Context) error {
	if len(st.decoder.Changes) == 0 {
		return nil
	}
	st.s.metrics.changes.Add(float64(len(st.decoder.Changes)))
	st.handed = true
	err := st.h.Changes(ctx, st.decoder.Changes)
	st.decoder.Reset()
	return err
}

// betweenTransactions hands over what may only come there.
func (st *stream) betweenTransactions(ctx context.Context) error {
	if err := st.announce(ctx); err != nil {
		return err
	}
	target, streamed := st.target.Load(), st.streamed.Load()
	if target == nil || streamed < target.Inserted.Major {
		return nil
	}
	st.target.Store(nil)
	return st.h.Watermark(ctx, cdc.Watermark{Position: cdc.Position{Major: streamed}, Time: target.Asked})
}

// announce hands over what the catalog has queued.
func (st *stream) announce(ctx context.Context) error {
	return cdc.Announce(ctx, st.h, st.s.log, st.s.catalog.Next)
}
