package postgres

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// What is nobody's fault but one table's must not keep the others from being copied.
func TestCopy_knowsWhoseFaultAFailureIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state, what string
		table, row  bool
	}{
		{"42P01", "undefined table", true, false},
		{"55P03", "lock not available", true, false},
		{"54000", "row larger than a message", false, true},
		{"XX000", "invalid memory alloc request size", false, true},
		{"XX001", "damaged page", false, true},
		{"XX002", "damaged index", false, true},
		{"57P01", "server shuts down", false, false},
		{"53100", "disk full", false, false},
		{"", "connection lost", false, false},
	} {
		if table, row := tableIsAtFault(c.state), rowIsAtFault(c.state); table != c.table || row != c.row {
			t.Errorf("%s (%s): the table's %t, a row's %t; want %t, %t", c.what, c.state, table, row, c.table, c.row)
		}
	}
}

func TestPieces_coverEveryPageOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pages, each uint64
		want        []string
	}{
		{0, 10, []string{""}},
		{10, 10, []string{""}},
		{11, 10, []string{" WHERE ctid >= '(0,0)' AND ctid < '(10,0)'", " WHERE ctid >= '(10,0)'"}},
		{30, 10, []string{" WHERE ctid >= '(0,0)' AND ctid < '(10,0)'", " WHERE ctid >= '(10,0)' AND ctid < '(20,0)'", " WHERE ctid >= '(20,0)'"}},
	} {
		q := newPieces([]*definition{{}})
		var got []string
		whole, _ := q.take()
		p := q.cut(whole, c.pages, c.each)
		for ok := true; ok; p, ok = q.take() {
			got = append(got, p.condition())
			if last := q.done(p); last != (len(got) == len(c.want)) {
				t.Errorf("%d pages: piece %d is the last: %t", c.pages, len(got), last)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%d pages (-want +got):\n%s", c.pages, diff)
		}
	}
}

func TestPieces_ofATableGivenUpAreNotTaken(t *testing.T) {
	t.Parallel()
	q := newPieces([]*definition{{}, {}})
	first, _ := q.take()
	first = q.cut(first, 30, 10)
	if !q.giveUp(first.table, &cdc.TableError{}) || q.giveUp(first.table, &cdc.TableError{}) {
		t.Error("a table is not given up once")
	}
	if q.done(first) {
		t.Error("a table given up is complete")
	}
	other, ok := q.take()
	if !ok || other.table == first.table || !q.done(other) {
		t.Errorf("took %+v, %t", other, ok)
	}
	if p, ok := q.take(); ok {
		t.Errorf("took %+v at the end", p)
	}
}

// Whoever finds nothing to copy waits for those who may still cut what they copy, and for what they put back.
func TestPieces_areWaitedFor(t *testing.T) {
	t.Parallel()
	q := newPieces([]*definition{{}})
	p, _ := q.take()
	taken := make(chan string)
	go func() {
		defer close(taken)
		for p, ok := q.take(); ok; p, ok = q.take() {
			taken <- fmt.Sprint(p.first)
			q.done(p)
		}
	}()
	p = q.cut(p, 20, 10)
	got := []string{<-taken}
	q.putBack(p)
	for first := range taken {
		got = append(got, first)
	}
	if diff := cmp.Diff([]string{"10", "0"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	q = newPieces([]*definition{{}})
	q.close()
	if _, ok := q.take(); ok {
		t.Error("a piece of a closed queue was taken")
	}
}
