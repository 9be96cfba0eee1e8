package replica_test

import (
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica"
)

// A table whose changes do not fit is copied anew, but not again and again. That it happened long ago does not count.
func TestReplica_stopsATableWhoseChangesDoNotFitSeveralTimesInARow(t *testing.T) {
	src := newScript(accounts(), tags())
	g, ctx, forward := startAhead(t, src, nil)
	expect(ctx, t, g, src, src.commit(func(x *tx) { x.insert(1, row{"1", "1.25", null}) })).Release()
	misfit := func() {
		src.mu.Lock()
		defer src.mu.Unlock()
		def := src.tables[1]
		src.add(event{changes: []cdc.Change{{Op: cdc.Delete, Table: def, Old: oldKey(def, row{"7"})}}})
	}
	mended := func() {
		t.Helper()
		copies := src.counted(&src.copies)
		misfit()
		src.awaitAsked(ctx, t, func() bool { return src.copies > copies })
		expect(ctx, t, g, src, src.watermark()).Release()
	}
	for range 5 {
		forward(24 * time.Hour)
		mended()
	}
	mended()
	mended()
	misfit()
	g.until(ctx, t, src, func() bool { return g.status(t, 1).Phase == replica.PhaseStopped })
	if why := g.status(t, 1).Stopped; why.Code != cdc.CodeSchemaChange {
		t.Errorf("the table is stopped by %v", why)
	}
}
