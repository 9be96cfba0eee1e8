package replica

import (
	"slices"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/lineage"
)

// stored is what the engine holds of a table. It belongs to the publisher's goroutine.
type stored struct {
	active bool
	// incarnation changes when the visible rows are abandoned, so that a base that was being built from them is not used.
	incarnation int
	base        *object
	at          uint32 // the epoch whose rows the base has
	deltas      []*delta
	open        bool     // the last delta takes rows
	dead        []uint32 // row ids of rows that died since the base was built
	// deadBase and deadDeltas say that some of these are in the base, and in deltas.
	deadBase, deadDeltas bool
	rows                 int64
	// limbo holds row ids of rows that are dead or abandoned, but that the durable base may still have: they must not be given to
	// other rows yet.
	limbo []uint32
	// since is when the first change came that is not in the durable base; zero if there is none.
	since time.Time
	// overdue is for how long the first change to come has waited already, in an earlier session.
	overdue time.Duration
	// changed is when the last change came.
	changed time.Time
	// durable is the base that a restart begins from.
	durable copied
	shape   shape // of the base
	wear    *wear // likewise
	// deltaWear is what scans have lost to the deltas' blocks.
	deltaWear *wear
	// mergeable says that the base has several parts or masked rows.
	mergeable bool
	// valueBytes is about how long an unchanged value is that has to be fetched; 0: not known.
	valueBytes int
	// lineage says which changes a query need not see that reads steady columns only.
	lineage lineage.Lineage
	schooling
}

// delta is a table that bears rows of some epochs, in the engine's memory or, beyond Config.DeltaBytes, on its disk.
type delta struct {
	object *object
	rids   []uint32 // of its rows
	blocks int
	bytes  int // that its rows take, about
	// youngest is when the last of its rows' lines began.
	youngest uint32
}

// objects lists what the engine holds of deltas.
func objects(deltas []*delta) []*object {
	out := make([]*object, len(deltas))
	for i, d := range deltas {
		out[i] = d.object
	}
	return out
}

// anyOnDisk reports whether one of some deltas is on disk.
func anyOnDisk(deltas []*object) bool {
	return slices.ContainsFunc(deltas, func(o *object) bool { return !o.volatile })
}

func (st *stored) activate(c *copied, epoch uint32) {
	st.at = epoch
	st.active, st.base, st.durable, st.shape, st.wear = true, c.base, *c, shape{rows: c.rows, physical: c.physical, parts: 1}, &wear{}
	st.deltaWear = &wear{}
	st.mergeable = st.shape.scanLoss() > 0
}

func (st *stored) dirty(now time.Time) {
	st.changed = now
	if st.since.IsZero() {
		st.since = now.Add(-st.overdue)
		st.overdue = 0
	}
}

const (
	// mergeRowTime is about what merging one row of a base takes.
	mergeRowTime = time.Microsecond
	// settleRows is how many rows a base may have to be merged: no other table is compacted meanwhile.
	settleRows = 20_000_000
)

// settles reports whether the base is mergeable, and has not changed for so long that it may stay as it is.
func (st *stored) settles(now time.Time, least time.Duration) bool {
	return st.mergeable && st.shape.physical <= settleRows && st.since.IsZero() && st.load() == 0 && now.Sub(st.changed) >= max(least, 5*mergeRowTime*time.Duration(st.shape.physical))
}

// load counts the changed rows since the base was built.
func (st *stored) load() int { return len(st.dead) + st.born() }

// born counts the rows of the deltas.
func (st *stored) born() int {
	rows := 0
	for _, d := range st.deltas {
		rows += len(d.rids)
	}
	return rows
}

// prune forgets the deltas without rows, which compactions that came to nothing leave behind, and returns them. Where there is no base one delta stays,
// for there must be something to read.
func (st *stored) prune() (empty []*object) {
	kept := st.deltas[:0:0]
	for i, d := range st.deltas {
		if len(d.rids) > 0 || st.base == nil && len(kept) == 0 && i == len(st.deltas)-1 {
			kept = append(kept, d)
		} else {
			empty = append(empty, d.object)
		}
	}
	st.deltas, st.open = kept, false
	return empty
}

// blocks counts the blocks that the deltas consist of: one for each epoch that changed the table, until they are merged.
func (st *stored) blocks() int {
	n := 0
	for _, d := range st.deltas {
		n += d.blocks
	}
	return n
}

// blockLoss is what a scan loses to the deltas' blocks.
func (st *stored) blockLoss() time.Duration { return time.Duration(max(1, st.blocks())-1) * blockTime }

// fragmented reports whether the deltas are to be merged: because it pays, or because they have more blocks than they may have while nobody reads them.
// On disk the engine merges them.
func (st *stored) fragmented(most int) bool {
	if anyOnDisk(objects(st.deltas)) {
		return false
	}
	return st.blocks() >= most || st.deltaWear.pays(deltaLeastTime+time.Duration(st.born())*deltaRowTime)
}

// version is what a snapshot has of the table.
func (t *table) version() *version {
	v := &version{def: t.def, arms: arms{base: t.stored.base, deadBase: t.stored.deadBase, deadDeltas: t.stored.deadDeltas}, rows: t.stored.rows,
		scanLoss: t.stored.shape.scanLoss(), wear: t.stored.wear, blockLoss: t.stored.blockLoss(), deltaWear: t.stored.deltaWear}
	for _, d := range t.stored.deltas {
		if len(d.rids) > 0 {
			v.deltas = append(v.deltas, d.object)
		}
	}
	if v.base == nil && len(v.deltas) == 0 {
		v.deltas = append(v.deltas, t.stored.deltas[0].object)
	}
	v.guardDisk()
	v.steady = t.stored.steady(t.def)
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

// watermark is what is published, or about to be.
func (p *publisher) watermark() cdc.Watermark {
	return cdc.Watermark{Position: p.position, Time: p.time}
}

// publish makes the state of all tables the current snapshot.
func (p *publisher) publish() {
	s := p.s.ledger.open(&Snapshot{position: p.position, time: p.time, epoch: p.epoch, mask: p.mask, tables: p.current})
	p.published = p.s.r.setCurrent(s)
}

// advance notes that nothing changed up to a watermark.
func (p *publisher) advance(w cdc.Watermark) {
	if p.published && !p.position.Before(w.Position) && p.time.Equal(w.Time) {
		return
	}
	p.position, p.time = w.Position, w.Time
	if p.current == nil {
		p.current = map[cdc.TableID]*version{}
	}
	p.publish()
}
