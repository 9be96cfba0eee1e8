package replica_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica"
	"github.com/freshet-io/freshet/local/chengine"
)

// modelRuns is how many sequences the model test runs unless -rapid.checks says otherwise.
const modelRuns = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", modelRuns); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// TestReplica_snapshotsEqualTheModel runs random transactions over several
// tables, with compactions, copies, kills and restarts in between, and compares
// every snapshot that it gets, again as long as it holds it.
func TestReplica_snapshotsEqualTheModel(t *testing.T) {
	server := testEngine(t)
	rapid.Check(t, func(rt *rapid.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		src := newScript(accounts(), orders(), tags())
		src.opens = rapid.Bool().Draw(rt, "opens transactions")
		src.chunk = rapid.SampledFrom([]int{1, 3, 1 << 30}).Draw(rt, "changes per call")
		m := &machine{ctx: ctx, t: rt, src: src, server: server}
		m.g = newGateway(t, server, "freshet", testPassword, src, func(c *replica.Config) {
			c.CompactRows = rapid.SampledFrom([]int{20, 1000}).Draw(rt, "compact rows")
			c.MergeBlocks = rapid.SampledFrom([]int{2, 1000}).Draw(rt, "merge blocks")
			c.CompactInterval = rapid.SampledFrom([]time.Duration{time.Millisecond, 2 * time.Second}).Draw(rt, "compact interval")
			c.RewriteRows = rapid.SampledFrom([]int{1, 1000}).Draw(rt, "rewrite rows")
			c.SettleInterval = rapid.SampledFrom([]time.Duration{time.Millisecond, time.Hour}).Draw(rt, "settle interval")
			c.StageBytes = rapid.SampledFrom([]int{300, 1 << 20}).Draw(rt, "stage bytes")
			c.DeltaBytes = rapid.SampledFrom([]int{1, 1000, 1 << 20}).Draw(rt, "delta bytes")
			c.FlushInterval = rapid.SampledFrom([]time.Duration{time.Microsecond, 20 * time.Millisecond}).Draw(rt, "flush interval")
		})
		src.commit(m.randomTx)
		if err := m.g.start(); err != nil {
			rt.Fatal(err)
		}
		defer m.g.stop()
		rt.Repeat(map[string]func(*rapid.T){
			"transaction":     m.do(func() { src.commit(m.randomTx) }),
			"transactions":    m.do(m.transactions),
			"steady changes":  m.do(m.steadyChanges),
			"big transaction": m.do(m.bigTransaction),
			"watermark":       m.do(func() { src.watermark() }),
			"redefine":        m.do(m.redefine),
			"slow copies":     m.do(m.slowCopies),
			"break stream":    m.do(src.breakStream),
			"acquire":         m.do(m.acquire),
			"acquire newest":  m.do(m.acquireNewest),
			"check pinned":    m.do(m.checkPinned),
			"kill engine":     m.do(m.killEngine),
			"restart gateway": m.do(m.restart),
		})
		m.t = rt
		m.finish()
	})
}

// machine does random things to a replica.
type machine struct {
	ctx    context.Context
	t      *rapid.T
	src    *script
	server *chengine.Server
	g      *gateway
	pinned []*replica.Snapshot
	last   cdc.Position
	next   int
	lost   bool // the engine was killed: snapshots from before may be gone
}

func (m *machine) do(f func()) func(*rapid.T) {
	return func(t *rapid.T) {
		m.t = t
		f()
	}
}

func (m *machine) randomRow(id cdc.TableID) row {
	n := rapid.IntRange(0, 30).Draw(m.t, "key")
	note := rapid.SampledFrom([]string{null, "", "x", "quite a long note that is out of line"}).Draw(m.t, "note")
	m.next++
	amount := fmt.Sprintf("%d.%d1", m.next, n%10)
	switch id {
	case 1:
		return row{fmt.Sprint(n), amount, note}
	case 2:
		return row{fmt.Sprint(n % 6), []string{"a", "ab", "", "b c"}[n%4], amount, note}
	default:
		return row{fmt.Sprint("tag", n)}
	}
}

func (m *machine) randomTx(x *tx) {
	for range rapid.IntRange(1, 12).Draw(m.t, "changes") {
		m.randomChange(x)
	}
}

func (m *machine) randomChange(x *tx) {
	id := cdc.TableID(rapid.IntRange(1, 3).Draw(m.t, "table"))
	t, rows := m.src.tables[id], m.src.now[id]
	r := m.randomRow(id)
	k := key(t, r)
	if len(t.Columns) > len(r) {
		r = append(r, "added")
	}
	_, there := rows[k]
	switch op := rapid.IntRange(0, 19).Draw(m.t, "operation"); {
	case op == 0 && rapid.IntRange(0, 3).Draw(m.t, "really") == 0:
		x.truncate(id)
	case !there && op < 12 || len(rows) == 0:
		if !there {
			x.insert(id, r)
		}
	case there && op < 8:
		x.delete(id, k)
	case there:
		var unchanged []int
		if id == 1 && op < 14 {
			unchanged = []int{2}
		}
		x.update(id, k, r, unchanged...)
	default: // a change of the key
		other := rapid.SampledFrom(slices.Sorted(maps.Keys(rows))).Draw(m.t, "other")
		var unchanged []int
		if id == 1 && op < 16 {
			unchanged = []int{2}
		}
		x.update(id, other, r, unchanged...)
	}
}

func (m *machine) transactions() {
	for range rapid.IntRange(2, 15).Draw(m.t, "transactions") {
		m.src.commit(m.randomTx)
	}
}

