package replica

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/connectors/replica/column"
)

const (
	// fetchValues is how many values one statement fetches at most, fetchBytes about how much they may be.
	fetchValues = 10_000
	fetchBytes  = 24 << 20
	// firstFetch is how many it fetches where it is not known how long they are.
	firstFetch = 64
)

// pieces divides a batch, so that what has to be fetched for a piece, and is written with it, is about fetchBytes: an update of many rows
// that leaves their long values alone is small itself. All pieces but the last are partial.
func (p *publisher) pieces(b *batch) iter.Seq[*batch] {
	return func(yield func(*batch) bool) {
		for i := range b.tables {
			t := &b.tables[i]
			for n := t.table.stored.fetchable(); len(t.unchanged) > n; n = t.table.stored.fetchable() {
				if !yield(&batch{tables: []tableBatch{t.cut(n)}, upTo: b.upTo, partial: true}) {
					return
				}
			}
		}
		yield(b)
	}
}

// fetchable is how many values may be fetched for a piece.
func (st *stored) fetchable() int {
	if st.valueBytes == 0 {
		return firstFetch
	}
	return max(1, min(fetchValues, fetchBytes/st.valueBytes))
}

// fetched notes how long values are that were fetched. They may turn out to be shorter than those before by half at a time.
func (st *stored) fetched(values, bytes int) {
	before := st.valueBytes
	if before == 0 {
		before = fetchBytes / firstFetch
	}
	st.valueBytes = max(bytes/values, before/2, 1)
}

// cut takes the first rows out, those for which about n values have to be fetched: all of a row's, of which n may be in the middle. What died, or
// ended, stays: rows may have been born before they died.
func (b *tableBatch) cut(n int) tableBatch {
	rows := max(b.unchanged[n].row, b.unchanged[0].row+1)
	n, _ = slices.BinarySearchFunc(b.unchanged, rows, func(u unchanged, row int) int { return u.row - row })
	first := tableBatch{table: b.table, activated: b.activated, truncated: b.truncated, voided: b.voided, rows: b.rows.Cut(rows),
		previous: b.previous[:rows], unchanged: b.unchanged[:n], count: b.count}
	b.activated, b.truncated, b.voided = nil, false, nil
	b.previous, b.unchanged = b.previous[rows:], b.unchanged[n:]
	for i := range b.unchanged {
		b.unchanged[i].row -= rows
	}
	return first
}

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
	bytes, err := p.fetchOld(ctx, b, columns)
	if err != nil {
		return fmt.Errorf("fetch unchanged values of table %s: %w", b.table.def.FullName(), err)
	}
	b.table.stored.fetched(len(b.unchanged), bytes)
	return nil
}

// fetchOld fetches some columns of what is unchanged, which is sorted by old row id. It returns how many bytes that took.
func (p *publisher) fetchOld(ctx context.Context, b *tableBatch, columns []int) (bytes int, err error) {
	def, want := b.table.def, b.unchanged
	var rid proto.ColUInt32
	result := proto.Results{{Name: column.RowID, Data: &rid}}
	names := []string{column.RowID}
	fetched := map[int]*column.Column{}
	for _, k := range columns {
		c, err := column.New(def.Columns[k])
		if err != nil {
			return 0, err
		}
		fetched[k] = c
		names = append(names, def.Columns[k].Name)
		result = append(result, proto.ResultColumn{Name: c.Name(), Data: c})
	}
	missing := len(want)
	sql := p.selectOld(b.table, names, want)
	err = p.conn.Query(ctx, sql, result, func(rows int) error {
		for _, c := range fetched {
			bytes += c.Bytes()
		}
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
		return 0, err
	}
	if missing != 0 {
		return 0, fmt.Errorf("%d of %d previous values are not stored", missing, len(want))
	}
	return bytes, nil
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
