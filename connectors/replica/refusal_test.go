package replica_test

import (
	"context"
	"fmt"
	"strings"
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
	last := 0
	for _, name := range names {
		var n int
		if i := strings.LastIndexByte(name, '_'); i >= 0 {
			if _, err := fmt.Sscanf(name[i+1:], "%d", &n); err == nil {
				last = max(last, n)
			}
		}
	}
	for i := range obstructed {
		sql := fmt.Sprintf("CREATE TABLE %s.b_%d_%d (x UInt8) ENGINE = Memory", engine.Quote(g.cfg.Database), id, last+1+i)
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
