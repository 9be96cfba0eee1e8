package replica

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freshet-io/freshet/connectors/replica/column"
)

// mergeDeltas puts the rows of each delta that consists of many blocks into one. Every epoch adds a block, and
// between two compactions these would cost a scan more than their rows do.
func (c *compactor) mergeDeltas(ctx context.Context) error {
	var many []*table
	err := c.s.publisher.do(ctx, func() {
		for _, t := range c.s.publisher.tables {
			if t.stored.blocks() >= c.s.cfg.MergeBlocks {
				many = append(many, t)
			}
		}
	})
	for _, t := range many {
		if err != nil {
			break
		}
		began := time.Now()
		if err = c.mergeDelta(ctx, t); err != nil {
			err = fmt.Errorf("merge the delta of table %s: %w", t.def.FullName(), err)
		}
		c.s.r.metrics.merge.Observe(time.Since(began).Seconds())
	}
	return err
}

// mergeDelta copies the deltas of a table, as they are at a cut, into one block and puts that in their place.
func (c *compactor) mergeDelta(ctx context.Context, t *table) error {
	l := c.s.ledger
	merged, err := c.s.makeDelta(ctx, c.conn, t.def)
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
	list := columnList(t.def) + ", " + column.Epoch + ", " + column.Since
	parts := make([]string, len(at.deltas))
	for i, o := range at.deltas {
		parts[i] = fmt.Sprintf("SELECT %s FROM %s", list, l.qualified(o))
	}
	if err := c.conn.Exec(ctx, fmt.Sprintf("INSERT INTO %s (%s) %s", l.qualified(merged), list, strings.Join(parts, " UNION ALL "))); err != nil {
		return err
	}
	have, err := c.conn.Count(ctx, "SELECT count() AS n FROM "+l.qualified(merged))
	if err != nil || have != uint64(at.born) { // fewer are there after a restart of the engine only, which ends the session
		return err
	}
	return c.s.publisher.do(ctx, func() { c.replace(t, at, merged) })
}

// replace makes a merged delta visible in place of those of a cut. It runs on the publisher's goroutine.
func (c *compactor) replace(t *table, at cut, merged *object) {
	p, st, l := c.s.publisher, &t.stored, c.s.ledger
	if p.tables[t.def.ID] != t || st.incarnation != at.incarnation {
		return // gone or truncated meanwhile
	}
	l.hold(merged)
	l.drop(at.deltas...)
	sealed := st.deltas[:len(at.deltas)]
	youngest := slices.MaxFunc(sealed, func(a, b *delta) int { return cmp.Compare(a.youngest, b.youngest) }).youngest
	st.deltas = append([]*delta{{object: merged, rows: at.born, blocks: 1, youngest: youngest}}, st.deltas[len(at.deltas):]...)
	p.stale[t] = struct{}{}
	p.refresh()
	p.publish()
}
