package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/postgres"
)

// The server cuts names after 63 bytes: those that are made from the slot's must stay different from it, and known.
func TestSource_copiesAndTakesOverUnderTheLongestNameOfASlot(t *testing.T) {
	t.Parallel()
	longest := func(c *postgres.Config) { c.Slot, c.SlotWait = strings.Repeat("s", 63), 2*time.Second }
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)", longest)
	b.follow()
	b.same()
	b.stop()
	at := b.model.Position()
	blocked := make(chan struct{})
	h := &countingHandler{each: func() { <-blocked }}
	stop := b.streamInto(at, h)
	defer func() { close(blocked); _ = stop() }()
	b.exec("INSERT INTO t VALUES (2)")
	eventually(t, "the first stream runs", 20*time.Second, func() bool { return h.changes.Load() > 0 })
	second := &testbed{t: t, url: b.url, source: b.newSource(longest)}
	h2 := &countingHandler{}
	second.streamInto(cdc.Position{}, h2)
	eventually(t, "the second stream has the change", 20*time.Second, func() bool { return h2.commits.Load() == 1 })
}
