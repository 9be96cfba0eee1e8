package replica

import (
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/column"
	"github.com/freshet-io/freshet/connectors/replica/rowindex"
)

// A row's number comes again, in other tables too, and a table's steady columns change: what was noted of a number says something of the row only if the
// table's lines were followed in the same columns ever since. Here it equals what an update writes, but not what the row has in the base.
func TestTrace_aLineGoesOnOnlyIfTheRowIsKnownToBeTheSame(t *testing.T) {
	const (
		text      = 25
		rid       = 7
		base      = 5 // the base's epoch
		unchanged = "the same"
	)
	def := &cdc.Table{ID: 1, Key: []int{0}, Columns: []cdc.Column{{Name: "a", Type: text}, {Name: "b", Type: text}}}
	// bear lets an epoch bear a row, of which all columns have one value.
	bear := func(t *testing.T, p *publisher, to *table, epoch, rid, previous uint32, value string) {
		t.Helper()
		rows, err := column.NewRows(def)
		if err != nil {
			t.Fatal(err)
		}
		d := cdc.Datum{Kind: cdc.Text, Data: []byte(value)}
		if err := rows.Append(rid, cdc.Row{d, d}); err != nil {
			t.Fatal(err)
		}
		p.trace(&tableBatch{table: to, rows: rows, previous: []uint32{previous}}, epoch)
	}
	tests := []struct {
		name  string
		noted func(t *testing.T, p *publisher, to *table)
		whole bool
	}{
		{"noted since the lines are followed", func(t *testing.T, p *publisher, to *table) {
			to.stored.lineage.Follow([]int{0}, 1)
			bear(t, p, to, 2, rid, rowindex.None, unchanged)
		}, true},
		{"never noted", func(_ *testing.T, _ *publisher, to *table) {
			to.stored.lineage.Follow([]int{0}, 1)
		}, false},
		{"noted of a row of another table", func(t *testing.T, p *publisher, to *table) {
			other := &table{def: def}
			other.stored.lineage.Follow([]int{0}, 1)
			bear(t, p, other, 2, rid, rowindex.None, unchanged)
			to.stored.lineage.Follow([]int{0}, 3)
		}, false},
		{"noted of other columns", func(t *testing.T, p *publisher, to *table) {
			to.stored.lineage.Follow([]int{1}, 1)
			bear(t, p, to, 2, rid, rowindex.None, unchanged)
			to.stored.lineage.Follow(nil, 3)
			to.stored.lineage.Follow([]int{0}, 4)
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, to := &publisher{}, &table{def: def}
			tt.noted(t, p, to)
			to.stored.lineage.Rebased(base)
			bear(t, p, to, base+1, rid+1, rid, unchanged)
			if got := to.stored.lineage.Whole(base); got != tt.whole {
				t.Errorf("the base of epoch %d is whole: %v, want %v", base, got, tt.whole)
			}
		})
	}
}
