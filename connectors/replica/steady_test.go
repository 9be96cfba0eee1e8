package replica_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// A query that reads no column that updates change need not look which rows are dead, nor at rows that are there already.
func TestReplica_readsLessWhereNothingThatIsReadChanges(t *testing.T) {
	src := newScript(accounts())
	g, ctx := startGateway(t, src, compactAtOnce)
	const rows = 200
	src.commit(func(x *tx) {
		for i := range rows {
			x.insert(1, row{fmt.Sprint(i), "1.25", []string{null, "x", ""}[i%3]})
		}
	})
	steady, changing := []string{"id", "note"}, []string{"id", "balance"}
	n := 0
	update := func() cdc.Position {
		n++
		return src.commit(func(x *tx) {
			for i := range 5 {
				id := fmt.Sprint(10 + (n+i*17)%(rows-10))
				x.update(1, key(accounts(), row{id}), row{id, fmt.Sprintf("%d.51", n), src.now[1][key(accounts(), row{id})][2]})
			}
		})
	}
	insert := func() cdc.Position {
		n++
		return src.commit(func(x *tx) { x.insert(1, row{fmt.Sprint(rows + n), "3.01", "new"}) })
	}
	// until changes the table until a snapshot, which has the change, is read as it should be.
	until := func(change func() cdc.Position, columns []string, good func(relation string) bool) {
		t.Helper()
		for {
			s := expect(ctx, t, g, src, change())
			relation, _ := s.Relation(1, columns)
			s.Release()
			if good(relation) {
				return
			}
		}
	}
	masked := func(r string) bool { return strings.Contains(r, "dictGet") }
	base := func(r string) bool { return !strings.Contains(r, "SELECT") }

	until(update, steady, base)
	until(update, changing, masked)
	until(update, nil, base)
	// What is inserted is read from the delta, and no other row of it, until it is part of the base.
	until(insert, steady, func(r string) bool { return strings.Contains(r, "_since >") && !masked(r) })
	until(update, steady, base)

	// A steady column changes, or a row goes: the base is not enough until there is another one.
	for _, change := range []func() cdc.Position{
		func() cdc.Position {
			return src.commit(func(x *tx) { x.update(1, key(accounts(), row{"7"}), row{"7", "8.01", fmt.Sprint("other", n)}) })
		},
		func() cdc.Position {
			return src.commit(func(x *tx) { x.update(1, key(accounts(), row{"7"}), row{"-1", "8.01", "moved"}) })
		},
		func() cdc.Position {
			return src.commit(func(x *tx) { x.delete(1, key(accounts(), row{"-1"})) })
		},
	} {
		until(change, nil, func(string) bool { return true })
		until(update, steady, base)
	}

	p := src.commit(func(x *tx) { x.truncate(1); x.insert(1, row{"1", "1.01", "anew"}) })
	expect(ctx, t, g, src, p).Release()
}
