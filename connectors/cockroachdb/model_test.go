package cockroachdb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cockroachdb/changefeedtest"
)

// The tables of the model: their rows are an integer key, an integer and a text that may be NULL.
func modelTable(i int) *cdc.Table {
	return &cdc.Table{ID: cdc.TableID(100 + i), Schema: "public", Name: fmt.Sprint("t", i), Key: []int{0}, Columns: []cdc.Column{
		{Name: "id", Type: pgtype.Int8OID, Modifier: -1, NotNull: true, Attr: 1}, {Name: "v", Type: pgtype.Int8OID, Modifier: -1, NotNull: true, Attr: 2},
		{Name: "note", Type: pgtype.TextOID, Modifier: -1, Attr: 3}}}
}

// record is a row of the model.
type record struct {
	v    int64
	note string // "" for NULL
}

// write is a row's change in the model; nil for a row that is not there.
type write struct {
	table         cdc.TableID
	id            int64
	before, after *record
}

// unit is what was committed at one timestamp.
type unit struct {
	at     cdc.Position
	writes map[[2]int64]write // by table and id, without those that change nothing
}

// history makes transactions, gives them to a feed, and remembers them.
type history struct {
	random *rand.Rand
	feed   *changefeedtest.Feed
	tables []*cdc.Table
	state  []map[int64]*record
	at     cdc.Position
	units  []unit
	made   int // transactions
}

const historyBegins = 1_763_632_800_000_000_000

func newHistory(seed uint64, m *memory, envelope changefeedtest.Envelope, tables int) *history {
	h := &history{random: rand.New(rand.NewPCG(seed, 1)), at: cdc.Position{Major: historyBegins}}
	h.feed = changefeedtest.New(seed, changefeedtest.Config{Envelope: envelope, Job: "1", Duplicates: h.random.Float64(), Send: m.send})
	for i := range tables {
		t := modelTable(i)
		h.tables = append(h.tables, t)
		h.state = append(h.state, map[int64]*record{})
		h.feed.Topic("shop.public."+t.Name, 1+h.random.IntN(4))
	}
	h.feed.Advance(h.at)
	h.feed.Resolve(1) // every topic exists from the beginning on
	return h
}

func (h *history) tick() {
	if h.random.IntN(3) == 0 {
		h.at.Minor++
		return
	}
	h.at = cdc.Position{Major: h.at.Major + uint64(1+h.random.IntN(5_000_000))}
}

// commit makes one or several transactions at one timestamp.
func (h *history) commit() {
	h.tick()
	u := unit{at: h.at, writes: map[[2]int64]write{}}
	tx := changefeedtest.Transaction{At: h.at}
	touched := map[[2]int64]bool{}
	n := 1
	if h.random.IntN(10) == 0 {
		n = 1 + h.random.IntN(3)
	}
	h.made += n
	for range n * (1 + h.random.IntN(3)) {
		table := h.random.IntN(len(h.tables))
		id := int64(h.random.IntN(40))
		key := [2]int64{int64(h.tables[table].ID), id}
		if touched[key] {
			continue // several writes of one transaction to a row arrive as the last one
		}
		touched[key] = true
		w := write{table: h.tables[table].ID, id: id, before: h.state[table][id]}
		if (w.before == nil) != (h.random.IntN(8) == 0) || w.before != nil && h.random.IntN(3) > 0 {
			w.after = &record{v: h.random.Int64() - h.random.Int64(), note: []string{"", "x", "naïve \"quoted\" \\ text\n"}[h.random.IntN(3)]}
		}
		h.put(&tx, &u, table, w, cdc.Position{})
	}
	h.feed.Commit(tx)
	h.units = append(h.units, u)
}

// put adds a write to a transaction and to its unit.
func (h *history) put(tx *changefeedtest.Transaction, u *unit, table int, w write, written cdc.Position) {
	if w.after == nil {
		delete(h.state[table], w.id)
	} else {
		h.state[table][w.id] = w.after
	}
	tx.Writes = append(tx.Writes, changefeedtest.Write{Topic: "shop.public." + h.tables[table].Name, Key: fmt.Appendf(nil, "[%d]", w.id),
		Before: w.json(w.before), After: w.json(w.after), Written: written})
	if w.before != nil || w.after != nil {
		u.writes[[2]int64{int64(w.table), w.id}] = w
	}
}

