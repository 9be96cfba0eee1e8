package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// compactor moves the rows of deltas into new bases, one table at a time and
// beside everything else, writes the epoch record, and drops what nobody sees.
type compactor struct {
	s    *session
	conn *engine.Conn
	wake chan struct{}
	due  chan struct{} // a record is to be written soon

	// Of the newest record. The compactor's goroutine owns them.
	recorded     []*object
	recordSerial uint64
	recordedAt   cdc.Position
	recordTime   time.Time
	// mergeAfter is when bases may be merged again because they are read.
	mergeAfter time.Time
}

// compactCheck is how often tables are looked over.
const compactCheck = 500 * time.Millisecond

func (c *compactor) run(ctx context.Context) error {
	tick := time.NewTicker(compactCheck)
	defer tick.Stop()
	wait := newPauses(compactCheck, 10*compactCheck)
	for {
		force := false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.wake:
		case <-c.due:
			force = true
		case refused := <-c.s.r.suspicions:
			if err := c.suspect(ctx, refused); err != nil {
				return err
			}
			continue
		case <-tick.C:
		}
		err := c.round(ctx, force)
		switch {
		case err == nil:
			c.s.r.compactionWell()
			wait.Reset()
			continue
		case !engine.Refused(err):
			return err
		}
		// The present bases stay, and a later round tries again. It must not begin at once, as what this round has left behind asks for.
		c.s.r.compactionTrouble(err)
		if force {
			c.record()
		}
		if err := wait.sleep(ctx); err != nil {
			return err
		}
	}
}

// round does what is due. Where the engine refuses something for one table, the others still get their turn; round returns the refusals at its
// end.
func (c *compactor) round(ctx context.Context, force bool) error {
	var r refusals
	if err := r.note(c.dropUnseen(ctx)); err != nil {
		return err
	}
	tables, mergeable, idle, err := c.pick(ctx)
	if err != nil {
		return err
	}
	compacted := false
	for _, t := range tables {
		began := time.Now()
		if err := c.compact(ctx, t, c.cut); err == nil {
			compacted = true
			c.s.r.metrics.compaction.Observe(time.Since(began).Seconds())
		} else if err := r.note(fmt.Errorf("compact table %s: %w", t.def.FullName(), err)); err != nil {
			return err
		}
		if err := r.note(c.mergeDeltas(ctx)); err != nil {
			return err
		}
	}
	if compacted {
		return r.err
	}
	if force || idle {
		if err := r.note(c.writeRecord(ctx, nil)); err != nil {
			return err
		}
	}
	if err := r.note(c.mergeDeltas(ctx)); err != nil {
		return err
	}
	if mergeable == nil {
		return r.err
	}
	if err := c.compact(ctx, mergeable, c.settled); err != nil {
		if err := r.note(fmt.Errorf("merge the base of table %s: %w", mergeable.def.FullName(), err)); err != nil {
			return err
		}
	}
	return r.err
}

// refusals are errors by which the engine refused statements, and which end nothing but these.
type refusals struct{ err error }

// note keeps a refusal and returns any other error.
func (r *refusals) note(err error) error {
	if !engine.Refused(err) {
		return err
	}
	r.err = errors.Join(r.err, err)
	return nil
}

// pick returns the tables that are due, beginning with the one that has waited longest, and one whose base may be merged. idle says that a
// record is worth writing although no table is due: the source could then forget something. While a session catches up with a snapshot that
// was handed out before a restart, it has published nothing from which a base could be built, and pick returns nothing.
func (c *compactor) pick(ctx context.Context) (due []*table, mergeable *table, idle bool, err error) {
	cfg, now := c.s.cfg, c.s.r.clock()
	err = c.s.publisher.do(ctx, func() {
		p := c.s.publisher
		if !p.published {
			return
		}
		for _, t := range p.tables {
			st := &t.stored
			if st.load() >= cfg.CompactRows || !st.since.IsZero() && now.Sub(st.since) >= cfg.CompactInterval {
				due = append(due, t)
			}
			if st.settles(now, cfg.SettleInterval) {
				mergeable = t
			}
		}
		slices.SortFunc(due, func(a, b *table) int { return a.stored.since.Compare(b.stored.since) })
		idle = c.recordedAt.Before(p.position) && now.Sub(c.recordTime) >= cfg.CompactInterval
	})
	return due, mergeable, idle, err
}

// cut is a table's state at an epoch, from which a new base is built or a merged delta.
type cut struct {
	incarnation int
	epoch       uint32
	mask        *object
	upTo        cdc.Watermark
	base        *object
	deltas      []*object
	dead        int // how many of stored.dead
	born        int // rows in deltas
	rows        int64
	shape       shape // of the base
	// worn says that scans have lost as much to the state of the base as it costs to merge it.
	worn bool
	// whole asks for one part without masked rows.
	whole bool
	// learn asks for the columns that the updates since the base was built left alone.
	learn bool
}

// births is what to read for the rows that were born since the base was built and are alive.
func (at cut) births() arms { return arms{deltas: at.deltas, deadDeltas: true} }

