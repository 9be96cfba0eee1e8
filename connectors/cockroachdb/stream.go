package cockroachdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/jsonrow"
)

// stream is one run of [Source.Stream]. Its fields belong to the goroutine that reads.
type stream struct {
	s       *Source
	rd      *reader
	h       cdc.Handler
	decoder decoder

	generation uint64
	tables     map[cdc.TableID]*cdc.Table

	cut     cdc.Position // of which everything was handed over
	current cdc.Position // of the transaction at hand
	handed  bool         // the handler has had changes of it

	moved   time.Time // when the cut moved last
	stalled bool      // a warning was logged since
}

// changefeedEvery is after how many looks at the catalog the changefeed is looked at.
const changefeedEvery = 5

// Stream implements [cdc.Source]. From the zero position it begins with the oldest messages in the topics.
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
	return fmt.Errorf("stream changefeed: %w", err)
}

func (s *Source) stream(ctx context.Context, from cdc.Position, h cdc.Handler) error {
	if err := s.checkPosition(ctx, from); err != nil {
		return err
	}
	if err := s.follow(ctx); err != nil {
		return err
	}
	b, err := s.open()
	if err != nil {
		return err
	}
	rd := s.newReader(b, from)
	defer rd.close()
	if err := s.checkChangefeed(ctx, from); err != nil {
		return err
	}
	s.misfits.Forget()
	s.cut.Store(&from)
	st := &stream{s: s, rd: rd, h: h, decoder: newDecoder(), generation: ^uint64(0), cut: from, moved: s.cfg.Now()}
	if err := st.refresh(ctx); err != nil {
		return err
	}
	rd.mark(from, time.Time{})
	s.log.Info("streaming", "from", formatHLC(from), "bookmark", rd.resume != nil, "tables", len(st.tables))
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() error { return st.read(gctx) })
	group.Go(func() error { return s.watch(gctx, from) })
	return group.Wait()
}

// checkPosition makes sure that the database is one that can have reached a position.
func (s *Source) checkPosition(ctx context.Context, from cdc.Position) error {
	now, err := s.cfg.Database.Now(ctx)
	if err != nil {
		return err
	}
	if now.Before(from) {
		return &cdc.TerminalError{
			Code:   cdc.CodeSourceMismatch,
			Detail: fmt.Sprintf("the replica's position %s is ahead of the database's clock at %s: it is another cluster, or was restored to an earlier state", formatHLC(from), formatHLC(now)),
			Remedy: cdc.RemedyRecopy,
		}
	}
	return nil
}

// lookPause is how long the watcher rests after it was made to look at the catalog.
const lookPause = 200 * time.Millisecond

// watch follows the catalog and the changefeed until ctx ends.
func (s *Source) watch(ctx context.Context, from cdc.Position) error {
	tick := time.NewTicker(s.cfg.CatalogInterval)
	defer tick.Stop()
	look, rested := s.look, (<-chan time.Time)(nil)
	for ticks := 0; ; {
		check := false
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			ticks++
			check = ticks%changefeedEvery == 0
		case <-look:
			look, rested = nil, time.After(lookPause)
		case <-rested:
			look = s.look
			continue
		}
		err := s.follow(ctx)
		if err == nil && check {
			err = s.checkChangefeed(ctx, from)
		}
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
	}
}

// read polls, cuts and hands over until ctx ends.
func (st *stream) read(ctx context.Context) error {
	for {
		if err := st.refresh(ctx); err != nil {
			return err
		}
		if err := st.announce(ctx); err != nil {
			return err
		}
		if err := st.refresh(ctx); err != nil { // the definitions that the handler knows now
			return err
		}
		poll, cancel := context.WithTimeout(ctx, st.s.cfg.PollInterval)
		err := st.rd.poll(poll)
		cancel()
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := st.advance(ctx); err != nil {
			return err
		}
		st.s.metrics.buffered.Set(float64(st.rd.assembler.memory()))
		st.s.metrics.spooled.Set(float64(st.rd.assembler.spilled))
	}
}

// refresh takes the definitions anew if any has changed, and reads the topics of all of them before the handler is
// told.
func (st *stream) refresh(ctx context.Context) error {
	g := st.s.registry.generation.Load()
	if g == st.generation && st.tables != nil {
		return nil
	}
	st.generation, st.tables = g, st.s.registry.replicated()
	st.decoder.Forget()
	if err := st.rd.want(st.tables); err != nil {
		return err
	}
	return st.rd.discover(ctx)
}

