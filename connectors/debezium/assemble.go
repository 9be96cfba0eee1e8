package debezium

import (
	"hash/maphash"
	"slices"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// assembler puts transactions together from rows and ENDs that come in any order.
//
// Invariant: what next returns are the transactions after the position it began with, each once and whole, in
// the order of their ENDs.
type assembler struct {
	// last is the position of the newest END that was taken.
	last cdc.Position
	// spillAt is how many bytes of rows stay in memory before large transactions go to disk.
	spillAt int
	dir     string

	pending map[uint64]*transaction // by txid; with or without its END
	large   map[uint64]*transaction // those of them that are worth a file
	open    map[uint64]bool         // the txids whose last boundary was a BEGIN
	ends    []endEvent              // taken and not handed over, in order
	queued  map[uint64]bool         // the txids of ends
	done    *recent                 // txids whose rows are of no use any more
	bytes   int                     // of rows in memory

	owners  *recent               // the txids that ended at positions
	highest uint64                // of these
	passed  map[uint64][]rowCount // by txid, what ENDs count that came before the place where reading begins, and are to come again
	ended   uint64                // the position of the END that was read last
	seed    maphash.Seed
}

// transaction collects the rows of one transaction.
type transaction struct {
	runs   []*run
	bytes  int   // in memory
	micros int64 // commit time, µs; 0 while no row has come
	// replicated says that it came to the server by replication.
	replicated bool
	// keyless are the rows without a key.
	keyless map[keylessRow]bool
	// begun says that its BEGIN has come, resumed that it came once more before the END, or a change with another number: then changes may have other
	// numbers from there on, the END may count those only, and what was read may count a change twice.
	begun, resumed bool
	beginning      beginning
	// first is the least LSN of its changes, and firstSent when that one was sent; 0 while none has come.
	first     uint64
	firstSent time.Time
}

// keylessRow tells a row without a key from others of its transaction: of its record there may be several, and their numbers may change.
type keylessRow struct {
	table         *tableName
	lsn           uint64
	before, after uint64 // digests: the rows of a large transaction have no room in memory
}

// remembered is how many transactions' late repetitions are recognised.
const remembered = 1 << 17

func newAssembler(from cdc.Position, dir string, spillAt int) *assembler {
	return &assembler{last: from, spillAt: spillAt, dir: dir, pending: map[uint64]*transaction{}, large: map[uint64]*transaction{}, open: map[uint64]bool{},
		queued: map[uint64]bool{}, done: newRecent(remembered), owners: newRecent(remembered), passed: map[uint64][]rowCount{}, seed: maphash.MakeSeed()}
}

// arrival is a row as it was read.
type arrival struct {
	sent       time.Time
	partition  int  // index among the partitions that are read
	keyless    bool // the message has no key, and may be delivered again in another partition
	keyChanges bool
	oldKey     []byte
	rowEvent
}

// row takes a row that was read from a partition of a table's topic.
func (a *assembler) row(in *arrival) error {
	if _, done := a.done.get(in.txID); done {
		return nil
	}
	t := a.transaction(in.txID)
	t.micros, t.replicated = in.micros, in.replicated
	if t.first == 0 || in.lsn < t.first {
		t.first, t.firstSent = in.lsn, in.sent
	}
	r := t.run(in, a.seed)
	if r == nil {
		return nil // delivered again
	}
	n := r.add(storedRow{lsn: in.lsn, order: in.order, op: in.op, before: in.before, after: in.after, oldKey: in.oldKey, keyChanges: in.keyChanges})
	t.bytes += n
	a.bytes += n
	if t.bytes >= smallest {
		a.large[in.txID] = t
	}
	if a.bytes > a.spillAt {
		return a.spill()
	}
	return nil
}

// run returns the run that a row belongs to, or nil for a row that is there.
func (t *transaction) run(in *arrival, seed maphash.Seed) *run {
	if in.keyless {
		row := keylessRow{in.table, in.lsn, maphash.Bytes(seed, in.before), maphash.Bytes(seed, in.after)}
		if t.keyless[row] {
			return nil
		}
		if t.keyless == nil {
			t.keyless = map[keylessRow]bool{}
		}
		t.keyless[row] = true
	}
	for _, r := range t.runs {
		if r.keyless != in.keyless || r.table != in.table || !in.keyless && r.partition != in.partition {
			continue
		}
		higher := r.number(in.order)
		if in.keyless {
			if r.precedes(in.lsn, in.order) {
				return r
			}
			continue
		}
		lacking, doubtful := r.lacks(in)
		t.resumed = t.resumed || doubtful || higher && !lacking
		if lacking {
			return r
		}
		return nil
	}
	r := &run{partition: in.partition, keyless: in.keyless, table: in.table, read: in.order, sent: in.sent, have: 1, seen: 1, highest: in.order, numbered: 1}
	t.runs = append(t.runs, r)
	return r
}

// smallest is the size of a transaction that is worth a file.
const smallest = 1 << 20

// spill moves the largest transactions to disk until half of the limit is free, small ones excepted: of those, [reader.balance] lets no more
// come.
func (a *assembler) spill() error {
	for a.bytes > a.spillAt/2 && len(a.large) > 0 {
		var txID uint64
		var largest *transaction
		for id, t := range a.large {
			if largest == nil || t.bytes > largest.bytes {
				txID, largest = id, t
			}
		}
		for _, r := range largest.runs {
			if len(r.buf) == 0 {
				continue
			}
			if err := r.spill(a.dir); err != nil {
				return err
			}
		}
		a.bytes -= largest.bytes
		largest.bytes = 0
		delete(a.large, txID)
	}
	return nil
}

// transaction returns what there is of a transaction that was not handed over.
func (a *assembler) transaction(txID uint64) *transaction {
	t := a.pending[txID]
	if t == nil {
		t = &transaction{}
		a.pending[txID] = t
	}
	return t
}

// begin takes a BEGIN. Debezium, where it resumes inside a transaction, says that one begins only if it has lost count of what it sent.
func (a *assembler) begin(ev endEvent) {
	if _, done := a.done.get(ev.txID); done || a.queued[ev.txID] {
		return
	}
	a.open[ev.txID] = true
	t := a.transaction(ev.txID)
	t.resumed, t.begun = t.resumed || t.begun, true
	t.beginning = beginning{at: ev.position.Major, after: a.ended, sent: ev.sent}
}

// early takes an END from before the place where reading begins: it only tells which rows are of no use.
//
// A transaction that began before it and was not ended there is not lost yet: Connect went back to send this END once more, and will send all
// that comes after it.
func (a *assembler) early(ev endEvent) {
	clear(a.open)
	switch {
	case !a.genuine(ev):
	case a.last.Before(ev.position):
		a.passed[ev.txID] = ev.counts
		a.transaction(ev.txID).begun = false // it was sent whole
	default:
		a.discard(ev.txID)
	}
}

// genuine reports whether an END is where its transaction ended, and notes it.
//
// Debezium resumes inside a transaction at the change that has a certain LSN. The end of another transaction, which comes before, has the same one
// where the two records follow each other in the log. Debezium then resumes there, ends the transaction of the change at the position of that
// other one, and sends all of it anew.
func (a *assembler) genuine(ev endEvent) bool {
	a.ended = ev.position.Major
	if a.ended > a.highest {
		a.highest = a.ended
		a.owners.add(a.ended, ev.txID)
		return true
	}
	txID, known := a.owners.get(a.ended)
	return known && txID == ev.txID
}

// end takes the END of a transaction and reports whether it is news.
func (a *assembler) end(ev endEvent) bool {
	switch {
	case !a.genuine(ev), a.queued[ev.txID]:
		return false
	case !a.last.Before(ev.position): // handed over already, or before the beginning
		a.discard(ev.txID)
		return false
	}
	a.last = ev.position
	ev.counts = atLeast(ev.counts, a.passed[ev.txID])
	delete(a.passed, ev.txID)
	delete(a.open, ev.txID)
	ev.follows = a.unended()
	a.ends = append(a.ends, ev)
	a.queued[ev.txID] = true
	return true
}

// atLeast raises counts to others. While Debezium looks for the change at which it resumes, it sends the ENDs of the transactions before it once
// more, which count nothing.
func atLeast(counts, least []rowCount) []rowCount {
	for _, l := range least {
		i := slices.IndexFunc(counts, func(c rowCount) bool { return c.table == l.table })
		if i < 0 {
			counts = append(counts, l)
			continue
		}
		counts[i].rows = max(counts[i].rows, l.rows)
	}
	return counts
}

// unended forgets the transactions that began and were not ended, and reports whether there are any. Asked where another one ends, they will not be:
// transactions come one after another. Their END was lost if Connect crashed when it had recorded a heartbeat that
// Debezium sent between the commit and the END.
func (a *assembler) unended() bool {
	lost := len(a.open) > 0
	for txID := range a.open {
		a.discard(txID)
	}
	return lost
}

// discard forgets the rows of a transaction, also those still to come.
func (a *assembler) discard(txID uint64) {
	delete(a.open, txID)
	a.done.add(txID, 0)
	if t := a.pending[txID]; t != nil {
		for _, r := range t.runs {
			r.close()
		}
		a.bytes -= t.bytes
		delete(a.pending, txID)
		delete(a.large, txID)
	}
}

// head returns the transaction that is to be handed over next; ok is false if there is none. missing tells, by table as ENDs name it, how
// many of its rows have not come; it is empty for a complete transaction.
func (a *assembler) head() (ev endEvent, t *transaction, missing map[string]uint64, ok bool) {
	if len(a.ends) == 0 {
		return ev, nil, nil, false
	}
	ev = a.ends[0]
	t = a.pending[ev.txID]
	if t == nil {
		t = &transaction{}
	}
	for _, c := range ev.counts {
		var have uint64
		for _, r := range t.runs {
			if r.table.full == c.table {
				have += r.count()
			}
		}
		if have < c.rows {
			if missing == nil {
				missing = map[string]uint64{}
			}
			missing[c.table] = c.rows - have
		}
	}
	return ev, t, missing, true
}

// ahead tells whether rows of a topic were read far enough: more than a limit is in memory, in bytes, and the head lacks none of that topic.
// topicOf gives the topic of a table.
func (a *assembler) ahead(limit int, topicOf func(table string) string) func(topic string) bool {
	if a.bytes <= limit {
		return func(string) bool { return false }
	}
	_, _, missing, _ := a.head()
	lacking := map[string]bool{}
	for table := range missing {
		lacking[topicOf(table)] = true
	}
	return func(topic string) bool { return !lacking[topic] }
}

// pop forgets the head after it was handed over.
func (a *assembler) pop() {
	txID := a.ends[0].txID
	a.ends = a.ends[1:]
	delete(a.queued, txID)
	a.discard(txID)
}

// close releases files.
func (a *assembler) close() {
	for txID := range a.pending {
		a.discard(txID)
	}
}

// each calls f for the rows of a transaction in their order. Slices are valid during the call only.
func (t *transaction) each(f func(table *tableName, row storedRow) error) error {
	readers := make([]*runReader, 0, len(t.runs))
	for _, r := range t.runs {
		rd, err := r.reader()
		if err != nil {
			return err
		}
		readers = append(readers, rd)
	}
	for {
		var least *runReader
		for _, rd := range readers {
			if rd.ok && (least == nil || rd.row.earlier(&least.row)) {
				least = rd
			}
		}
		if least == nil {
			return nil
		}
		if err := f(least.run.table, least.row); err != nil {
			return err
		}
		if err := least.next(); err != nil {
			return err
		}
	}
}

// recent remembers the last n numbers added, each with another one.
type recent struct {
	ring   []uint64
	next   int
	values map[uint64]uint64
}

func newRecent(n int) *recent {
	return &recent{ring: make([]uint64, 0, n), values: map[uint64]uint64{}}
}

func (r *recent) get(n uint64) (value uint64, ok bool) {
	value, ok = r.values[n]
	return value, ok
}

func (r *recent) add(n, value uint64) {
	if _, ok := r.values[n]; ok {
		return
	}
	r.values[n] = value
	if len(r.ring) < cap(r.ring) {
		r.ring = append(r.ring, n)
		return
	}
	delete(r.values, r.ring[r.next])
	r.ring[r.next] = n
	r.next = (r.next + 1) % len(r.ring)
}
