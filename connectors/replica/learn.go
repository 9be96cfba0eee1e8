package replica

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/connectors/replica/column"
	"github.com/freshet-io/freshet/connectors/replica/engine"
	"github.com/freshet-io/freshet/connectors/replica/lineage"
)

// schooling decides when to find out which columns of a table are steady. It belongs to the publisher's goroutine.
type schooling struct {
	deletedAt uint32 // the last epoch with a row that nothing replaced
	broken    int    // bases in a row that did not stay whole
	rest      int    // bases to come for which nothing is tried
}

const (
	// mostBroken is how many bases in a row may end as broken before the steady columns are looked for again.
	mostBroken = 2
	// restBases is how many bases long nothing is tried after that did not help: rows are deleted, say.
	restBases = 32
)

// learns reports whether the steady columns are to be found out from what changed since the base of an epoch.
func (s *schooling) learns(l *lineage.Lineage, base uint32) bool {
	if l.Columns() == nil {
		return s.rest == 0 && s.deletedAt <= base
	}
	return s.broken >= mostBroken && !l.Whole(base)
}

// rebased notes that the base of an epoch is about to be replaced.
func (s *schooling) rebased(l *lineage.Lineage, base uint32) {
	s.rest = max(0, s.rest-1)
	if s.broken++; l.Columns() == nil || l.Whole(base) {
		s.broken = 0
	}
}

// learn returns the columns in which no row of the base of a cut differs from its version at the cut, nil if there are no two
// versions of a row to compare.
func (c *compactor) learn(ctx context.Context, t *table, at cut) ([]int, error) {
	l := c.s.ledger
	list := columnList(t.def)
	join := make([]string, len(t.def.Key))
	for i, k := range t.def.Key {
		name := engine.Quote(t.def.Columns[k].Name)
		join[i] = fmt.Sprintf("now.%s = was.%s", name, name)
	}
	counts := []string{"count()"}
	for _, col := range t.def.Columns {
		name := engine.Quote(col.Name)
		counts = append(counts, fmt.Sprintf("countIf(isNull(now.%[1]s) != isNull(was.%[1]s) OR ifNull(now.%[1]s != was.%[1]s, 0))", name))
	}
	var n proto.ColUInt64
	var differing []uint64
	err := c.conn.Query(ctx, fmt.Sprintf("SELECT arrayJoin([%s]) AS n FROM (SELECT %s FROM %s WHERE NOT %s) AS was INNER JOIN %s AS now ON %s",
		strings.Join(counts, ", "), list, l.qualified(at.base), l.alive(at.mask),
		l.relation(arms{deltas: at.deltas, deadDeltas: true}, at.epoch, at.mask, columnNames(t.def)), strings.Join(join, " AND ")),
		proto.Results{{Name: "n", Data: &n}}, func(int) error {
			differing = append(differing, n...)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("compare versions of rows: %w", err)
	}
	if differing[0] == 0 {
		return nil, nil
	}
	var columns []int
	for k, n := range differing[1:] {
		if n == 0 {
			columns = append(columns, k)
		}
	}
	return columns, nil
}

// follow begins to follow the lines of a table's rows, and finds the digests of those that are there.
func (c *compactor) follow(ctx context.Context, t *table, columns []int) error {
	err := c.s.publisher.do(ctx, func() {
		p, st := c.s.publisher, &t.stored
		if p.tables[t.def.ID] != t {
			columns = nil
			return
		}
		if known := st.lineage.Columns(); known != nil {
			columns = slices.DeleteFunc(columns, func(k int) bool { return !slices.Contains(known, k) })
			if len(columns) == len(known) {
				columns = nil // the rows were deleted, or changed back
			}
			st.broken = 0
		}
		if columns == nil {
			st.rest = restBases
		}
		st.lineage.Follow(columns, p.epoch)
	})
	if err != nil || columns == nil {
		return err
	}
	return c.readDigests(ctx, t, columns)
}

// readDigests finds the digests of the rows of the newest snapshot. Rows that are born later get theirs when they are.
func (c *compactor) readDigests(ctx context.Context, t *table, columns []int) error {
	s, err := c.s.r.Acquire(ctx, Request{})
	if err != nil {
		return err
	}
	defer s.Release() // its row ids are given to no other rows as long as it is held
	names := make([]string, 0, len(columns)+1)
	rows := &column.Rows{}
	result := make(proto.Results, 0, len(columns)+1)
	all := make([]int, len(columns))
	for i, k := range columns {
		col, err := column.New(t.def.Columns[k])
		if err != nil {
			return err
		}
		all[i] = i
		names = append(names, col.Name())
		rows.Columns = append(rows.Columns, col)
		result = append(result, proto.ResultColumn{Name: col.Name(), Data: col})
	}
	names = append(names, column.RowID)
	result = append(result, proto.ResultColumn{Name: column.RowID, Data: &rows.RID})
	relation, ok := s.Relation(t.def.ID, names)
	if !ok {
		return nil // gone meanwhile
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = engine.Quote(name)
	}
	p := c.s.publisher
	var encoded []byte
	var digests []uint64
	return c.conn.Query(ctx, fmt.Sprintf("SELECT %s FROM %s SETTINGS max_block_size = %d", strings.Join(quoted, ", "), relation, digestBlock),
		result, func(n int) error {
			digests = digests[:0]
			for i := range n {
				encoded = rows.AppendKey(encoded[:0], all, i)
				digests = append(digests, maphash.Bytes(p.seed, encoded))
			}
			return p.do(ctx, func() {
				for i, rid := range rows.RID[:n] {
					p.digests.Set(rid, digests[i])
				}
			})
		})
}

// digestBlock is how many rows readDigests reads at a time.
const digestBlock = 8192
