package debezium

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// event is what Connect sends: a row to a partition, or an END to the transaction topic.
type event struct {
	partition int // -1: the transaction topic
	in        arrival
	end       endEvent
	begin     bool // the end is a BEGIN
}

const (
	tablesInModel     = 4
	topicsInModel     = 3 // so that two tables share one
	partitionsOfTopic = 2
)

// tableOf returns a table of the schema s by its number, always the same one.
var tableOf = func() func(n int) *tableName {
	var names tableNames
	return func(n int) *tableName { return names.intern([]byte("s"), fmt.Append(nil, n)) }
}()

// transactionsInOrder draws a history: transactions with rows of several tables, in commit order.
func transactionsInOrder(t *rapid.T) (history [][]event) {
	for i := range rapid.IntRange(1, 12).Draw(t, "transactions") {
		var events []event
		txID := uint64(rapid.IntRange(0, 1).Draw(t, "xid is late")*100 + 1000 - i) // not in commit order
		events = append(events, event{partition: -1, begin: true, end: endEvent{txID: txID}})
		counts := map[string]uint64{}
		lsn := uint64(0)
		for n := range rapid.IntRange(0, 6).Draw(t, "rows") {
			table := rapid.IntRange(0, tablesInModel-1).Draw(t, "table")
			ev := event{partition: table%topicsInModel*partitionsOfTopic + rapid.IntRange(0, partitionsOfTopic-1).Draw(t, "partition")}
			ev.in = arrival{partition: ev.partition, keyless: rapid.IntRange(0, 4).Draw(t, "keyless") == 0}
			// A record may have several changes of a table. Those with different keys have no order.
			if last := events[len(events)-1]; last.partition != ev.partition || last.in.keyless || ev.in.keyless || last.in.table != tableOf(table) ||
				rapid.Bool().Draw(t, "own record") {
				lsn += 10
			}
			ev.in = arrival{partition: ev.partition, keyless: ev.in.keyless,
				rowEvent: rowEvent{table: tableOf(table), txID: txID, lsn: lsn, order: uint64(n + 1), micros: int64(i), op: opCreate, after: fmt.Appendf(nil, "%d/%d", i, n)}}
			counts[ev.in.table.full]++
			events = append(events, ev)
		}
		end := endEvent{txID: txID, position: cdc.Position{Major: uint64(10 * (i + 1))}}
		for table, n := range counts {
			end.counts = append(end.counts, rowCount{table, n})
		}
		history = append(history, append(events, event{partition: -1, end: end}))
	}
	return history
}

// deliver draws what lies in the partitions after Connect has sent a history and crashed on the way: whatever was on its way to a
// partition at a crash is missing there, and everything from the first missing event on is sent again, or from before.
func deliver(t *rapid.T, events []event) map[int][]event {
	out := map[int][]event{}
	sentFirst, at := events, 0
	now := time.UnixMilli(1e12)
	for range rapid.IntRange(0, 3).Draw(t, "crashes") {
		crash := rapid.IntRange(at, len(events)).Draw(t, "crash")
		resume := crash
		sent := map[int][]int{}
		for i := at; i < crash; i++ {
			p := moved(t, events[i])
			p.in.sent = now
			sent[p.partition] = append(sent[p.partition], i)
			out[p.partition] = append(out[p.partition], p)
		}
		for _, p := range partitionsOf(sent) {
			lost := rapid.IntRange(0, min(2, len(sent[p]))).Draw(t, "lost")
			if lost > 0 {
				out[p] = out[p][:len(out[p])-lost]
				resume = min(resume, sent[p][len(sent[p])-lost])
			}
		}
		now = now.Add(resumeGap)
		before := at
		at = rapid.IntRange(0, resume).Draw(t, "resume")
		if at <= before {
			events = sentFirst
		}
		if before := mistaken(t, events, at); before >= 0 {
			switch txID := events[at].in.txID; rapid.IntRange(0, 2).Draw(t, "how it resumes") {
			case 1:
				out[-1] = append(out[-1], event{partition: -1, end: endEvent{txID: txID, position: events[before].end.position}})
				at = before + 1
			case 2:
				events = countedAnew(events, at)
				for _, ev := range events[before:at] {
					if ev.partition < 0 {
						ev.end.counts = nil
						out[-1] = append(out[-1], ev)
					}
				}
			}
		}
	}
	for _, ev := range events[at:] {
		p := moved(t, ev)
		p.in.sent = now
		out[p.partition] = append(out[p.partition], p)
	}
	return out
}

