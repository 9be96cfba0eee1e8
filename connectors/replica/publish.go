package replica

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/engine"
	"github.com/freshet-io/freshet/connectors/replica/lineage"
)

// publisher writes what is staged and publishes epochs. One goroutine runs it;
// all state of what is stored and published belongs to that goroutine.
type publisher struct {
	s    *session
	conn *engine.Conn
	// inserters write the tables of an epoch side by side: beside queries that want all of the engine's CPU time, a statement waits for
	// its turn longer than it takes.
	inserters []*engine.Conn
	wake      chan struct{}
	requests  chan func()
	asides    chan func() // requests that may come between the pieces of an epoch

	deathsTable string // qualified
	dead        deadRows
	young       rowSet // rows that are in deltas
	marks       marks
	digester
	digests   lineage.Digests
	mask      *object // of the snapshots to come
	tables    map[cdc.TableID]*table
	epoch     uint32 // the one that is published
	position  cdc.Position
	time      time.Time
	published bool // whether there is a current snapshot of this session
	spilled   bool // rows of epoch+1 are in deltas already
	current   map[cdc.TableID]*version
	stale     map[*table]struct{} // tables whose version in current is not what is stored
	limbo     []uint32            // of tables that are gone
	room      int                 // bytes that deltas may still take in memory, from the beginning of a flush on
	lastFlush time.Time
	lastCost  time.Duration
}

// batch is what is staged at an instant.
type batch struct {
	tables []tableBatch
	upTo   cdc.Watermark
	// partial says that the last transaction is not complete.
	partial bool
	changes int
}

// The publisher's share of time is at most 1/(pace+1), or a half while somebody waits: queries that always ask for the
// newest must not take the time that running them needs. What cost more than mostCost was held up, by an engine that hung or a disk,
// rather than worked on: pausing for as long would only add to it.
const (
	pace     = 3
	mostCost = 500 * time.Millisecond
)

// Far behind the source, epochs grow with the lag, by a share of it: what an epoch costs beside its rows is better spent on
// catching up, and rows that change again in the same epoch are written once.
const (
	lagShare     = 8
	mostInterval = 500 * time.Millisecond
)

func (p *publisher) run(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var later <-chan time.Time
		requests := p.requests
		if p.spilled {
			requests = nil // nothing may change between the pieces of an epoch
		}
		b, wait := p.next()
		switch {
		case b != nil:
			for piece := range p.pieces(b) {
				if err := p.flush(ctx, piece); err != nil {
					return err
				}
			}
			continue
		case wait > 0:
			timer.Reset(wait)
			later = timer.C
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case f := <-requests:
			f()
		case f := <-p.asides:
			f()
		case <-p.wake:
		case <-later:
		}
	}
}

// do runs f on the publisher's goroutine, between two epochs. A large transaction may be long in coming, and its epoch as long.
func (p *publisher) do(ctx context.Context, f func()) error { return hand(ctx, p.requests, f) }

// doAside is do for what may happen between the pieces of an epoch.
func (p *publisher) doAside(ctx context.Context, f func()) error { return hand(ctx, p.asides, f) }

func hand(ctx context.Context, requests chan<- func(), f func()) error {
	done := make(chan struct{})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case requests <- func() { defer close(done); f() }:
	}
	<-done
	return nil
}

// next takes what is due. Without anything due it says how long to wait, 0 for a wake-up.
func (p *publisher) next() (*batch, time.Duration) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		return nil, 0
	}
	if s.inTx && !s.spill {
		return nil, 0 // the commit wakes us
	}
	if len(s.touched) == 0 && !p.spilled {
		p.advance(s.arrived)
		return nil, 0
	}
	if !s.spill && !s.pressed {
		if left := p.interval(s.arrived) - time.Since(p.lastFlush); left > 0 {
			return nil, left
		}
	}
	b := &batch{upTo: s.arrived, partial: s.inTx}
	for _, t := range s.touched {
		tb := t.take()
		if tb.rows != nil {
			b.changes += tb.rows.Len() + len(tb.deaths)
		}
		b.tables = append(b.tables, tb)
	}
	s.touched = s.touched[:0]
	s.stagedBytes, s.spill = 0, false
	return b, 0
}

