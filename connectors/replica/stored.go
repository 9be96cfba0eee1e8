package replica

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// stored is what the engine holds of a table. It belongs to the publisher's goroutine.
type stored struct {
	active bool
	// incarnation changes when the visible rows are abandoned, so that a base that was being built from them is not used.
	incarnation int
	base        *object
	deltas      []*delta
	open        bool // the last delta takes rows
	dead        []death
	rows        int64
	limbo       limbo
	// since is when the first change came that is not in the durable base; zero if there is none.
	since time.Time
	// overdue is for how long the first change to come has waited already, in an earlier session.
	overdue time.Duration
	// changed is when the last change came.
	changed time.Time
	// durable is the base that a restart begins from.
	durable copied
	// physical counts the rows of the base with those that are masked in it.
	physical int64
	// worn says that the base has several parts or masked rows.
	worn bool
}

// limbo holds row ids of rows that are dead or abandoned, but that the durable
// base may still have: they must not be given to other rows yet.
type limbo struct {
	rids   []uint32
	deaths []death
}

func (l *limbo) add(o limbo) {
	l.rids, l.deaths = append(l.rids, o.rids...), append(l.deaths, o.deaths...)
}

func ridsOf(dead []death) []uint32 {
	rids := make([]uint32, len(dead))
	for i, d := range dead {
		rids[i] = d.rid
	}
	return rids
}

// delta is a table in memory that bears rows of some epochs.
type delta struct {
	object *object
	rows   int
	blocks int
}

func (st *stored) activate(c *copied) {
	st.active, st.base, st.durable, st.physical, st.worn = true, c.base, *c, c.physical, c.physical > c.rows
}

func (st *stored) dirty(now time.Time) {
	st.changed = now
	if st.since.IsZero() {
		st.since = now.Add(-st.overdue)
		st.overdue = 0
	}
}

const (
	// mergeTime is about what merging one row of a base takes.
	mergeTime = time.Microsecond
	// settleRows is how many rows a base may have to be merged: no other table is compacted meanwhile.
	settleRows = 20_000_000
)

// settles reports whether the base is worn, and has not changed for so long that it may stay as it is.
func (st *stored) settles(now time.Time, least time.Duration) bool {
	return st.worn && st.physical <= settleRows && st.since.IsZero() && st.load() == 0 && now.Sub(st.changed) >= max(least, 5*mergeTime*time.Duration(st.physical))
}

// load counts the changed rows since the base was built.
func (st *stored) load() int {
	rows := len(st.dead)
	for _, d := range st.deltas {
		rows += d.rows
	}
	return rows
}

// blocks counts the blocks that the deltas consist of: one for each epoch that changed the table, until they are merged.
func (st *stored) blocks() int {
	n := 0
	for _, d := range st.deltas {
		n += d.blocks
	}
	return n
}

// version is what a snapshot has of the table.
func (t *table) version() *version {
	v := &version{def: t.def, base: t.stored.base, deaths: len(t.stored.dead) > 0, rows: t.stored.rows}
	for _, d := range t.stored.deltas {
		if d.rows > 0 {
			v.deltas = append(v.deltas, d.object)
		}
	}
	if v.base == nil && len(v.deltas) == 0 {
		v.deltas = append(v.deltas, t.stored.deltas[0].object)
	}
	return v
}

// refresh makes new versions of the tables that changed.
func (p *publisher) refresh() {
	next := make(map[cdc.TableID]*version, len(p.tables))
	load := 0
	for id, t := range p.tables {
		load += t.stored.load()
		v := p.current[id]
		if _, stale := p.stale[t]; stale {
			v = t.version()
		}
		next[id] = v
	}
	p.current = next
	clear(p.stale)
	p.s.r.metrics.deltaRows.Store(int64(load))
}

// publish makes the state of all tables the current snapshot.
func (p *publisher) publish() {
	s := p.s.ledger.open(&Snapshot{position: p.position, time: p.time, epoch: p.epoch, tables: p.current})
	p.published = p.s.r.setCurrent(s)
}

// advance notes that nothing changed up to a watermark.
func (p *publisher) advance(w cdc.Watermark) {
	if p.published && !p.position.Before(w.Position) && !p.time.Before(w.Time) {
		return
	}
	p.position, p.time = w.Position, w.Time
	if p.current == nil {
		p.current = map[cdc.TableID]*version{}
	}
	p.publish()
}

// Row ids are taken back in lots: it means writing the table of deaths anew.
const (
	forgetRows   = 20_000
	forgetBlocks = 500
)

// forget takes back the row ids that no snapshot sees any more. Their deaths
// have to leave the dictionary before they may be born again.
func (p *publisher) forget(ctx context.Context) error {
	if p.spilled || (p.s.ledger.freeable() < forgetRows && p.markedBlocks < forgetBlocks) {
		return nil
	}
	rids, forgotten, remembered := p.s.ledger.takeFreed()
	if len(forgotten) > 0 || p.markedBlocks >= forgetBlocks {
		if err := p.markAnew(ctx, remembered); err != nil {
			return err
		}
	}
	p.s.rids.Free(rids)
	return nil
}

// markAnew writes the table of deaths as one block. Nobody reads it but a reload of the dictionary.
func (p *publisher) markAnew(ctx context.Context, remembered []death) error {
	p.rid, p.epochColumn = p.rid[:0], p.epochColumn[:0]
	add := func(dead []death) {
		for _, d := range dead {
			p.rid, p.epochColumn = append(p.rid, d.rid), append(p.epochColumn, d.epoch)
		}
	}
	add(remembered)
	add(p.limbo.deaths)
	for _, t := range p.tables {
		add(t.stored.limbo.deaths)
		add(t.stored.dead)
	}
	if err := p.insist(ctx, func() error { return p.conn.Exec(ctx, "TRUNCATE TABLE "+p.deathsTable) }); err != nil {
		return fmt.Errorf("clear the table of deaths: %w", err)
	}
	p.markedBlocks = 0
	if len(p.rid) > 0 {
		if err := p.mark(ctx); err != nil {
			return err
		}
	}
	return p.reload(ctx)
}
