package replica

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/freshet-io/freshet/connectors/replica/column"
)

// mergeDeltas puts the rows of deltas that consist of many blocks into one. Every epoch adds a block, and
// between two compactions these would cost a scan more than their rows do.
func (c *compactor) mergeDeltas(ctx context.Context) error {
	var many []*table
	err := c.s.publisher.do(ctx, func() {
		for _, t := range c.s.publisher.tables {
			if t.stored.fragmented(c.s.cfg.MergeBlocks) {
				many = append(many, t)
			}
		}
	})
	if err != nil {
		return err
	}
	var r refusals
	for _, t := range many {
		began := time.Now()
		if err := c.mergeDelta(ctx, t); err != nil {
			if err := r.note(fmt.Errorf("merge the delta of table %s: %w", t.def.FullName(), err)); err != nil {
				return err
			}
		}
		c.s.r.metrics.merge.Observe(time.Since(began).Seconds())
	}
	return r.err
}

// mergeDelta copies the deltas of a table, as they are at a cut, into one block and puts that in their place.
func (c *compactor) mergeDelta(ctx context.Context, t *table) error {
	l := c.s.ledger
	merged, err := c.s.makeDelta(ctx, c.conn, t.def, false)
	if err != nil {
		return err
	}
	defer l.drop(merged)
	at, ok, err := c.cut(ctx, t)
	if err != nil || !ok {
		return err
	}
	defer l.drop(at.base, at.mask)
	defer l.drop(at.deltas...)
	if whole, err := c.fill(ctx, t, merged, at.deltas, at.born); err != nil || !whole {
		return err
	}
	var failed error
	err = c.s.publisher.do(ctx, func() { failed = c.replace(ctx, t, at, merged) })
	return errors.Join(err, failed)
}

// fill adds the rows of deltas to another, which then has so many. It reports false if it has others: fewer are there after a restart of
// the engine only, which ends the session. Those of a delta on disk have no room in memory.
func (c *compactor) fill(ctx context.Context, t *table, merged *object, deltas []*object, rows int) (bool, error) {
	if anyOnDisk(deltas) {
		return false, nil
	}
	l := c.s.ledger
	list := columnList(t.def) + ", " + column.Epoch + ", " + column.Since
	parts := make([]string, len(deltas))
	for i, o := range deltas {
		parts[i] = fmt.Sprintf("SELECT %s FROM %s", list, l.qualified(o))
	}
	if err := c.conn.Exec(ctx, fmt.Sprintf("INSERT INTO %s (%s) %s", l.qualified(merged), list, strings.Join(parts, " UNION ALL "))); err != nil {
		return false, err
	}
	have, err := c.conn.Count(ctx, "SELECT count() AS n FROM "+l.qualified(merged))
	return have == uint64(rows), err
}

// replace makes a merged delta visible in place of those of a cut, and of the one that was begun since, which has hardly any rows: every table that
// a scan reads takes the engine a millisecond to plan. It runs on the publisher's goroutine.
func (c *compactor) replace(ctx context.Context, t *table, at cut, merged *object) error {
	p, st, l := c.s.publisher, &t.stored, c.s.ledger
	if p.tables[t.def.ID] != t || st.incarnation != at.incarnation {
		return nil // gone or truncated meanwhile
	}
	m := &delta{object: merged, blocks: 2}
	for _, d := range st.deltas {
		m.rids, m.youngest, m.bytes = append(m.rids, d.rids...), max(m.youngest, d.youngest), m.bytes+d.bytes
	}
	all := objects(st.deltas)
	since := all[len(at.deltas):]
	if whole, err := c.fill(ctx, t, merged, since, len(m.rids)); err != nil || !whole {
		return err
	}
	l.hold(merged)
	l.drop(all...)
	st.deltas, st.deltaWear = []*delta{m}, &wear{} // the delta takes the rows to come
	p.stale[t] = struct{}{}
	p.refresh()
	p.publish()
	return nil
}