// mistaken draws the end of a transaction that Debezium may take for the change at which it resumes, inside a later transaction, or comes by
// on its way there; -1: none.
func mistaken(t *rapid.T, events []event, at int) (before int) {
	if at == 0 || at == len(events) || events[at-1].partition < 0 || events[at].partition < 0 ||
		events[at-1].in.lsn == events[at].in.lsn {
		return -1
	}
	var ends []int
	for i := range at {
		if events[i].partition < 0 && !events[i].begin {
			ends = append(ends, i)
		}
	}
	if len(ends) == 0 {
		return -1
	}
	return rapid.SampledFrom(ends).Draw(t, "mistaken for")
}

// countedAnew has the numbers of a transaction's changes begin with 1 in its middle.
func countedAnew(events []event, at int) []event {
	events = slices.Clone(events)
	counts := map[string]uint64{}
	for n := uint64(1); ; n++ {
		ev := &events[at]
		at++
		if ev.partition < 0 {
			ev.end.counts = nil
			for table, n := range counts {
				ev.end.counts = append(ev.end.counts, rowCount{table, n})
			}
			return events
		}
		ev.in.order = n
		counts[ev.in.table.full]++
	}
}

// moved sends a row without a key to any partition of its topic.
func moved(t *rapid.T, ev event) event {
	if ev.partition >= 0 && ev.in.keyless {
		ev.partition = ev.partition/partitionsOfTopic*partitionsOfTopic + rapid.IntRange(0, partitionsOfTopic-1).Draw(t, "moved to")
		ev.in.partition = ev.partition
	}
	return ev
}

func partitionsOf(m map[int][]int) []int {
	var ps []int
	for p := range m {
		ps = append(ps, p)
	}
	slices.Sort(ps)
	return ps
}

// unique gives every transaction an id of its own.
func unique(history [][]event) {
	for i, events := range history {
		for j := range events {
			id := events[j].in.txID + events[j].end.txID + uint64(i)*7919
			if events[j].partition < 0 {
				events[j].end.txID = id
			} else {
				events[j].in.txID = id
			}
		}
	}
}

func TestAssembler_handsOverEveryTransactionOnceWholeAndInOrder(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		history := transactionsInOrder(t)
		unique(history)
		first := rapid.IntRange(0, len(history)).Draw(t, "handed over before")
		a := newAssembler(cdc.Position{Major: uint64(10 * first)}, dir, rapid.SampledFrom([]int{1, 1 << 20}).Draw(t, "spill at"))
		defer a.close()
		parts := deliver(t, slices.Concat(history...))
		counting := len(parts[-1]) - beginsAt(t, parts[-1], a.last) // ENDs and BEGINs from where ENDs count
		var got, want []string
		for _, events := range history[first:] {
			line := events[len(events)-1].end.position.String()
			for _, ev := range events[1 : len(events)-1] {
				line += " " + ev.in.table.full + ":" + string(ev.in.after)
			}
			want = append(want, line)
		}
		for {
			var open []int
			for p := range parts {
				if len(parts[p]) > 0 {
					open = append(open, p)
				}
			}
			if len(open) == 0 {
				break
			}
			slices.Sort(open)
			p := rapid.SampledFrom(open).Draw(t, "read")
			ev := parts[p][0]
			parts[p] = parts[p][1:]
			switch {
			case ev.begin:
				a.begin(ev.end)
			case p < 0 && len(parts[p]) >= counting:
				a.early(ev.end)
			case p < 0:
				a.end(ev.end)
			default:
				if err := a.row(&ev.in); err != nil {
					t.Fatal(err)
				}
			}
			if rapid.IntRange(0, 3).Draw(t, "spill") == 0 {
				spillAll(t, a)
			}
			got = append(got, drain(t, a, false)...)
		}
		got = append(got, drain(t, a, true)...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("transactions (-want +got):\n%s", diff)
		}
		if len(a.pending) != 0 || len(a.large) != 0 || a.bytes != 0 || len(a.queued) != 0 || len(a.open) != 0 {
			t.Fatalf("%d transactions with %d bytes are left over", len(a.pending), a.bytes)
		}
	})
}

// beginsAt draws the END behind which a reader that has handed over what is up to a position may let ENDs count, one where they pass that position
// ([history.find]); it returns how many of the bounds are up to it, 0 for a reader of all.
func beginsAt(t *rapid.T, bounds []event, from cdc.Position) int {
	places := []int{0}
	last := -1
	for i, ev := range bounds {
		if ev.begin {
			continue
		}
		if last >= 0 && from.Before(ev.end.position) && !from.Before(bounds[last].end.position) {
			places = append(places, last+1)
		}
		last = i
	}
	if last >= 0 && !from.Before(bounds[last].end.position) {
		places = append(places, last+1)
	}
	return rapid.SampledFrom(places).Draw(t, "bounds before the beginning")
}