// compact builds a table's next base from the state that cut returns, records and installs it.
func (c *compactor) compact(ctx context.Context, t *table, cutting func(context.Context, *table) (cut, bool, error)) error {
	l := c.s.ledger
	at, ok, err := cutting(ctx, t)
	if err != nil || !ok {
		return err
	}
	base := l.created(c.s.names.next(fmt.Sprintf("b_%d", t.def.ID)))
	built, err := c.build(ctx, t, at, base)
	if !at.whole { // a merge that fails holds nothing up
		c.s.built(t, err)
	}
	var steady []int
	if err == nil && at.learn {
		if steady, err = c.learn(ctx, t, at); engine.Refused(err) {
			c.s.log.Warn("it stays unknown which columns updates leave alone", "table", t.def.FullName(), "why", err)
			err = nil
		}
	}
	l.drop(at.deltas...)
	l.drop(at.base, at.mask)
	if errors.Is(err, errWrongCount) {
		l.drop(base)
		c.s.distrust(t, err)
		return nil
	}
	if err != nil {
		l.drop(base)
		return err
	}
	if err := c.writeRecord(ctx, &rebased{table: t,
		copied: copied{base: base, upTo: at.upTo, rows: at.rows, physical: built.physical}}); err != nil {
		l.drop(base)
		return err
	}
	err = c.s.publisher.do(ctx, func() {
		c.install(t, at, base, built)
		if at.learn {
			c.s.follower.request(t, steady)
		}
	})
	l.drop(base)
	return err
}

// cut seals a table's deltas: what they hold is all published, and they take no more. The cut holds them, the base and the mask
// until these are dropped.
func (c *compactor) cut(ctx context.Context, t *table) (at cut, ok bool, err error) {
	// The delta of the next epochs is made here, so that publishing need not.
	next, err := c.s.makeDelta(ctx, c.conn, t.def, false)
	if err != nil {
		return at, false, err
	}
	err = c.s.publisher.do(ctx, func() {
		st := &t.stored
		if ok = c.s.publisher.publishes(t) && !st.since.IsZero(); !ok {
			return
		}
		at = c.s.publisher.cut(t)
		c.s.ledger.drop(st.prune()...)
		at.dead = len(st.dead)
		at.deltas, at.born = objects(st.deltas), st.born()
		// Learning joins the base with the deltas' rows, which it keeps in memory: those on disk are too many.
		at.learn = st.base != nil && at.dead > 0 && !anyOnDisk(at.deltas) && st.learns(&st.lineage, st.at)
		c.s.ledger.hold(at.deltas...)
		st.deltas, st.open = append(st.deltas, &delta{object: next}), true
	})
	if !ok {
		c.s.ledger.drop(next)
	}
	return at, ok, err
}

// settled is the state of a table all of whose rows are in its base. What changes after it goes to the delta that is there.
func (c *compactor) settled(ctx context.Context, t *table) (at cut, ok bool, err error) {
	err = c.s.publisher.do(ctx, func() {
		if ok = c.s.publisher.publishes(t) && t.stored.settles(c.s.r.clock(), c.s.cfg.SettleInterval); ok {
			at = c.s.publisher.cut(t)
			at.whole = true
		}
	})
	return at, ok, err
}

// publishes reports whether a table is in the snapshot that is published.
func (p *publisher) publishes(t *table) bool { return p.published && p.tables[t.def.ID] == t }

// cut is a table's state at the published epoch, without what changed since its base was built. It holds the base and the mask.
func (p *publisher) cut(t *table) cut {
	st := &t.stored
	p.s.ledger.hold(st.base, p.mask)
	return cut{
		incarnation: st.incarnation, epoch: p.epoch, mask: p.mask, upTo: p.watermark(), base: st.base, rows: st.rows,
		shape: st.shape, worn: st.wear.pays(st.shape.mergeTime()),
	}
}

// install makes a new base visible. It runs on the publisher's goroutine.
func (c *compactor) install(t *table, at cut, base *object, built shape) {
	p, st, l := c.s.publisher, &t.stored, c.s.ledger
	if p.tables[t.def.ID] != t {
		return // gone meanwhile
	}
	l.hold(base)
	l.drop(st.durable.base)
	st.durable = copied{base: base, upTo: at.upTo, rows: at.rows, physical: built.physical}
	if st.incarnation != at.incarnation {
		return // truncated meanwhile: the base is good for a restart only
	}
	l.hold(base)
	l.drop(st.base)
	l.drop(at.deltas...)
	released := slices.Concat(st.dead[:at.dead], st.limbo)
	st.limbo = nil
	st.base, st.shape = base, built
	if built.scanLoss() == 0 {
		st.wear = &wear{}
	}
	st.mergeable = !at.whole && built.scanLoss() > 0
	st.rebased(&st.lineage, st.at)
	st.lineage.Rebased(at.epoch)
	st.at = at.epoch
	p.age(st.deltas[:len(at.deltas)])
	st.deltas, st.deltaWear = slices.Clone(st.deltas[len(at.deltas):]), &wear{}
	died := st.dead[at.dead:]
	st.dead, st.deadBase, st.deadDeltas = nil, false, false
	p.bury(st, died)
	st.since = time.Time{}
	if st.load() > 0 {
		st.since = c.s.r.clock()
	}
	l.free(released)
	p.stale[t] = struct{}{}
	p.refresh()
	if p.published {
		p.publish()
	}
	c.s.r.metrics.basesInstalled.Inc()
}

// dropUnseen drops the objects that nobody holds.
func (c *compactor) dropUnseen(ctx context.Context) error {
	var r refusals
	unseen := c.s.ledger.takeUnseen()
	for i, o := range unseen {
		err := drop(ctx, c.conn, c.s.ledger, o)
		if err == nil {
			continue
		}
		if err = r.note(fmt.Errorf("drop what no snapshot sees: %w", err)); err != nil {
			c.s.ledger.undropped(unseen[i:])
			return err
		}
		c.s.ledger.undropped(unseen[i : i+1])
	}
	return r.err
}

// record asks for a record soon.
func (c *compactor) record() {
	select {
	case c.due <- struct{}{}:
	default:
	}
}

// distrust copies a table anew because its rows are not what they should be.
func (s *session) distrust(t *table, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tables[t.def.ID] == t {
		s.misfit(t, why)
		s.wake()
	}
}