// advance makes a cut if the resolved timestamps allow one. Partitions are listed in between: one that has come since
// holds it.
func (st *stream) advance(ctx context.Context) error {
	at, sent, _, _ := st.rd.least()
	if st.cut.Before(at) {
		if err := st.rd.discover(ctx); err != nil {
			return err
		}
		at, _, _, _ = st.rd.least()
	}
	if st.rd.unsure {
		st.rd.unsure = false
		if err := st.s.checkChangefeed(ctx, st.cut); err != nil {
			return err
		}
	}
	if !st.cut.Before(at) {
		return st.stall()
	}
	if st.stalled {
		st.s.log.Info("resolved timestamps move again", "cut", formatHLC(at))
	}
	st.moved, st.stalled = st.s.cfg.Now(), false
	st.s.cut.Store(&at) // before the handler can make a snapshot of it
	if err := st.handOver(ctx, at); err != nil {
		return err
	}
	st.cut = at
	st.rd.mark(at, sent)
	st.s.metrics.cuts.Inc()
	st.s.metrics.cut.Set(float64(at.Major) / 1e9)
	return st.h.Watermark(ctx, cdc.Watermark{Position: at, Time: hlcTime(at)})
}

// stall warns once of a cut that does not move.
func (st *stream) stall() error {
	if st.stalled || st.s.cfg.Now().Sub(st.moved) < st.s.cfg.StallLimit || len(st.rd.topics) == 0 {
		return nil
	}
	st.stalled = true
	at, _, topic, number := st.rd.least()
	st.s.log.Warn("no cut can be made: a partition gets no resolved timestamp", "topic", topic, "partition", number, "resolved", formatHLC(at),
		"remedy", "see that the changefeed runs (SHOW CHANGEFEED JOBS) and has the options resolved and min_checkpoint_frequency")
	return nil
}

// handOver hands over all transactions up to a cut.
func (st *stream) handOver(ctx context.Context, at cdc.Position) error {
	a := st.rd.assembler
	before := a.repeated
	err := a.cut(at, func(r *row) error {
		if r.position != st.current {
			if err := st.commit(ctx); err != nil {
				return err
			}
			st.current = r.position
		}
		return st.change(ctx, r)
	})
	if err == nil {
		err = st.commit(ctx)
	}
	st.s.metrics.repeated.Add(float64(a.repeated - before))
	return err
}

// commit ends the transaction at hand, if it has any changes.
func (st *stream) commit(ctx context.Context) error {
	if err := st.flush(ctx); err != nil {
		return err
	}
	if !st.handed {
		return nil
	}
	st.handed = false
	st.s.metrics.transactions.Inc()
	return st.h.Commit(ctx, cdc.Commit{Position: st.current, Time: hlcTime(st.current)})
}

// change decodes a row and keeps it for the next hand-over.
func (st *stream) change(ctx context.Context, r *row) error {
	def := st.tables[r.table]
	if def == nil {
		return nil // stopped or dropped since it was read
	}
	if st.decoder.Full(st.s.cfg.ChunkChanges) {
		if err := st.flush(ctx); err != nil {
			return err
		}
	}
	if r.flags&(flagScanned|flagBefore) == flagScanned {
		return st.misfit(ctx, def, r, errors.New("the changefeed scanned the table from its beginning"))
	}
	if err := st.decoder.add(def, r); err != nil {
		return st.misfit(ctx, def, r, err)
	}
	return nil
}

// misfit deals with a row that does not fit its table's definition: either the catalog knows a newer one,
// or the row precedes the one that is known. In both cases a copy is to be taken that is later than the row.
func (st *stream) misfit(ctx context.Context, def *cdc.Table, r *row, why error) error {
	st.s.metrics.misfits.Inc()
	switch st.s.misfits.Judge(def, r.position) {
	case jsonrow.Covered:
		return nil
	case jsonrow.Awaited:
	case jsonrow.Stop:
		st.s.registry.stop(def.ID, &cdc.TableError{
			Code: cdc.CodeUnrepresentable, Table: def.FullName(), Detail: fmt.Sprintf("its changes do not fit its definition again and again: %v", why),
			Remedy: "exclude the table; its queries go to the source database",
		})
	case jsonrow.CopyAnew:
		if err := st.s.follow(ctx); err != nil {
			return err
		}
		st.s.log.Info("a change does not fit the table's definition: the table is copied anew", "table", def.FullName(), "why", why)
		st.s.registry.copyAnew(def.ID)
	}
	st.decoder.Void(def)
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

// announce hands over what is to be told of tables. Their topics are read already: no cut can pass their changes by.
func (st *stream) announce(ctx context.Context) error {
	return cdc.Announce(ctx, st.h, st.s.log, st.s.registry.next)
}
