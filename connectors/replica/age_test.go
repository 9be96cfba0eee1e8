package replica_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica"
	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// dated is a script that tells the time: it is a second later with each position, so that a snapshot must not claim another time
// than its position's, and a copy takes an hour.
type dated struct {
	*script
	copied time.Duration
}

func (d *dated) now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Unix(int64(d.position.Major), 0).Add(d.copied)
}

func (d *dated) Copy(ctx context.Context, ids []cdc.TableID, sink cdc.CopySink) (cdc.Position, error) {
	at, err := d.script.Copy(ctx, ids, sink)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.copied += time.Hour
	return at, err
}

// startDated starts a gateway that goes by its source's clock.
func startDated(t *testing.T, change func(*replica.Config), tables ...*cdc.Table) (*script, *gateway, context.Context) {
	t.Helper()
	src := &dated{script: newScript(tables...)}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	g := newGateway(t, testEngine(t), "freshet", testPassword, src, change)
	g.clock = src.now
	t.Cleanup(func() {
		if err := g.stop(); err != nil {
			t.Error(err)
		}
	})
	return src.script, g, ctx
}

// hold keeps the stream from beginning until the returned function is called.
func (s *script) hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := make(chan struct{})
	s.gate = gate
	return func() { close(gate) }
}

// wantHonest expects that the next snapshot which has a table does not claim to be younger than its position is.
func wantHonest(ctx context.Context, t *testing.T, g *gateway, id cdc.TableID) cdc.Position {
	t.Helper()
	for {
		changed := g.r.Changed()
		s, err := g.acquire(ctx, replica.Request{})
		if err != nil {
			t.Fatal(err)
		}
		_, ok := s.Table(id)
		s.Release()
		if !ok {
			await(ctx, t, changed)
			continue
		}
		if deserved := time.Unix(int64(s.Position().Major), 0); s.Time().After(deserved) {
			t.Errorf("the snapshot at %v claims to be of %v, which is %v too late", s.Position(), s.Time().UTC(), s.Time().Sub(deserved))
		}
		return s.Position()
	}
}

func TestReplica_isAsOldAsItsFirstCopysSnapshot(t *testing.T) {
	src, g, ctx := startDated(t, nil, accounts())
	defer src.hold()()
	if err := g.start(); err != nil {
		t.Fatal(err)
	}
	wantHonest(ctx, t, g, 1)
}

// startBehind leaves a record behind whose position is that of a table which changed in memory only, while the snapshots of the time
// were at a later one. The gateway is stopped.
func startBehind(t *testing.T) (*script, *gateway, context.Context) {
	t.Helper()
	src, g, ctx := startDated(t, func(c *replica.Config) { c.CompactRows, c.CompactInterval = due, 100*time.Hour }, accounts(), tags())
	if err := g.start(); err != nil {
		t.Fatal(err)
	}
	expect(ctx, t, g, src, src.watermark()).Release()
	expect(ctx, t, g, src, src.commit(func(x *tx) { x.insert(3, row{"red"}) })).Release() // stays in memory
	for range 10 {
		expect(ctx, t, g, src, src.watermark()).Release()
	}
	src.awaitConfirm(ctx, t, func() {
		src.commit(func(x *tx) {
			for i := range due {
				x.insert(1, row{fmt.Sprint(i), "1.25", null})
			}
		})
	})
	if err := g.stop(); err != nil {
		t.Fatal(err)
	}
	return src, g, ctx
}

func TestReplica_isAsOldAfterARestartAsWhatItBeginsFrom(t *testing.T) {
	src, g, ctx := startBehind(t)
	release := src.hold()
	if err := g.start(); err != nil {
		t.Fatal(err)
	}
	if p := wantHonest(ctx, t, g, 3); !p.Before(src.watermark()) {
		t.Errorf("the first snapshot is at %v, which the stream alone can lead to", p)
	}
	release()
	restart(ctx, t, g, src)
}

// A record from before its tables had times is read, but the one time in it is not believed.
func TestReplica_readsRecordsWithoutTheTimesOfTables(t *testing.T) {
	src, g, ctx := startBehind(t)
	rewriteRecord(ctx, t, g, func(r map[string]any) {
		r["time"] = time.Unix(1e6, 0)
		for _, table := range r["tables"].([]any) {
			delete(table.(map[string]any), "time")
		}
	})
	release := src.hold()
	copies := src.counted(&src.copies)
	if err := g.start(); err != nil {
		t.Fatal(err)
	}
	wantHonest(ctx, t, g, 3)
	release()
	expect(ctx, t, g, src, src.watermark()).Release()
	wantHonest(ctx, t, g, 3)
	if again := src.counted(&src.copies) - copies; again != 0 {
		t.Errorf("the restart took %d copies", again)
	}
}

// rewriteRecord adds a record like the newest one, but for what change does to it.
func rewriteRecord(ctx context.Context, t *testing.T, g *gateway, change func(map[string]any)) {
	t.Helper()
	conn, err := engine.Dial(ctx, engine.Config{Addr: g.cfg.Addr, Database: g.cfg.Database, User: g.cfg.User, Password: g.cfg.Password})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	newest, err := conn.Strings(ctx, "SELECT record AS n FROM epochs ORDER BY serial DESC LIMIT 1")
	if err != nil {
		t.Fatal(err)
	}
	var r map[string]any
	if err := json.Unmarshal([]byte(newest[0]), &r); err != nil {
		t.Fatal(err)
	}
	serial := uint64(r["serial"].(float64)) + 1
	r["serial"] = serial
	change(r)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var body proto.ColStr
	body.AppendBytes(text)
	if err := conn.Insert(ctx, "epochs", proto.Input{{Name: "serial", Data: proto.ColUInt64{serial}}, {Name: "record", Data: body}}); err != nil {
		t.Fatal(err)
	}
}
