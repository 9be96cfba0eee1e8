package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go/proto"

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
}

const (
	// compactCheck is how often tables are looked over.
	compactCheck = 500 * time.Millisecond
	// maxMasked is the part of a base that may be masked, 1/maxMasked.
	maxMasked = 5
	// maxParts is the number of parts beyond which the smaller ones are joined.
	maxParts = 6
)

func (c *compactor) run(ctx context.Context) error {
	tick := time.NewTicker(compactCheck)
	defer tick.Stop()
	for {
		force := false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.wake:
		case <-c.due:
			force = true
		case <-tick.C:
		}
		err := c.round(ctx, force)
		switch {
		case err == nil:
		case engine.Refused(err):
			// The bases that are there stay; the next round tries again.
			c.s.r.compactionTrouble(err)
		default:
			return err
		}
	}
}

func (c *compactor) round(ctx context.Context, force bool) error {
	if err := c.dropUnseen(ctx); err != nil {
		return err
	}
	tables, idle, err := c.pick(ctx)
	if err != nil {
		return err
	}
	for _, t := range tables {
		began := time.Now()
		if err := c.compact(ctx, t); err != nil {
			return fmt.Errorf("compact table %s: %w", t.def.FullName(), err)
		}
		c.s.r.metrics.compaction.Observe(time.Since(began).Seconds())
	}
	if len(tables) == 0 && (force || idle) {
		if err := c.writeRecord(ctx, nil); err != nil {
			return err
		}
	}
	return c.mergeDeltas(ctx)
}

// pick returns the tables that are due, the one that waited longest first. idle says
// that a record would let the source forget something, though no table is due.
func (c *compactor) pick(ctx context.Context) (due []*table, idle bool, err error) {
	cfg, now := c.s.cfg, c.s.r.clock()
	err = c.s.publisher.do(ctx, func() {
		p := c.s.publisher
		for _, t := range p.tables {
			st := &t.stored
			if st.load() >= cfg.CompactRows || !st.since.IsZero() && now.Sub(st.since) >= cfg.CompactInterval {
				due = append(due, t)
			}
		}
		slices.SortFunc(due, func(a, b *table) int { return a.stored.since.Compare(b.stored.since) })
		idle = p.published && c.recordedAt.Before(p.position) && now.Sub(c.recordTime) >= cfg.CompactInterval
	})
	return due, idle, err
}

// cut is a table's state at an epoch, from which a new base is built or a merged delta.
type cut struct {
	incarnation int
	epoch       uint32
	position    cdc.Position
	base        *object
	deltas      []*object
	dead        int // how many of stored.dead
	born        int // rows in deltas
	rows        int64
	physical    int64
}

// compact builds a table's next base, records and installs it.
func (c *compactor) compact(ctx context.Context, t *table) error {
	l := c.s.ledger
	at, ok, err := c.cut(ctx, t)
	if err != nil || !ok {
		return err
	}
	base := l.created(c.s.names.next(fmt.Sprintf("b_%d", t.def.ID)))
	physical, err := c.build(ctx, t, at, base)
	l.drop(at.deltas...)
	l.drop(at.base)
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
		copied: copied{base: base, position: at.position, rows: at.rows, physical: physical}}); err != nil {
		l.drop(base)
		return err
	}
	err = c.s.publisher.do(ctx, func() { c.install(t, at, base, physical) })
	l.drop(base)
	return err
}

// cut seals a table's deltas: what they hold is all published, and they take no more. The cut holds them and the base until
// these are dropped.
func (c *compactor) cut(ctx context.Context, t *table) (at cut, ok bool, err error) {
	// The delta of the next epochs is made here, so that publishing need not.
	next, err := c.s.makeDelta(ctx, c.conn, t.def)
	if err != nil {
		return at, false, err
	}
	err = c.s.publisher.do(ctx, func() {
		p, st := c.s.publisher, &t.stored
		if p.tables[t.def.ID] != t || st.since.IsZero() || !p.published {
			return
		}
		ok = true
		at = cut{incarnation: st.incarnation, epoch: p.epoch, position: p.position, base: st.base,
			dead: len(st.dead), rows: st.rows, physical: st.physical}
		for _, d := range st.deltas {
			at.deltas = append(at.deltas, d.object)
			at.born += d.rows
		}
		c.s.ledger.hold(at.base)
		c.s.ledger.hold(at.deltas...)
		st.deltas, st.open = append(st.deltas, &delta{object: next}), true
	})
	if !ok {
		c.s.ledger.drop(next)
	}
	return at, ok, err
}

// errWrongCount says that a new base does not have as many rows as the stream says.
var errWrongCount = errors.New("the rows in the columnar store are not as many as the change stream says")

// build fills a new base with the rows that were alive at the cut. It returns
// how many rows the base has physically.
func (c *compactor) build(ctx context.Context, t *table, at cut, base *object) (physical int64, err error) {
	sql, err := createBase(c.s.ledger.qualified(base), t.def)
	if err != nil {
		return 0, err
	}
	if err := c.conn.Exec(ctx, sql); err != nil {
		return 0, err
	}
	masked := max(0, at.physical-at.rows) + int64(at.dead)
	if at.base == nil || at.physical <= int64(c.s.cfg.RewriteRows) || masked*maxMasked > at.physical {
		err = c.rewrite(ctx, t, at, base)
	} else {
		err = c.extend(ctx, t, at, base)
	}
	if err != nil {
		return 0, err
	}
	return c.check(ctx, at, base)
}

