package cockroachdb

import (
	"context"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Database is what a source asks of CockroachDB itself. [SQL] asks it by the PostgreSQL protocol. Methods are safe for concurrent use.
type Database interface {
	// Tables lists the selected tables. One that cannot be replicated, or that the changefeed does not emit, comes with the reason.
	// Where the changefeed is this product's own, Tables creates it and keeps its tables in line.
	Tables(ctx context.Context) ([]cdc.Discovered, error)
	// Copy reads tables at one timestamp, which it tells sink.Begin and returns. A table that is not as defined any
	// more, or cannot be read, is Stopped; the others go on.
	Copy(ctx context.Context, tables []*cdc.Table, sink cdc.CopySink) (cdc.Position, error)
	// Now returns a timestamp at or after that of every transaction whose commit was acknowledged before the call.
	Now(ctx context.Context) (cdc.Position, error)
	// Changefeed tells of the changefeed that writes the topics; the zero value if there is none.
	Changefeed(ctx context.Context) (Changefeed, error)
	// Versions returns the versions that tables have at a timestamp that is not before since; a table that is not there any more is left
	// out.
	Versions(ctx context.Context, ids []cdc.TableID, since cdc.Position) (map[cdc.TableID]string, error)
	// ClusterID returns the identity of the cluster, which no other has.
	ClusterID(ctx context.Context) (string, error)
	// Close releases the connections.
	Close()
	// Topic names the topic of a table.
	Topic(t *cdc.Table) string
}

// Changefeed is the state of a changefeed.
type Changefeed struct {
	// Job is the ID of its job; empty if there is no changefeed.
	Job string
	// Start is the timestamp after which it emits every change.
	Start cdc.Position
	// Created is when it was created, by the database's clock.
	Created time.Time
	State   ChangefeedState
	// Detail is what the database says of the state, an error above all.
	Detail string
}

// ChangefeedState is what becomes of a changefeed.
type ChangefeedState uint8

// The states. A paused changefeed can be resumed without loss; one that ended cannot.
const (
	ChangefeedRunning ChangefeedState = iota
	ChangefeedPaused
	ChangefeedEnded
)