// interval is the least time between two epochs, where the stream has arrived at w. It needs the session's mu.
func (p *publisher) interval(w cdc.Watermark) time.Duration {
	s := p.s
	cost := min(p.lastCost, mostCost)
	if s.r.waiters.any(w.Position) {
		return cost
	}
	interval := max(pace*cost, min(s.r.clock().Sub(w.Time)/lagShare, mostInterval))
	if s.stagedBytes < s.cfg.FlushBytes {
		interval = max(interval, s.cfg.FlushInterval)
	}
	return interval
}

// flush writes a batch and, if it is whole, publishes it.
func (p *publisher) flush(ctx context.Context, b *batch) error {
	began := time.Now()
	epoch := p.epoch + 1
	p.room = p.s.cfg.DeltaBytes - p.inMemory()
	var inserts []insert
	for i := range b.tables {
		into, err := p.prepare(ctx, &b.tables[i])
		if err != nil {
			return err
		}
		if into != nil {
			inserts = append(inserts, insert{&b.tables[i], into})
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.writeDeaths(gctx, b) })
	p.insertAll(gctx, g, inserts, epoch)
	if err := g.Wait(); err != nil {
		return err
	}
	p.giveBack(b)
	if b.partial {
		p.spilled = true
		return nil
	}
	p.spilled = false
	p.epoch = epoch
	p.position, p.time = b.upTo.Position, b.upTo.Time
	p.refresh()
	p.publish()
	p.lastFlush, p.lastCost = time.Now(), time.Since(began)
	m := p.s.r.metrics
	m.flush.Observe(p.lastCost.Seconds())
	m.epochs.Inc()
	m.rows.Add(float64(b.changes))
	p.s.r.engineWell()
	p.forget()
	return nil
}

// insert is what a table gets in an epoch.
type insert struct {
	batch *tableBatch
	into  *object
}

// insertAll writes rows into deltas, on all connections for that. The group's goroutines own the inserts until they end.
func (p *publisher) insertAll(ctx context.Context, g *errgroup.Group, inserts []insert, epoch uint32) {
	queue := make(chan insert, len(inserts))
	for _, in := range inserts {
		queue <- in
	}
	close(queue)
	for _, conn := range p.inserters[:min(len(inserts), len(p.inserters))] {
		g.Go(func() error {
			for in := range queue {
				err := p.insist(ctx, func() error {
					return conn.Insert(ctx, p.s.ledger.qualified(in.into), in.batch.rows.Input(epoch))
				})
				if err != nil {
					return fmt.Errorf("insert into the delta of table %s: %w", in.batch.table.def.FullName(), err)
				}
			}
			return nil
		})
	}
}

// prepare takes over what one table gets, but for its rows and deaths, and returns the delta for its rows; nil: it has none.
func (p *publisher) prepare(ctx context.Context, b *tableBatch) (*object, error) {
	t := b.table
	p.stale[t] = struct{}{}
	if b.activated != nil {
		p.tables[t.def.ID] = t
		t.stored.activate(b.activated, p.epoch)
		p.s.ledger.hold(b.activated.base)
		p.s.compactor.record()
	}
	st := &t.stored
	if b.truncated && st.active {
		p.abandon(st)
		st.lineage.Cleared(p.epoch + 1)
		st.dirty(p.s.r.clock())
		if err := p.openDelta(ctx, t, false); err != nil {
			return nil, err
		}
	}
	st.limbo = append(st.limbo, b.voided...)
	if b.removed {
		p.end(t)
		return nil, nil
	}
	if len(b.unchanged) > 0 {
		if err := p.fetchUnchanged(ctx, b); err != nil {
			return nil, err
		}
	}
	st.rows = int64(b.count)
	youngest := p.trace(b, p.epoch+1)
	if b.rows.Len() == 0 {
		return nil, nil
	}
	d, err := p.deltaFor(ctx, t, b.rows.Bytes())
	if err != nil {
		return nil, err
	}
	d.rids = append(d.rids, b.rows.RID...)
	for _, rid := range b.rows.RID {
		p.young.add(rid)
	}
	d.blocks++
	d.youngest = max(d.youngest, youngest)
	st.dirty(p.s.r.clock())
	return d.object, nil
}

