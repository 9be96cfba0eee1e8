package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// DefaultSlot is the replication slot's name where none is configured.
const DefaultSlot = "freshet"

// Config says what a [Source] reads. Zero values mean the documented defaults.
type Config struct {
	// URL is the connection string (URL or keyword form) of a role with REPLICATION that owns the tables. Required.
	URL string
	// Slot names the replication slot; lower case letters, digits and underscores. Default [DefaultSlot].
	Slot string
	// Failover makes the slot one that standbys keep a copy of, so that the stream goes on after one of them was promoted. It is for
	// PostgreSQL 17 and later, whose primary names those standbys in synchronized_standby_slots: it is told of no change that one of
	// them does not have, and waits for all of them; so does a copy. Earlier ones have no such slots.
	Failover bool
	// Publication names the publication, which this source alone maintains. Default: the slot's name.
	Publication string
	// Include and Exclude are patterns on schema.table, in which * stands for any characters and ?
	// for one. A table is selected if it matches an Include and no Exclude. Default Include: "public.*".
	Include, Exclude []string
	// Unstreamed are OIDs of types whose values the transport does not carry that brings the changes in place of Stream (see [Companion]).
	Unstreamed []uint32
	// Refuse, when set, is given all tables that could be replicated whenever the catalog has changed, and says which of them that transport cannot
	// carry beside the others. They are stopped.
	Refuse func(ctx context.Context, tables []*cdc.Table) map[cdc.TableID]*cdc.TableError
	// SystemID, when set, is the only database system that is accepted (see [Source.SystemID]).
	SystemID string
	// StatusInterval is how often confirmed positions are reported. Default 1 s.
	StatusInterval time.Duration
	// WatermarkInterval is how often an idle stream asks how far the write-ahead log is. Default 50 ms: at 20 ms a gateway without anything to do
	// takes twice the CPU time, 3 % of a core.
	WatermarkInterval time.Duration
	// CatalogInterval is how often the catalog is looked at for DDL. Default 1 s.
	CatalogInterval time.Duration
	// SlotWait bounds how long Stream waits for a slot that another connection holds. After half of
	// it a holder that bears this source's application name is terminated. Default 20 s.
	SlotWait time.Duration
	// CopyConnections is how many connections copy tables at once, large tables in pieces; fewer where the server has not so many left. Default 4.
	CopyConnections int
	// ChunkChanges is the most changes handed over in one call. Default 1,000.
	ChunkChanges int
	// PlaceSender, when set, is given the process id of each of the server's processes that streams or copies for this source, so that it
	// can be moved to other CPUs, say. It is for servers on this machine, reached by a socket in the file system; elsewhere, and after an
	// error, which is logged, the process stays as it is.
	PlaceSender func(pid int) error
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// Logger receives transitions. Default: discard.
	Logger *slog.Logger
	// Registerer receives the metrics. Default: none.
	Registerer prometheus.Registerer
}

var slotName = regexp.MustCompile(`^[a-z0-9_]{1,63}$`)

// withDefaults returns the configuration that New works with.
func (c Config) withDefaults() (Config, error) {
	if c.URL == "" {
		return c, errors.New("configure source: URL is empty; give a PostgreSQL connection string")
	}
	setDefault(&c.Slot, DefaultSlot)
	setDefault(&c.Publication, c.Slot)
	setDefault(&c.StatusInterval, time.Second)
	setDefault(&c.WatermarkInterval, 50*time.Millisecond)
	setDefault(&c.CatalogInterval, time.Second)
	setDefault(&c.SlotWait, 20*time.Second)
	setDefault(&c.ChunkChanges, 1000)
	setDefault(&c.CopyConnections, 4)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if !slotName.MatchString(c.Slot) {
		return c, fmt.Errorf("configure source: slot name %q: use 1 to 63 lower case letters, digits and underscores", c.Slot)
	}
	if c.ChunkChanges < 0 || c.CopyConnections < 0 || c.StatusInterval < 0 || c.WatermarkInterval < 0 || c.CatalogInterval < 0 || c.SlotWait < 0 {
		return c, errors.New("configure source: intervals and sizes must not be negative")
	}
	return c, nil
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}
