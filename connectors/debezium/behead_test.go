package debezium

import (
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

func TestTransaction_knowsWhereItsFirstChangesMayBeMissing(t *testing.T) {
	began := time.UnixMilli(1e12)
	const commit = 100 // of the transaction before
	for _, c := range []struct {
		name  string
		begin uint64   // LSN of the first record
		rows  []uint64 // LSNs
		after time.Duration
		want  bool
	}{
		{"resumed behind a change at the commit before", 50, []uint64{108, 120}, time.Second, true},
		{"resumed behind its last change", 50, nil, time.Second, true},
		{"delivered at once", 50, []uint64{108, 120}, time.Millisecond, false},
		{"resumed with a change of before the commit", 50, []uint64{60, 108}, time.Second, false},
		{"resumed with the change at the commit", 50, []uint64{100, 108}, time.Second, false},
		{"begun after the commit", 100, []uint64{108}, time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAssembler(cdc.Position{}, t.TempDir(), 1<<20)
			defer a.close()
			a.end(endEvent{txID: 1, position: cdc.Position{Major: commit}})
			a.pop()
			a.begin(endEvent{txID: 2, position: cdc.Position{Major: c.begin}, sent: began})
			end := endEvent{txID: 2, position: cdc.Position{Major: 200}, sent: began.Add(c.after)}
			for i, lsn := range c.rows {
				row := arrival{sent: began.Add(c.after), rowEvent: rowEvent{table: tableOf(0), txID: 2, lsn: lsn, order: uint64(i + 1), op: opCreate}}
				if err := a.row(&row); err != nil {
					t.Fatal(err)
				}
				end.counts = []rowCount{{"s.0", uint64(i + 1)}}
			}
			a.end(end)
			head, tx, missing, ok := a.head()
			if !ok || len(missing) > 0 {
				t.Fatalf("the transaction lacks %v", missing)
			}
			if got := tx.beheaded(head); got != c.want {
				t.Errorf("its first changes may be missing: %v, want %v", got, c.want)
			}
		})
	}
}
