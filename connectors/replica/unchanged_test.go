package replica_test

import (
	"fmt"
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// The values that a transaction leaves alone are fetched in pieces. None ends between two values of a row.
func TestReplica_keepsSeveralLongValuesOfEachRow(t *testing.T) {
	articles := &cdc.Table{ID: 1, Schema: "public", Name: "articles", Key: []int{0}, Columns: []cdc.Column{
		{Name: "id", Type: int4, Modifier: -1, NotNull: true, Attr: 1},
		{Name: "title", Type: text, Modifier: -1, Attr: 2},
		{Name: "body", Type: text, Modifier: -1, Attr: 3},
		{Name: "notes", Type: text, Modifier: -1, Attr: 4},
		{Name: "reads", Type: int4, Modifier: -1, Attr: 5},
	}}
	const rows = 1000
	values := func(i int, reads string) row {
		return row{fmt.Sprint(i), fmt.Sprint("title ", i), fmt.Sprint("body ", i), fmt.Sprint("notes ", i), reads}
	}
	src := newScript(articles)
	src.commit(func(x *tx) {
		for i := range rows {
			x.insert(1, values(i, "0"))
		}
	})
	g, ctx := startGateway(t, src, nil)
	expect(ctx, t, g, src, src.position).Release()
	long := [][]int{{1, 2, 3}, {1, 3}, {2}, nil}
	for round := range len(long) {
		p := src.commit(func(x *tx) {
			for i := range rows {
				// All rows alike at first, then such as have some of them.
				unchanged := long[i*round%len(long)]
				x.update(1, key(articles, row{fmt.Sprint(i)}), values(i, fmt.Sprint(round+1)), unchanged...)
			}
		})
		expect(ctx, t, g, src, p).Release()
	}
}
