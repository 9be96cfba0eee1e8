package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// maxParts is the number of parts beyond which the smaller ones are joined. A part costs a scan about as much as a hundred thousand rows do.
const maxParts = 4

// errWrongCount says that a new base does not have as many rows as the stream says.
var errWrongCount = errors.New("the rows in the columnar store are not as many as the change stream says")

// shape is how the engine holds a base.
type shape struct {
	rows     int64 // when it was built
	physical int64 // these together with those that are masked
	parts    int
	bytes    int64 // on disk; 0: not known
}

// build fills a new base with the rows that were alive at the cut.
func (c *compactor) build(ctx context.Context, t *table, at cut, base *object) (shape, error) {
	sql, err := createBase(c.s.ledger.qualified(base), t.def)
	if err != nil {
		return shape{}, err
	}
	if err := c.conn.Exec(ctx, sql); err != nil {
		return shape{}, err
	}
	switch {
	case at.base == nil || at.shape.physical <= int64(c.s.cfg.RewriteRows):
		err = c.rewrite(ctx, t, at, base)
	case at.whole || c.claimMerge(at):
		err = c.merge(ctx, t, at, base)
	default:
		err = c.extend(ctx, t, at, base)
	}
	if err != nil {
		return shape{}, err
	}
	return c.check(ctx, at, base)
}

// claimMerge decides whether a base is merged to one part as well as extended. A merge because the base is read takes its time from what there is
// for all such merges: the next one has to wait.
func (c *compactor) claimMerge(at cut) bool {
	if masked := max(0, at.shape.physical-at.rows) + int64(at.dead); masked*maxMasked > at.shape.physical {
		return true
	}
	now := c.s.r.clock()
	if !at.worn || now.Before(c.mergeAfter) {
		return false
	}
	c.mergeAfter = now.Add(mergeShare * at.shape.mergeTime())
	return true
}

// merge has the engine make one part of the previous base, without the rows that died, and what was born. That takes as long as writing it anew
// and, being done column by column, next to no memory. It takes too much where rows are long and parts are many: these are joined then.
func (c *compactor) merge(ctx context.Context, t *table, at cut, base *object) error {
	if err := c.share(ctx, at, base); err != nil {
		return err
	}
	if err := c.bear(ctx, t, at, base); err != nil {
		return err
	}
	err := c.conn.Exec(ctx, "OPTIMIZE TABLE "+c.s.ledger.qualified(base)+" FINAL")
	if engine.MemoryExceeded(err) {
		return c.join(ctx, t, base)
	}
	return err
}

// extend shares the parts of the previous base, masks what died and adds what was born.
func (c *compactor) extend(ctx context.Context, t *table, at cut, base *object) error {
	if err := c.share(ctx, at, base); err != nil {
		return err
	}
	if err := c.join(ctx, t, base); err != nil {
		return err
	}
	return c.bear(ctx, t, at, base)
}

// share gives a new base the parts of the previous one, and masks the rows in them that died.
func (c *compactor) share(ctx context.Context, at cut, base *object) error {
	l := c.s.ledger
	name := l.qualified(base)
	if err := c.conn.Exec(ctx, fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION tuple() FROM %s", name, l.qualified(at.base))); err != nil || at.dead == 0 {
		return err
	}
	return c.conn.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE NOT %s", name, l.alive(at.mask)))
}

// rewrite writes the base anew.
func (c *compactor) rewrite(ctx context.Context, t *table, at cut, base *object) error {
	live := arms{base: at.base, deltas: at.deltas, deadBase: at.dead > 0, deadDeltas: at.dead > 0}
	return c.conn.Exec(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s",
		c.s.ledger.qualified(base), columnList(t.def), columnList(t.def),
		c.s.ledger.relation(live, at.epoch, at.mask, columnNames(t.def))))
}

// bear adds what was born to a base.
func (c *compactor) bear(ctx context.Context, t *table, at cut, base *object) error {
	if len(at.deltas) == 0 {
		return nil
	}
	l := c.s.ledger
	return c.conn.Exec(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s", l.qualified(base), columnList(t.def), columnList(t.def),
		l.relation(at.births(), at.epoch, at.mask, columnNames(t.def))))
}

type part struct {
	name        string
	rows, bytes uint64
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
		name        proto.ColStr
		rows, bytes proto.ColUInt64
		parts       []part
	)
	err := c.conn.Query(ctx, fmt.Sprintf("SELECT name, rows, bytes_on_disk FROM system.parts WHERE database = %s AND table = %s AND active",
		engine.Literal(c.s.cfg.Database), engine.Literal(base.name)),
		proto.Results{{Name: "name", Data: &name}, {Name: "rows", Data: &rows}, {Name: "bytes_on_disk", Data: &bytes}}, func(n int) error {
			for i := range n {
				parts = append(parts, part{name: name.Row(i), rows: rows[i], bytes: bytes[i]})
			}
			return nil
		})
	return parts, err
}

// check compares the new base with the number of live keys at the cut.
func (c *compactor) check(ctx context.Context, at cut, base *object) (shape, error) {
	n, err := c.conn.Count(ctx, "SELECT count() AS n FROM "+c.s.ledger.qualified(base))
	if err != nil {
		return shape{}, err
	}
	if int64(n) != at.rows {
		return shape{}, fmt.Errorf("%w: %d instead of %d", errWrongCount, n, at.rows)
	}
	all, err := c.parts(ctx, base)
	s := shape{rows: at.rows, parts: len(all)}
	for _, p := range all {
		s.physical += int64(p.rows)
		s.bytes += int64(p.bytes)
	}
	return s, err
}
