package debezium

import (
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// The transaction after one whose END was lost is known for it, and nothing of the other stays in memory.
func TestAssembler_noticesATransactionWithoutAnEnd(t *testing.T) {
	begin := func(txID uint64) endEvent { return endEvent{txID: txID, position: cdc.Position{Major: txID}} }
	end := func(txID uint64) endEvent { return endEvent{txID: txID, position: cdc.Position{Major: txID + 1}} }
	for _, c := range []struct {
		name   string
		events func(*assembler)
		want   bool
	}{
		{"no END", func(a *assembler) { a.begin(begin(10)) }, true},
		{"no END, read from its middle on", func(a *assembler) { a.early(end(3)); a.begin(begin(10)) }, true},
		{"ended", func(a *assembler) { a.begin(begin(10)); a.end(end(10)) }, false},
		{"begun twice", func(a *assembler) { a.begin(begin(10)); a.begin(begin(10)); a.end(end(10)) }, false},
		{"sent once more", func(a *assembler) { a.begin(begin(10)); a.end(end(10)); a.begin(begin(10)) }, false},
		{"ended before the beginning", func(a *assembler) { a.begin(begin(10)); a.early(end(10)) }, false},
		{"passed by on the way to another", func(a *assembler) { a.end(end(8)); a.pop(); a.begin(begin(8)); a.begin(begin(10)); a.end(end(10)) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAssembler(cdc.Position{Major: 5}, t.TempDir(), 1<<20)
			defer a.close()
			c.events(a)
			if err := a.row(&arrival{rowEvent: rowEvent{table: tableOf(0), txID: 10, lsn: 10, order: 1, op: opCreate}}); err != nil {
				t.Fatal(err)
			}
			a.begin(begin(20))
			a.end(end(20))
			var last endEvent
			for head, _, _, ok := a.head(); ok; head, _, _, ok = a.head() {
				last = head
				a.pop()
			}
			if last.txID != 20 || last.follows != c.want {
				t.Errorf("transaction %v follows one without an END: %v, want %v", last, last.follows, c.want)
			}
			if c.want && (len(a.pending) > 0 || len(a.open) > 0) {
				t.Errorf("%d transactions are left over", len(a.pending))
			}
		})
	}
}

// Connect had begun to send a transaction when it crashed, went back to one that the reader has, and sends all from there on once more.
func TestAssembler_takesATransactionThatBeganBeforeWhereReadingBegins(t *testing.T) {
	a := newAssembler(cdc.Position{Major: 10}, t.TempDir(), 1<<20)
	defer a.close()
	first, second, third := endEvent{txID: 1, position: cdc.Position{Major: 10}}, endEvent{txID: 2, position: cdc.Position{Major: 20}},
		endEvent{txID: 3, position: cdc.Position{Major: 30}, counts: []rowCount{{"s.0", 1}}}
	a.begin(second)
	a.early(second)
	a.begin(third)
	a.early(first)
	a.begin(second)
	a.end(second)
	a.begin(third)
	if err := a.row(&arrival{rowEvent: rowEvent{table: tableOf(0), txID: 3, lsn: 25, order: 1, op: opCreate}}); err != nil {
		t.Fatal(err)
	}
	a.end(third)
	for _, want := range []endEvent{second, third} {
		head, _, missing, ok := a.head()
		if !ok || head.txID != want.txID || head.follows || len(missing) > 0 {
			t.Fatalf("transaction %v, there: %v, follows one without an END: %v, lacks %v; want %v, whole", head, ok, head.follows, missing, want)
		}
		a.pop()
	}
}