// end forgets a table that is gone, stopped or copied anew.
func (p *publisher) end(t *table) {
	st := &t.stored
	if st.active {
		delete(p.tables, t.def.ID)
		p.abandon(st)
		p.s.ledger.drop(st.durable.base)
	}
	p.limbo = append(p.limbo, st.limbo...)
	t.stored = stored{}
	p.s.compactor.record()
}

// abandon leaves a table's visible rows to the snapshots that have them. Their
// row ids stay in limbo as long as a restart could bring the rows back.
func (p *publisher) abandon(st *stored) {
	l := p.s.ledger
	st.limbo = append(st.limbo, st.dead...)
	l.drop(st.base)
	l.drop(objects(st.deltas)...)
	p.age(st.deltas)
	st.base, st.deltas, st.dead, st.open, st.shape = nil, nil, nil, false, shape{}
	st.deadBase, st.deadDeltas = false, false
	st.incarnation++
}

// inMemory adds up what the tables' deltas hold in the engine's memory.
func (p *publisher) inMemory() int {
	n := 0
	for _, t := range p.tables {
		for _, d := range t.stored.deltas {
			if d.object.volatile {
				n += d.bytes
			}
		}
	}
	return n
}

// deltaFor returns the delta that takes a table's rows, of so many bytes. One on disk takes all rows until compaction seals it.
func (p *publisher) deltaFor(ctx context.Context, t *table, bytes int) (*delta, error) {
	st := &t.stored
	inMemory := bytes <= p.room
	if !st.open || !inMemory && st.deltas[len(st.deltas)-1].object.volatile {
		if err := p.openDelta(ctx, t, !inMemory); err != nil {
			return nil, err
		}
	}
	d := st.deltas[len(st.deltas)-1]
	d.bytes += bytes
	if d.object.volatile {
		p.room -= bytes
	}
	return d, nil
}

func (p *publisher) openDelta(ctx context.Context, t *table, onDisk bool) error {
	var o *object
	err := p.insist(ctx, func() (err error) {
		o, err = p.s.makeDelta(ctx, p.conn, t.def, onDisk)
		return err
	})
	if err != nil {
		return err
	}
	t.stored.deltas = append(t.stored.deltas, &delta{object: o})
	t.stored.open = true
	if onDisk {
		p.s.r.metrics.diskDeltas.Inc()
	}
	return nil
}

// giveBack returns the batch's buffers to the handler.
func (p *publisher) giveBack(b *batch) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, tb := range b.tables {
		if tb.rows != nil {
			tb.rows.Reset()
			tb.table.spare = tb.rows
		}
	}
	s.changed.Broadcast()
}

// insist repeats a statement that the engine refused, for it may be short of
// memory or disk for a while. Nothing is published meanwhile.
func (p *publisher) insist(ctx context.Context, statement func() error) error {
	const attempts = 8
	wait := newPauses(50*time.Millisecond, 2*time.Second)
	for n := 1; ; n++ {
		err := statement()
		if err == nil || n == attempts || !engine.Refused(err) || ctx.Err() != nil {
			return err
		}
		p.s.r.engineTrouble(err)
		if err := wait.sleep(ctx); err != nil {
			return err
		}
	}
}
