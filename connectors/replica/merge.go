package replica

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
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
			err = fmt.Errorf("merge the delta of table %s: %w", fullName(t.def), err)
		}
		c.s.r.metrics.merge.Observe(time.Since(began).Seconds())
	}
	return err
}

// sealed are deltas that take no rows any more. What they hold is all published.
type sealed struct {
	def         *cdc.Table
	incarnation int
	deltas      []*delta
	rows        int
}

func (c *compactor) mergeDelta(ctx context.Context, t *table) error {
	l := c.s.ledger
	var made []*object // the merged delta, and the one that the next epochs go to
	for range 2 {
		o := l.created(c.s.names.next(fmt.Sprintf("d_%d", t.def.ID)))
		made = append(made, o)
		sql, err := createDelta(l.qualified(o), t.def)
		if err == nil {
			err = c.conn.Exec(ctx, sql)
		}
		if err != nil {
			l.drop(made...)
			return err
		}
	}
	merged, next := made[0], made[1]
	from, ok, err := c.seal(ctx, t, next)
	if err != nil || !ok {
		l.drop(made...)
		return err
	}
	var parts []string
	list := columnList(from.def) + ", " + column.Epoch
	for _, d := range from.deltas {
		parts = append(parts, fmt.Sprintf("SELECT %s FROM %s", list, l.qualified(d.object)))
	}
	err = c.conn.Exec(ctx, fmt.Sprintf("INSERT INTO %s (%s) %s", l.qualified(merged), list, strings.Join(parts, " UNION ALL ")))
	var have uint64
	if err == nil {
		have, err = c.conn.Count(ctx, "SELECT count() AS n FROM "+l.qualified(merged))
	}
	if err == nil && have == uint64(from.rows) { // fewer are there after a restart of the engine only, which ends the session
		err = c.s.publisher.do(ctx, func() { c.replace(t, from, merged) })
	}
	for _, d := range from.deltas {
		l.drop(d.object)
	}
	l.drop(merged)
	return err
}

// seal gives a table a new open delta and returns those before it, held until they are dropped.
func (c *compactor) seal(ctx context.Context, t *table, next *object) (from sealed, ok bool, err error) {
	err = c.s.publisher.do(ctx, func() {
		p, st := c.s.publisher, &t.stored
		if p.tables[t.def.ID] != t || !p.published || st.blocks() < c.s.cfg.MergeBlocks {
			return
		}
		ok = true
		from = sealed{def: t.def, incarnation: st.incarnation, deltas: st.deltas}
		for _, d := range st.deltas {
			from.rows += d.rows
			c.s.ledger.hold(d.object)
		}
		st.deltas, st.open = append(st.deltas[:len(st.deltas):len(st.deltas)], &delta{object: next}), true
	})
	return from, ok, err
}

// replace makes a merged delta visible in place of what it was merged from. It runs on the publisher's goroutine.
func (c *compactor) replace(t *table, from sealed, merged *object) {
	p, st, l := c.s.publisher, &t.stored, c.s.ledger
	if p.tables[t.def.ID] != t || st.incarnation != from.incarnation {
		return // gone or truncated meanwhile
	}
	l.hold(merged)
	for _, d := range from.deltas {
		l.drop(d.object)
	}
	rest := st.deltas[len(from.deltas):]
	st.deltas = append([]*delta{{object: merged, rows: from.rows, blocks: 1}}, rest...)
	p.stale[t] = struct{}{}
	p.refresh()
	p.publish()
}