// backfill sends a table again as a schema change does.
func (h *history) backfill() {
	written := h.at
	h.tick()
	u := unit{at: h.at, writes: map[[2]int64]write{}}
	tx := changefeedtest.Transaction{At: h.at}
	table := h.random.IntN(len(h.tables))
	for id := range int64(40) {
		if r := h.state[table][id]; r != nil {
			h.put(&tx, &u, table, write{table: h.tables[table].ID, id: id, before: r, after: r}, written)
		}
	}
	h.feed.Commit(tx)
	h.units = append(h.units, u)
}

func (w *write) json(r *record) []byte {
	switch {
	case r == nil:
		return nil
	case r.note == "":
		return fmt.Appendf(nil, `{"id": %d, "note": null, "v": %d}`, w.id, r.v)
	}
	return fmt.Appendf(nil, `{"id": %d, "note": %s, "v": %d}`, w.id, quoteJSON(r.note), r.v)
}

func quoteJSON(s string) string {
	b := []byte{'"'}
	for _, c := range []byte(s) {
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

// step lets the history and its changefeed go on a little; it reports false when all is sent.
func (h *history) step(transactions int) bool {
	for range 1 + h.random.IntN(30) {
		switch h.random.IntN(12) {
		case 0:
			h.feed.Resolve(h.random.Float64())
		case 1, 2, 3:
			if h.made < transactions {
				h.commit()
			}
		default:
			h.feed.Send()
		}
	}
	switch h.random.IntN(400) {
	case 0:
		h.feed.Restart()
	case 1:
		name := "shop.public." + h.tables[h.random.IntN(len(h.tables))].Name
		if h.feed.Partitions(name) < 8 {
			h.feed.Grow(name)
		}
	case 2:
		if h.made < transactions {
			h.backfill()
		}
	}
	if h.made < transactions || h.feed.Waiting() > 0 {
		return true
	}
	h.feed.Resolve(1)
	return false
}

// checker is a handler that compares every transaction and every cut with the history.
type checker struct {
	h    *history
	next int // the first unit that was not handed over
	at   cdc.Position
	seen map[[2]int64]write
	cuts int
	done func()
	// crash is asked after each cut whether to break the stream.
	crash func() bool
	goal  func() bool
}

var errCrash = errors.New("the test breaks the stream")

// begin sets the position from where on the history is expected.
func (c *checker) begin(from cdc.Position) {
	c.at, c.next, c.seen = from, 0, nil
	for c.next < len(c.h.units) && !from.Before(c.h.units[c.next].at) {
		c.next++
	}
}

func (c *checker) Changes(_ context.Context, changes []cdc.Change) error {
	if c.seen == nil {
		c.seen = map[[2]int64]write{}
	}
	for i := range changes {
		w, err := readWrite(&changes[i])
		if err != nil {
			return err
		}
		key := [2]int64{int64(w.table), w.id}
		if _, twice := c.seen[key]; twice {
			return fmt.Errorf("row %v comes twice in one transaction", key)
		}
		c.seen[key] = w
	}
	return nil
}

// readWrite reads a change back. The row before is known by its being there only.
func readWrite(c *cdc.Change) (write, error) {
	w := write{table: c.Table.ID}
	row := c.New
	switch c.Op {
	case cdc.Insert:
	case cdc.Update:
		w.before = &record{}
	case cdc.Delete:
		w.before, row = &record{}, c.Old
	default:
		return w, fmt.Errorf("operation %d", c.Op)
	}
	w.id = int64(binary.BigEndian.Uint64(row[0].Data))
	if c.Op != cdc.Delete {
		w.after = &record{v: int64(binary.BigEndian.Uint64(row[1].Data)), note: string(row[2].Data)}
	}
	return w, nil
}

func (c *checker) Commit(_ context.Context, commit cdc.Commit) error {
	for c.next < len(c.h.units) && len(c.h.units[c.next].writes) == 0 {
		c.next++ // nothing changed
	}
	if c.next == len(c.h.units) || c.h.units[c.next].at != commit.Position {
		return fmt.Errorf("commit at %s, which is not the next", formatHLC(commit.Position))
	}
	want := c.h.units[c.next].writes
	if len(want) != len(c.seen) {
		return fmt.Errorf("transaction at %s has %d changes, want %d", formatHLC(commit.Position), len(c.seen), len(want))
	}
	for key, w := range want {
		got, ok := c.seen[key]
		if !ok || (got.before == nil) != (w.before == nil) || (got.after == nil) != (w.after == nil) || w.after != nil && *w.after != *got.after {
			return fmt.Errorf("transaction at %s, row %v: got %+v, want %+v", formatHLC(commit.Position), key, got, w)
		}
	}
	c.next++
	c.seen, c.at = nil, commit.Position
	return nil
}

func (c *checker) Watermark(_ context.Context, w cdc.Watermark) error {
	if len(c.seen) > 0 || w.Position.Before(c.at) {
		return fmt.Errorf("watermark %s after %s, with %d changes open", formatHLC(w.Position), formatHLC(c.at), len(c.seen))
	}
	for c.next < len(c.h.units) && !w.Position.Before(c.h.units[c.next].at) {
		if len(c.h.units[c.next].writes) > 0 {
			return fmt.Errorf("the cut at %s lacks the transaction at %s", formatHLC(w.Position), formatHLC(c.h.units[c.next].at))
		}
		c.next++
	}
	c.at = w.Position
	c.cuts++
	if c.goal() {
		c.done()
		return nil
	}
	if c.crash() {
		return errCrash
	}
	return nil
}

func (c *checker) Discovered(context.Context, cdc.Discovered) error { return errors.New("discovered") }
func (c *checker) Dropped(context.Context, cdc.TableID) error       { return errors.New("dropped") }

// runHistory streams one random history through sources that break again and again, and checks every cut.
func runHistory(t *testing.T, seed uint64, transactions int) (made, cuts int) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 2))
	m := newMemory(random.IntN)
	envelope := changefeedtest.Envelope(random.IntN(3))
	h := newHistory(seed, m, envelope, 1+random.IntN(3))
	m.more = func() { h.step(transactions) }
	db := &fakeDatabase{now: cdc.Position{Major: historyBegins * 2}, feed: Changefeed{Job: "1", Start: h.at}}
	for _, table := range h.tables {
		db.tables = append(db.tables, cdc.Discovered{Table: table})
	}
	cfg, err := Config{Database: db, CatalogInterval: time.Hour, PollInterval: time.Hour, SpoolDir: t.TempDir(),
		MemoryBytes: []int{8_000, 50_000, 64 << 20}[random.IntN(3)], SpoolBytes: []int64{10_000, 1 << 30}[random.IntN(2)], ChunkChanges: 7}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := &checker{h: h, done: cancel}
	c.goal = func() bool {
		return h.made >= transactions && h.feed.Waiting() == 0 && !c.at.Before(h.at)
	}
	from := h.at
	var src *Source
	for {
		if src == nil || random.IntN(2) == 0 { // a new process, which has kept a bookmark or not
			old := src
			if src, err = newSource(cfg, m.open); err != nil {
				t.Fatal(err)
			}
			if old != nil && random.IntN(2) == 0 {
				if b := old.Bookmark(from); b != nil {
					if err := src.Restore(b); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if _, err := src.Tables(ctx); err != nil {
			t.Fatal(err)
		}
		c.begin(from)
		confirmed := from
		c.crash = func() bool {
			if random.IntN(3) == 0 {
				confirmed = c.at
				src.Confirm(confirmed)
			}
			return random.IntN(60) == 0
		}
		err := src.Stream(ctx, from, c)
		if errors.Is(err, errCrash) {
			from = confirmed
			continue
		}
		if ctx.Err() == nil || !c.goal() {
			t.Fatalf("seed %d, after %d transactions and %d cuts: %v", seed, h.made, c.cuts, err)
		}
		return h.made, c.cuts
	}
}

func TestStream_equalsTheHistoryAtEveryCut(t *testing.T) {
	transactions, cuts := 0, 0
	for seed := range uint64(51) {
		made, n := runHistory(t, seed, 2000)
		transactions, cuts = transactions+made, cuts+n
	}
	t.Logf("%d transactions, %d cuts", transactions, cuts)
	if transactions < 100_000 {
		t.Errorf("%d transactions were made, want 100,000", transactions)
	}
}
