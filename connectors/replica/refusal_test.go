package replica_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica"
	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// obstructed is how many of a table's next bases the engine refuses to create.
const obstructed = 60

// obstruct lets the engine refuse the next bases of a table: others have their names.
func (g *gateway) obstruct(ctx context.Context, t *testing.T, conn *engine.Conn, id cdc.TableID) {
	t.Helper()
	names, err := conn.Strings(ctx, fmt.Sprintf("SELECT name AS n FROM (SELECT name FROM system.tables WHERE database IN (%s, %s) UNION ALL "+
		"SELECT name FROM system.dictionaries WHERE database = %s)",
		engine.Literal(g.cfg.Database), engine.Literal(g.cfg.Database+"_volatile"), engine.Literal(g.cfg.Database)))
	if err != nil {
		t.Fatal(err)
	}
	last, of := 0, "" // whose names they are
	for _, name := range names {
		var n int
		if i := strings.LastIndexByte(name, '_'); i >= 0 {
			if _, err := fmt.Sscanf(name[i+1:], "%d", &n); err == nil {
				last, of = max(last, n), name[strings.LastIndexByte(name[:i], '_')+1:i]
			}
		}
	}
	for i := range obstructed {
		sql := fmt.Sprintf("CREATE TABLE %s.b_%d_%s_%d (x UInt8) ENGINE = Memory", engine.Quote(g.cfg.Database), id, of, last+1+i)
		if err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
}

// counter returns the value of a counter of the replica's.
func (g *gateway) counter(t *testing.T, name string) int {
	t.Helper()
	families, err := g.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return int(f.GetMetric()[0].GetCounter().GetValue())
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// The engine refuses one table's bases. The other tables are compacted all the same, that table's changes stay in few deltas, and what is refused is tried
// again after a while, not at once.
func TestReplica_goesOnWhileTheEngineRefusesATablesBases(t *testing.T) {
	src := newScript(accounts(), tags())
	g, ctx := startGateway(t, src, func(c *replica.Config) { c.CompactRows, c.CompactInterval, c.MergeBlocks = due, time.Hour, 4 })
	expect(ctx, t, g, src, src.watermark()).Release()
	conn, err := engine.Dial(ctx, engine.Config{Addr: g.cfg.Addr, User: g.cfg.User, Password: g.cfg.Password})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	g.obstruct(ctx, t, conn, 1)

	next := 0
	change := func(id cdc.TableID, rows int) {
		p := src.commit(func(x *tx) {
			for range rows {
				next++
				x.insert(id, row{fmt.Sprint(next), "1.25", null}[:len(src.tables[id].Columns)])
			}
		})
		s := expect(ctx, t, g, src, p)
		defer s.Release()
		relation, _ := s.Relation(1, []string{"id"})
		if n := strings.Count(relation, "UNION ALL"); n > 6 {
			t.Fatalf("the table is read from %d deltas", n)
		}
	}
	refusals := func() int { return g.counter(t, "freshet_replica_compaction_errors_total") }
	change(1, due)
	for refusals() == 0 {
		change(1, 1)
	}
	first := time.Now()
	src.awaitConfirm(ctx, t, func() { change(3, due) }) // which the record of a compaction does
	for refusals() < 4 {
		change(1, 1)
	}
	if took := time.Since(first); took < 3*time.Second {
		t.Errorf("compaction was refused four times in %v", took)
	}
	if g.r.Status().CompactionError == "" {
		t.Error("the status tells nothing of the refusals")
	}
	deltas, err := conn.Strings(ctx, fmt.Sprintf("SELECT name AS n FROM system.tables WHERE database = %s AND name LIKE 'd_1_%%'", engine.Literal(g.cfg.Database+"_volatile")))
	if err != nil {
		t.Fatal(err)
	}
	if len(deltas) > 10 {
		t.Errorf("the engine has %d deltas of the table", len(deltas))
	}

	obstacles, err := conn.Strings(ctx, fmt.Sprintf("SELECT name AS n FROM system.tables WHERE database = %s AND engine = 'Memory'", engine.Literal(g.cfg.Database)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range obstacles {
		if err := conn.Exec(ctx, "DROP TABLE IF EXISTS "+engine.Quote(g.cfg.Database)+"."+engine.Quote(name)); err != nil {
			t.Fatal(err)
		}
	}
	awaitParts(ctx, t, g, src, func(parts, masked int) bool { return parts > 0 })
	for g.r.Status().CompactionError != "" {
		change(3, 1)
	}
}

// startAhead starts a gateway whose clock a test puts forward.
func startAhead(t *testing.T, src cdc.Source, change func(*replica.Config)) (g *gateway, ctx context.Context, forward func(time.Duration)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	var ahead atomic.Int64
	g = newGateway(t, testEngine(t), "freshet", testPassword, src, change)
	g.clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	if err := g.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.stop(); err != nil {
			t.Error(err)
		}
	})
	return g, ctx, func(d time.Duration) { ahead.Add(int64(d)) }
}

// status returns the status of a table.
func (g *gateway) status(t *testing.T, id cdc.TableID) replica.TableStatus {
	t.Helper()
	for _, s := range g.r.Tables() {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("the replica does not know table %d", id)
	return replica.TableStatus{}
}

// A table whose base is damaged can be compacted no more. It is copied anew and, if that does not help, stopped, so that its changes do not fill the memory
// and the source need not keep them. The other tables go on.
func TestReplica_copiesATableAnewThatTheEngineDoesNotCompact(t *testing.T) {
	src := newScript(accounts(), tags())
	g, ctx, forward := startAhead(t, src, func(c *replica.Config) {
		c.CompactRows, c.CompactInterval, c.SettleInterval, c.RewriteRows = due, time.Hour, time.Hour, 1
	})
	expect(ctx, t, g, src, src.watermark()).Release()
	conn, err := engine.Dial(ctx, engine.Config{Addr: g.cfg.Addr, User: g.cfg.User, Password: g.cfg.Password})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	const refusals = "freshet_replica_compaction_errors_total"
	next := 0
	// refuse damages the base and changes the table until the engine has refused to compact it, over and over.
	refuse := func() {
		t.Helper()
		bases, err := conn.Strings(ctx, fmt.Sprintf("SELECT name AS n FROM system.tables WHERE database = %s AND name LIKE 'b_1_%%'", engine.Literal(g.cfg.Database)))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range bases {
			if err := conn.Exec(ctx, "DROP TABLE "+engine.Quote(g.cfg.Database)+"."+engine.Quote(name)); err != nil {
				t.Fatal(err)
			}
		}
		before := g.counter(t, refusals)
		src.commit(func(x *tx) {
			for range due {
				next++
				x.insert(1, row{fmt.Sprint(next), "1.25", null})
			}
		})
		g.until(ctx, t, src, func() bool { return g.counter(t, refusals) > before })
		if phase := g.status(t, 1).Phase; phase != replica.PhaseReady {
			t.Fatalf("the table is %s after the first refusal", phase)
		}
		forward(5 * time.Minute)
	}
	for range 3 {
		copies := src.counted(&src.copies)
		refuse()
		src.awaitAsked(ctx, t, func() bool { return src.copies > copies })
		g.until(ctx, t, src, func() bool { return g.r.Status().CompactionError == "" })
		expect(ctx, t, g, src, src.watermark()).Release()
	}
	refuse()
	src.awaitConfirm(ctx, t, func() {
		g.until(ctx, t, src, func() bool { return g.status(t, 1).Phase == replica.PhaseStopped })
	})
	if why := g.status(t, 1).Stopped; why.Code != cdc.CodeEngineRefused {
		t.Errorf("the table is stopped by %v", why)
	}
	if _, ok := g.r.Table("app", "tags"); !ok {
		t.Error("the other table is not ready")
	}
}

// until lets the stream go on until something is so.
func (g *gateway) until(ctx context.Context, t *testing.T, src *script, good func() bool) {
	t.Helper()
	for !good() {
		s, err := g.acquire(ctx, replica.Request{Min: src.watermark()})
		if err != nil {
			t.Fatal(err)
		}
		s.Release()
	}
}