// rewrite writes the base anew.
func (c *compactor) rewrite(ctx context.Context, t *table, at cut, base *object) error {
	v := &version{def: t.def, base: at.base, deltas: at.deltas, deaths: at.dead > 0}
	return c.conn.Exec(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s",
		c.s.ledger.qualified(base), columnList(t.def), columnList(t.def),
		c.s.ledger.relation(v, at.epoch, columnNames(t.def))))
}

// extend shares the parts of the previous base, masks what died and adds what was born.
func (c *compactor) extend(ctx context.Context, t *table, at cut, base *object) error {
	l := c.s.ledger
	name := l.qualified(base)
	if err := c.conn.Exec(ctx, fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION tuple() FROM %s", name, l.qualified(at.base))); err != nil {
		return err
	}
	if at.dead > 0 {
		if err := c.conn.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE %s", name, l.dead(at.epoch))); err != nil {
			return err
		}
	}
	if err := c.join(ctx, t, base); err != nil {
		return err
	}
	if len(at.deltas) == 0 {
		return nil
	}
	v := &version{def: t.def, deltas: at.deltas, deaths: true}
	return c.conn.Exec(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s",
		name, columnList(t.def), columnList(t.def), l.relation(v, at.epoch, columnNames(t.def))))
}

type part struct {
	name string
	rows uint64
}

// join makes one part of the smaller parts of a base that nobody reads yet.
func (c *compactor) join(ctx context.Context, t *table, base *object) error {
	parts, err := c.parts(ctx, base)
	if err != nil || len(parts) <= maxParts {
		return err
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(b.rows, a.rows) })
	// A part is rewritten with the smaller ones once they are as many rows
	// together, so that a row is rewritten a logarithmic number of times.
	first, sum := len(parts)-1, uint64(0)
	for i := len(parts) - 1; i >= 0; i-- {
		if parts[i].rows <= sum || i >= maxParts/2 {
			first = i
		}
		sum += parts[i].rows
	}
	small := parts[first:]
	names := make([]string, len(small))
	for i, p := range small {
		names[i] = engine.Literal(p.name)
	}
	name := c.s.ledger.qualified(base)
	if err := c.conn.Exec(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s WHERE _part IN (%s)",
		name, columnList(t.def), columnList(t.def), name, strings.Join(names, ","))); err != nil {
		return err
	}
	for _, n := range names {
		if err := c.conn.Exec(ctx, fmt.Sprintf("ALTER TABLE %s DROP PART %s", name, n)); err != nil {
			return err
		}
	}
	return nil
}

func (c *compactor) parts(ctx context.Context, base *object) ([]part, error) {
	var (
		name  proto.ColStr
		rows  proto.ColUInt64
		parts []part
	)
	err := c.conn.Query(ctx, fmt.Sprintf("SELECT name, rows FROM system.parts WHERE database = %s AND table = %s AND active",
		engine.Literal(c.s.cfg.Database), engine.Literal(base.name)),
		proto.Results{{Name: "name", Data: &name}, {Name: "rows", Data: &rows}}, func(n int) error {
			for i := range n {
				parts = append(parts, part{name: name.Row(i), rows: rows[i]})
			}
			return nil
		})
	return parts, err
}

// check compares the new base with the number of live keys at the cut.
func (c *compactor) check(ctx context.Context, at cut, base *object) (physical int64, err error) {
	n, err := c.conn.Count(ctx, "SELECT count() AS n FROM "+c.s.ledger.qualified(base))
	if err != nil {
		return 0, err
	}
	if int64(n) != at.rows {
		return 0, fmt.Errorf("%w: %d instead of %d", errWrongCount, n, at.rows)
	}
	parts, err := c.parts(ctx, base)
	for _, p := range parts {
		physical += int64(p.rows)
	}
	return physical, err
}

// install makes a new base visible. It runs on the publisher's goroutine.
func (c *compactor) install(t *table, at cut, base *object, physical int64) {
	p, st, l := c.s.publisher, &t.stored, c.s.ledger
	if p.tables[t.def.ID] != t {
		return // gone meanwhile
	}
	l.hold(base)
	l.drop(st.durable.base)
	st.durable = copied{base: base, position: at.position, rows: at.rows, physical: physical}
	if st.incarnation != at.incarnation {
		return // truncated meanwhile: the base is good for a restart only
	}
	l.hold(base)
	l.drop(st.base)
	l.drop(at.deltas...)
	dead := st.dead[:at.dead]
	released := limbo{rids: ridsOf(dead), deaths: dead}
	released.add(st.limbo)
	st.limbo = limbo{}
	st.base, st.physical = base, physical
	st.deltas = slices.Clone(st.deltas[len(at.deltas):])
	st.dead = slices.Clone(st.dead[at.dead:])
	st.since = time.Time{}
	if st.load() > 0 {
		st.since = c.s.r.clock()
	}
	l.free(released.rids, released.deaths)
	p.stale[t] = struct{}{}
	p.refresh()
	if p.published {
		p.publish()
	}
	c.s.r.metrics.generations.Add(1)
	c.s.r.compactionWell()
}

// dropUnseen drops the objects that nobody holds.
func (c *compactor) dropUnseen(ctx context.Context) error {
	unseen := c.s.ledger.takeUnseen()
	for i, o := range unseen {
		if err := dropTable(ctx, c.conn, c.s.ledger.qualified(o)); err != nil {
			c.s.ledger.undropped(unseen[i:])
			return fmt.Errorf("drop what no snapshot sees: %w", err)
		}
	}
	return nil
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
