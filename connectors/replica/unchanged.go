package replica

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/connectors/replica/column"
)

// fetchPiece is how many rows one statement fetches.
const fetchPiece = 10_000

// fetchUnchanged completes the rows of which the source left values out
// because they did not change (TOAST): they come from the rows' previous
// versions, which an earlier epoch or piece of a transaction has written.
func (p *publisher) fetchUnchanged(ctx context.Context, b *tableBatch) error {
	slices.SortStableFunc(b.unchanged, func(x, y unchanged) int { return int(x.old) - int(y.old) })
	var columns []int
	for _, u := range b.unchanged {
		if !slices.Contains(columns, u.column) {
			columns = append(columns, u.column)
		}
	}
	rest := b.unchanged
	for len(rest) > 0 {
		n := min(fetchPiece, len(rest))
		for n < len(rest) && rest[n].old == rest[n-1].old {
			n++
		}
		if err := p.fetchPiece(ctx, b, columns, rest[:n]); err != nil {
			return fmt.Errorf("fetch unchanged values of table %s: %w", b.table.def.FullName(), err)
		}
		rest = rest[n:]
	}
	return nil
}

// fetchPiece fetches for entries that are sorted by old row id.
func (p *publisher) fetchPiece(ctx context.Context, b *tableBatch, columns []int, want []unchanged) error {
	def := b.table.def
	var rid proto.ColUInt32
	result := proto.Results{{Name: column.RowID, Data: &rid}}
	names := []string{column.RowID}
	fetched := map[int]*column.Column{}
	for _, k := range columns {
		c, err := column.New(def.Columns[k])
		if err != nil {
			return err
		}
		fetched[k] = c
		names = append(names, def.Columns[k].Name)
		result = append(result, proto.ResultColumn{Name: c.Name(), Data: c})
	}
	missing := len(want)
	sql := p.selectOld(b.table, names, want)
	err := p.conn.Query(ctx, sql, result, func(rows int) error {
		for j := range rows {
			first, _ := slices.BinarySearchFunc(want, rid[j], func(u unchanged, rid uint32) int { return int(u.old) - int(rid) })
			for _, u := range want[first:] {
				if u.old != rid[j] {
					break
				}
				b.rows.Columns[u.column].SetFrom(u.row, fetched[u.column], j)
				missing--
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if missing != 0 {
		return fmt.Errorf("%d of %d previous values are not stored", missing, len(want))
	}
	return nil
}

// selectOld reads row versions by row id, dead or alive.
func (p *publisher) selectOld(t *table, names []string, want []unchanged) string {
	var ids strings.Builder
	for i, u := range want {
		if i > 0 {
			ids.WriteByte(',')
		}
		fmt.Fprintf(&ids, "%d", u.old)
	}
	list := quoteAll(names)
	var parts []string
	from := func(o *object) {
		parts = append(parts, fmt.Sprintf("SELECT %s FROM %s WHERE %s IN (%s)",
			list, p.s.ledger.qualified(o), column.RowID, ids.String()))
	}
	if t.stored.base != nil {
		from(t.stored.base)
	}
	for _, d := range t.stored.deltas {
		from(d.object)
	}
	return strings.Join(parts, " UNION ALL ")
}