// spillAll moves all rows to disk, as a large transaction's are.
func spillAll(t *rapid.T, a *assembler) {
	for _, tx := range a.pending {
		for _, r := range tx.runs {
			if len(r.buf) == 0 {
				continue
			}
			if err := r.spill(a.dir); err != nil {
				t.Fatal(err)
			}
		}
		a.bytes -= tx.bytes
		tx.bytes = 0
	}
	clear(a.large)
}

// drain hands over what is complete. all says that everything was read.
func drain(t *rapid.T, a *assembler, all bool) (lines []string) {
	for {
		head, tx, missing, ok := a.head()
		if !ok || len(missing) > 0 || tx.resumed && !all {
			return lines
		}
		if head.follows {
			t.Fatalf("transaction %v is said to follow one without an END", head)
		}
		line := head.position.String()
		had := map[string]bool{}
		if err := tx.each(func(table *tableName, row storedRow) error {
			// The changes of one record may come twice, in their order, where they were counted anew: that changes nothing.
			if had[string(row.after)] {
				return nil
			}
			had[string(row.after)] = true
			line += " " + table.full + ":" + string(row.after)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
		a.pop()
	}
}

// A table's rows that are read slower than those of others hold up every transaction. What the others had meanwhile must neither grow without
// bound nor be looked through again and again.
func TestAssembler_holdsBackTopicsThatAreAhead(t *testing.T) {
	a := newAssembler(cdc.Position{}, t.TempDir(), 1<<20)
	defer a.close()
	const limit = 1 << 20
	take := func(table *tableName, partition int, tx uint64) {
		if err := a.row(&arrival{partition: partition, rowEvent: rowEvent{table: table, txID: tx, order: uint64(partition + 1), op: opCreate, after: make([]byte, 100)}}); err != nil {
			t.Fatal(err)
		}
	}
	const transactions = 20_000
	topicOf := func(table string) string { return map[string]string{"s.0": "fast", "s.1": "slow"}[table] }
	for tx := range uint64(transactions) {
		a.end(endEvent{txID: tx, position: cdc.Position{Major: tx + 1}, counts: []rowCount{{"s.0", 1}, {"s.1", 1}}})
	}
	var fast, slow uint64
	most, handed := 0, 0
	for handed < transactions {
		ahead := a.ahead(limit, topicOf)
		if ahead("slow") {
			t.Fatalf("after %d transactions the topic that the next one waits for is held back", handed)
		}
		for range 100 {
			if fast < transactions && !ahead("fast") {
				take(tableOf(0), 0, fast)
				fast++
			}
		}
		take(tableOf(1), 1, slow)
		slow++
		for {
			if _, _, missing, ok := a.head(); !ok || len(missing) > 0 {
				break
			}
			a.pop()
			handed++
		}
		most = max(most, a.bytes)
	}
	if want := limit + 100*200; most > want {
		t.Errorf("%d bytes were in memory, want %d at most", most, want)
	}
}

func TestAssembler_keepsLargeTransactionsOnDisk(t *testing.T) {
	a := newAssembler(cdc.Position{}, t.TempDir(), 4<<20)
	defer a.close()
	const rows = 100_000 // five times what may be in memory
	most := 0
	for i := range rows {
		in := arrival{partition: i % 2, rowEvent: rowEvent{table: tableOf(0), txID: 7, order: uint64(i + 1), op: opCreate, after: make([]byte, 200)}}
		if err := a.row(&in); err != nil {
			t.Fatal(err)
		}
		most = max(most, a.bytes)
	}
	if most > 5<<20 {
		t.Errorf("%d bytes were in memory, want about 4 MB at most", most)
	}
	a.end(endEvent{txID: 7, position: cdc.Position{Major: 1}, counts: []rowCount{{"s.0", rows}}})
	_, tx, missing, ok := a.head()
	if !ok || len(missing) > 0 {
		t.Fatalf("the transaction is not complete, missing %v", missing)
	}
	next := uint64(1)
	if err := tx.each(func(_ *tableName, row storedRow) error {
		if row.order != next || len(row.after) != 200 {
			return fmt.Errorf("row %d with %d bytes, want row %d", row.order, len(row.after), next)
		}
		next++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if next != rows+1 {
		t.Errorf("%d rows came back, want %d", next-1, rows)
	}
}
