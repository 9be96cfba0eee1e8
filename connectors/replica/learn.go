package replica

import (
	"context"
	"fmt"
	"strings"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/connectors/replica/engine"
	"github.com/freshet-io/freshet/connectors/replica/lineage"
)

// schooling decides when to find out which columns of a table are steady. It belongs to the publisher's goroutine.
type schooling struct {
	deletedAt uint32 // the last epoch with a row that nothing replaced
	broken    int    // bases in a row that did not stay whole
	rest      int    // bases to come for which nothing is tried
	failures  int    // how often nothing came of it
	busy      bool   // the follower is about it
}

const (
	// mostBroken is how many bases in a row may end as broken before the steady columns are looked for again.
	mostBroken = 2
	// restBases is for how many bases the steady columns are not looked for after that came to nothing, as where rows are deleted all the
	// time. It doubles each time, at most mostDoubled times.
	restBases   = 32
	mostDoubled = 7
)

// learns reports whether the steady columns are to be found out from what changed since the base of an epoch.
func (s *schooling) learns(l *lineage.Lineage, base uint32) bool {
	switch {
	case s.busy:
		return false
	case l.Columns() == nil:
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

// failed notes that nothing came of looking for steady columns.
func (s *schooling) failed() {
	s.rest = restBases << s.failures
	s.failures = min(s.failures+1, mostDoubled)
}

// learn returns the columns in which no row of the base of a cut differs from its version at the cut, nil if there are no two
// versions of a row to compare.
func (c *compactor) learn(ctx context.Context, t *table, at cut) ([]int, error) {
	if len(at.deltas) == 0 {
		return nil, nil
	}
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
		l.relation(at.births(), at.epoch, at.mask, columnNames(t.def)), strings.Join(join, " AND ")),
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