// steadyChanges is what most applications do: rows are added, and the same column of others changes, again and again,
// while the table is compacted.
func (m *machine) steadyChanges() {
	for range rapid.IntRange(1, 10).Draw(m.t, "rounds") {
		for range rapid.IntRange(1, 5).Draw(m.t, "transactions") {
			m.src.commit(func(x *tx) {
				for range rapid.IntRange(1, 12).Draw(m.t, "changes") {
					m.steadyChange(x)
				}
			})
		}
		m.acquireNewest()
	}
}

func (m *machine) steadyChange(x *tx) {
	t, rows := m.src.tables[1], m.src.now[1]
	r := m.randomRow(1)
	old, there := rows[key(t, r)]
	if !there {
		if len(t.Columns) > len(r) {
			r = append(r, "added")
		}
		x.insert(1, r)
		return
	}
	amount := r[1]
	r = slices.Clone(old)
	r[1] = amount
	if rapid.IntRange(0, 99).Draw(m.t, "also the note") == 0 {
		r[2] = "changed"
	}
	x.update(1, key(t, r), r)
}

func (m *machine) bigTransaction() {
	m.src.commit(func(x *tx) {
		for range rapid.IntRange(50, 300).Draw(m.t, "changes") {
			m.randomChange(x)
		}
	})
}

// redefine adds a column to a table, or takes it away again.
func (m *machine) redefine() {
	t := accounts()
	wide := len(m.src.tables[1].Columns) == len(t.Columns)
	if wide {
		t.Columns = append(t.Columns, cdc.Column{Name: "more", Type: text, Modifier: -1, Attr: 4})
	}
	m.src.redefine(t, func(r row) row {
		if wide {
			return append(slices.Clone(r), null)
		}
		return r[:3]
	})
}

// slowCopies holds the copies that begin from now on, or lets those go on that it held.
func (m *machine) slowCopies() {
	if m.quickCopies() {
		return
	}
	m.src.mu.Lock()
	defer m.src.mu.Unlock()
	m.src.copyGate = make(chan struct{})
}

// quickCopies ends what slowCopies began; false: nothing.
func (m *machine) quickCopies() bool {
	m.src.mu.Lock()
	defer m.src.mu.Unlock()
	held := m.src.copyGate != nil
	if held {
		close(m.src.copyGate)
	}
	m.src.copyGate = nil
	return held
}

func (m *machine) acquire() {
	s, err := m.g.acquire(m.ctx, replica.Request{Fresh: rapid.Bool().Draw(m.t, "fresh")})
	if err != nil {
		m.t.Fatal(err)
	}
	m.look(s)
}

func (m *machine) acquireNewest() {
	p, _ := m.src.Current(m.ctx)
	s, err := m.g.acquire(m.ctx, replica.Request{Min: p})
	if err != nil {
		m.t.Fatal(err)
	}
	if s.Position().Before(p) {
		m.t.Fatalf("snapshot at %v, asked for %v", s.Position(), p)
	}
	m.look(s)
}

// look checks a new snapshot and keeps it for a while.
func (m *machine) look(s *replica.Snapshot) {
	if s.Position().Before(m.last) {
		m.t.Fatalf("snapshot at %v after one at %v", s.Position(), m.last)
	}
	m.last = s.Position()
	m.verify(s)
	m.pinned = append(m.pinned, s)
	if len(m.pinned) > 4 {
		i := rapid.IntRange(0, 4).Draw(m.t, "release")
		m.pinned[i].Release()
		m.pinned = slices.Delete(m.pinned, i, i+1)
	}
}

// verify accepts that a snapshot cannot be read any more, but no difference.
func (m *machine) verify(s *replica.Snapshot) {
	err := m.g.check(m.ctx, s, m.src)
	if _, ok := errors.AsType[*difference](err); ok {
		m.t.Fatal(err)
	}
	if err != nil && !m.crashed() {
		m.t.Fatal(err)
	}
}

// crashed reports whether a snapshot may have been lost: the engine was killed.
func (m *machine) crashed() bool { return m.lost }

func (m *machine) checkPinned() {
	for _, s := range m.pinned {
		m.verify(s)
	}
}

func (m *machine) killEngine() {
	if rapid.IntRange(0, 2).Draw(m.t, "really") != 0 {
		return
	}
	m.lost = true
	if err := m.server.Kill(); err != nil {
		m.t.Fatal(err)
	}
	if rapid.Bool().Draw(m.t, "meanwhile") {
		m.src.commit(m.randomTx)
	}
	if err := m.server.Start(m.ctx); err != nil {
		m.t.Fatal(err)
	}
	m.checkPinned() // right away, before the gateway has noticed
}

func (m *machine) restart() {
	if rapid.IntRange(0, 1).Draw(m.t, "really") != 0 {
		return
	}
	for _, s := range m.pinned {
		s.Release()
	}
	m.pinned, m.last = nil, cdc.Position{}
	if err := m.g.stop(); err != nil {
		m.t.Fatal(err)
	}
	if err := m.g.start(); err != nil {
		m.t.Fatal(err)
	}
}

// finish waits until all tables are ready and equal.
func (m *machine) finish() {
	m.quickCopies()
	m.checkPinned()
	for {
		p := m.src.watermark()
		changed := m.g.r.Changed()
		s, err := m.g.acquire(m.ctx, replica.Request{Min: p})
		if err != nil {
			m.t.Fatal(err)
		}
		ready := 0
		for id := range m.src.now {
			if _, ok := s.Table(id); ok {
				ready++
			}
		}
		m.verify(s)
		s.Release()
		if ready == len(m.src.now) {
			break
		}
		await(m.ctx, m.t, changed)
	}
	for _, st := range m.g.r.Tables() {
		if st.Phase != replica.PhaseReady {
			m.t.Fatalf("table %s is %s: %v", st.Name, st.Phase, st.Stopped)
		}
	}
	for _, s := range m.pinned {
		s.Release()
	}
}
