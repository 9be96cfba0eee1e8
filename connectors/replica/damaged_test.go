package replica_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica"
	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// A table that does not change is not compacted: only queries meet what is damaged of it.
func TestReplica_copiesATableAnewWhoseFilesAreDamaged(t *testing.T) {
	src := newScript(accounts(), tags())
	src.commit(func(x *tx) {
		for i := range 1000 {
			x.insert(1, row{fmt.Sprint(i), "1.25", "copied"})
		}
	})
	g, ctx, _ := startAhead(t, src, func(c *replica.Config) { c.CompactInterval, c.SettleInterval = time.Hour, time.Hour })
	expect(ctx, t, g, src, src.watermark()).Release()
	conn, err := engine.Dial(ctx, engine.Config{Addr: g.cfg.Addr, User: g.cfg.User, Password: g.cfg.Password})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	parts, err := conn.Strings(ctx, fmt.Sprintf("SELECT path AS n FROM system.parts WHERE active AND database = %s AND table LIKE 'b_1_%%'", engine.Literal(g.cfg.Database)))
	if err != nil || len(parts) == 0 {
		t.Fatalf("parts of the base: %q, %v", parts, err)
	}
	files, err := filepath.Glob(filepath.Join(parts[0], "*.bin"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files of a part: %q, %v", files, err)
	}
	bases, err := conn.Strings(ctx, fmt.Sprintf("SELECT name AS n FROM system.tables WHERE database = %s AND name LIKE 'b_1_%%'", engine.Literal(g.cfg.Database)))
	if err != nil || len(bases) != 1 {
		t.Fatalf("the table's bases: %q, %v", bases, err)
	}
	var refused error
	// A block begins with a checksum of 16 bytes, a byte that names its codec, and its sizes, of four bytes each.
	for _, damaged := range []struct {
		what string
		at   int
		by   byte
	}{{"codec", 16, 0xff}, {"size", 20, 0x7f}, {"values", 30, 0xff}} {
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			whole := slices.Clone(content)
			content[damaged.at] ^= damaged.by
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, refused = conn.Strings(ctx, fmt.Sprintf("SELECT assumeNotNull(toString(sum(cityHash64(*)))) AS n FROM %s.%s", engine.Quote(g.cfg.Database), engine.Quote(bases[0])))
			if !engine.Damaged(refused) {
				t.Errorf("%s of %s damaged: the engine says %v", damaged.what, filepath.Base(file), refused)
			}
			if damaged.what == "values" { // the last ones stay damaged
				continue
			}
			if err := os.WriteFile(file, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	copies := src.counted(&src.copies)
	g.r.Suspect(&ch.Exception{Code: proto.ErrMemoryLimitExceeded, Message: "in table " + bases[0]})
	g.r.Suspect(&ch.Exception{Code: proto.ErrChecksumDoesntMatch, Message: "in table " + bases[0] + "0"})
	g.until(ctx, t, src, func() bool {
		g.r.Suspect(refused)
		return src.counted(&src.copies) > copies
	})
	src.mu.Lock()
	copied := src.copied
	src.mu.Unlock()
	if !slices.Equal(copied, []cdc.TableID{1}) {
		t.Errorf("copied: %v", copied)
	}
	g.until(ctx, t, src, func() bool { return g.status(t, 1).Phase == replica.PhaseReady })
	expect(ctx, t, g, src, src.watermark()).Release()
}
