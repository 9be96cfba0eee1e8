package debezium

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Debezium, on its way to the change at which it resumes, sends the ENDs of transactions once more, without their counts.
func TestAssembler_takesCountsFromBeforeItsBeginning(t *testing.T) {
	a := newAssembler(cdc.Position{Major: 10}, t.TempDir(), 1<<20)
	defer a.close()
	a.early(endEvent{txID: 1, position: cdc.Position{Major: 10}})
	a.begin(endEvent{txID: 2})
	a.early(endEvent{txID: 2, position: cdc.Position{Major: 20}, counts: []rowCount{{"s.0", 1}}})
	a.begin(endEvent{txID: 2})
	a.end(endEvent{txID: 2, position: cdc.Position{Major: 20}})
	if _, _, missing, ok := a.head(); !ok || missing["s.0"] != 1 {
		t.Fatalf("a transaction whose row was not read lacks %v, want one of s.0", missing)
	}
	if err := a.row(&arrival{rowEvent: rowEvent{table: tableOf(0), txID: 2, lsn: 15, order: 1, op: opCreate}}); err != nil {
		t.Fatal(err)
	}
	if head, tx, missing, ok := a.head(); !ok || len(missing) > 0 || head.txID != 2 || tx.resumed {
		t.Errorf("transaction %v lacks %v after all of it was read, resumed inside it: %v", head, missing, tx.resumed)
	}
}

// What Debezium records on its way to the change at which it resumes has counts of changes that it sends once more from there.
func TestAssembler_completesATransactionWhoseChangesAreCountedTwice(t *testing.T) {
	a := newAssembler(cdc.Position{}, t.TempDir(), 1<<20)
	defer a.close()
	take := func(lsn, order uint64) {
		if err := a.row(&arrival{rowEvent: rowEvent{table: tableOf(0), txID: 1, lsn: lsn, order: order, op: opCreate}}); err != nil {
			t.Fatal(err)
		}
	}
	a.begin(endEvent{txID: 1, position: cdc.Position{Major: 1}})
	take(1, 1)
	take(2, 2)
	for lsn := range uint64(3) {
		take(lsn+1, lsn+3)
	}
	a.end(endEvent{txID: 1, position: cdc.Position{Major: 10}, counts: []rowCount{{"s.0", 5}}})
	_, tx, missing, ok := a.head()
	if !ok || len(missing) > 0 {
		t.Fatalf("the transaction lacks %v", missing)
	}
	var lsns []uint64
	if err := tx.each(func(_ *tableName, row storedRow) error {
		lsns = append(lsns, row.lsn)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint64{1, 2, 3}, lsns); diff != "" {
		t.Errorf("changes by their positions (-want +got):\n%s", diff)
	}
}

// A record may have several changes of a table (COPY). After a crash they are sent once more from the first one on, and may have other numbers.
func TestAssembler_tellsRowsOfARecordFromThoseSentAgain(t *testing.T) {
	type read struct {
		lsn, order uint64
		row        string
		second     int // when it was sent
	}
	for _, c := range []struct {
		name     string
		reads    []read
		want     []string // rows when two are counted
		doubtful bool     // may be others than the two
	}{
		{"sent once", []read{{50, 5, "a", 0}, {50, 6, "b", 0}}, []string{"a", "b"}, false},
		{"the second one lost", []read{{50, 5, "a", 0}, {50, 5, "a", 1}, {50, 6, "b", 1}}, []string{"a", "b"}, false},
		{"the second one lost, then counted anew", []read{{50, 5, "a", 0}, {50, 2, "a", 1}, {50, 3, "b", 1}}, []string{"a", "b"}, false},
		{"sent twice, then counted anew", []read{{40, 4, "a", 0}, {50, 5, "b", 0}, {40, 1, "a", 1}, {50, 2, "b", 1}}, []string{"a", "b"}, false},
		{"counted anew, then as before", []read{{20, 1, "a", 0}, {20, 2, "a", 1}}, []string{"a", "a"}, true},
		{"counted on", []read{{10, 1, "a", 0}, {15, 2, "b", 0}, {10, 4, "a", 1}}, []string{"a", "b"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAssembler(cdc.Position{}, t.TempDir(), 1<<20)
			defer a.close()
			a.end(endEvent{txID: 1, position: cdc.Position{Major: 100}, counts: []rowCount{{"s.0", 2}}})
			for _, r := range c.reads {
				in := arrival{sent: time.Unix(int64(r.second), 0), rowEvent: rowEvent{table: tableOf(0), txID: 1, lsn: r.lsn, order: r.order, op: opCreate, after: []byte(r.row)}}
				if err := a.row(&in); err != nil {
					t.Fatal(err)
				}
			}
			_, tx, missing, ok := a.head()
			if !ok || len(missing) > 0 {
				t.Fatalf("the transaction lacks %v", missing)
			}
			var rows []string
			if err := tx.each(func(_ *tableName, row storedRow) error {
				rows = append(rows, string(row.after))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, rows); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if tx.resumed != c.doubtful {
				t.Errorf("it waits for more: %v, want %v", tx.resumed, c.doubtful)
			}
		})
	}
}
