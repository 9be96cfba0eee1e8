package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Companion is what a source needs of PostgreSQL whose changes come by another transport (Debezium's topics): the
// definitions and what is to be announced of them, and how far the log is. Tables, Copy and Confirm of the Source
// are used as they are; Stream is not. The other transport reads the slot and the publication that Tables prepares.
type Companion struct{ s *Source }

// Companion returns the source's companion.
func (s *Source) Companion() Companion { return Companion{s} }

// Follow makes sure that the server has all that was told, and that a replica at a position has, and follows its log from then on: nobody else's
// position is told until another call. since is asked where the server was started while transactions were told.
func (c Companion) Follow(ctx context.Context, position cdc.Position, since CommittedSince) error {
	if err := c.s.checkServer(ctx); err != nil {
		return err
	}
	conn, err := c.s.connectReplication(ctx, nil)
	if err != nil {
		return err
	}
	defer c.s.closeQuietly(conn)
	log, err := c.s.followTimeline(ctx, conn, position.Major)
	if err != nil {
		return err
	}
	start, err := readStart(ctx, conn, log)
	if err != nil {
		return err
	}
	return c.s.lineage.hasAll(log, start, position.Major, since)
}

// Tell notes a transaction before it is told: the position that it ends at, and when it was committed by the server's clock; zero: not known. It returns an
// error if the server that is followed does not have it any more.
func (c Companion) Tell(position cdc.Position, committed time.Time) error {
	return c.s.lineage.tellUnlessUndone(position, committed)
}

// SendsEmpty reports whether the server sends transactions without changes of what is published, which say nothing of where they come from.
func (c Companion) SendsEmpty() bool { return c.s.serverVersion.Load() < 150000 }

// Restore takes over what [Source.Bookmark] gave out.
func (c Companion) Restore(bookmark []byte) error { return c.s.lineage.restore(bookmark) }

// LogState is how far the server's write-ahead log is.
type LogState struct {
	// Asked is this machine's clock, and At the server's, before the positions were read. Answered is this machine's
	// clock after that.
	Asked, At, Answered time.Time
	// Inserted is the end of the last record, Flushed what is durable and therefore streamed.
	Inserted, Flushed cdc.Position
}

// ReadLog asks how far the log is that is followed. Concurrent callers share a question that was asked after each of them called.
func (c Companion) ReadLog(ctx context.Context) (LogState, error) {
	w, err := c.s.current.ask(ctx, c.s.readFollowed)
	return LogState{Asked: w.asked, At: w.at, Answered: w.answered, Inserted: cdc.Position{Major: w.inserted}, Flushed: cdc.Position{Major: w.flushed}}, err
}

// Mark writes a transaction without row changes into the log, whose end every decoder of the log reports, and
// returns a position that the end of that transaction is after. It flushes the log.
func (c Companion) Mark(ctx context.Context) (cdc.Position, error) {
	var p uint64
	if err := c.s.pool.QueryRow(ctx, "SELECT (pg_logical_emit_message(true, 'freshet', '') - '0/0'::pg_lsn)::bigint").Scan(&p); err != nil {
		return cdc.Position{}, fmt.Errorf("mark the log: %w", err)
	}
	c.s.metrics.nudges.Inc()
	return cdc.Position{Major: p}, nil
}

// FollowCatalog brings definitions and publication in line with the catalog if that changed since the fingerprint
// last ("" for always), and returns the fingerprint that they are in line with.
func (c Companion) FollowCatalog(ctx context.Context, last string) (string, error) {
	return c.s.follow(ctx, last)
}

// HandedOver notes a transaction before its first change is handed over, for [Source.Versions].
func (c Companion) HandedOver(xid uint32) { c.s.handedOver.note(xid) }

// Look receives when the catalog is to be followed at once.
func (c Companion) Look() <-chan struct{} { return c.s.look }

// Generation changes whenever a definition or what was told of it changes.
func (c Companion) Generation() uint64 { return c.s.registry.generation.Load() }

// Definition is what is known of a table: the newest version, and the one that the consumer was told of last.
// Both are nil unless the table is there and may be replicated.
type Definition struct{ Newest, Given *cdc.Table }

// TableName names a table. Schema.name in one text would not: both may have points.
type TableName struct{ Schema, Name string }

// Definitions returns the tables that may be replicated, by name.
func (c Companion) Definitions() map[TableName]Definition {
	r := c.s.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[TableName]Definition{}
	for _, e := range r.entries {
		if e.gone || e.def.stopped != nil || e.given == nil || e.given.stopped != nil {
			continue
		}
		out[TableName{e.def.shape.schema, e.def.shape.name}] = Definition{Newest: e.def.table, Given: e.given.table}
	}
	return out
}

// CopyAnew has a table announced once more, because a change of it could not be handed over.
func (c Companion) CopyAnew(id cdc.TableID) { c.s.registry.setGap(id) }

// StopTable has a table announced as stopped.
func (c Companion) StopTable(id cdc.TableID, why *cdc.TableError) { c.s.registry.stop(id, why) }

// Next takes the next announcement: a table that was discovered, or the ID of one that was dropped, with a nil Table then.
func (c Companion) Next() (d cdc.Discovered, dropped cdc.TableID, ok bool) {
	return c.s.registry.next()
}
