package replica

import (
	"errors"
	"time"

	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// DefaultFlushInterval is the least time between two epochs that nobody waits for, unless [Config.FlushInterval] says otherwise.
const DefaultFlushInterval = 200 * time.Millisecond

// Config says where the replica lives and how it works. Zero fields have defaults.
type Config struct {
	// Addr is host:port of the columnar engine's native protocol. It is required.
	Addr string
	// Database is the engine's database that the replica owns: it drops whatever it does not
	// know in there. The default is "freshet". Another one, of this name with "_volatile" behind it, holds what a restart of the
	// engine ends.
	Database string
	// User and Password are for the engine. The default user is "default".
	User, Password string
	// SourceID names the source for good (PostgreSQL: system identifier and database). A replica
	// whose data came from another source refuses to start.
	SourceID string
	// Owner is the process that keeps the data, from one replica of it to the next; zero: it is made up.
	Owner Owner
	// FlushInterval is the least time between two epochs that nobody waits for; 0 means [DefaultFlushInterval]. An epoch costs the engine as much as a
	// small query, and whoever wants the newest snapshot gets it at once. Far behind the source the interval grows.
	FlushInterval time.Duration
	// FlushBytes of staged rows do not wait that long: it bounds what somebody who wants the newest snapshot may have to wait for; 0
	// means 512 KiB. Even then publishing takes at most a quarter of the time.
	FlushBytes int
	// CopyRows is the number of copied rows that become one part of a base, fewer where rows are long; 0 means 131,072.
	CopyRows int
	// CompactRows is the number of changed rows after which a table is compacted; 0 means 50,000.
	CompactRows int
	// MergeBlocks is the number of blocks in memory after which a table's changes since its compaction are put into one even if nobody reads them: each
	// block costs a scan some 40 µs. 0 means 96.
	MergeBlocks int
	// CompactInterval is the longest time that a changed table goes without compaction. It bounds
	// what is replayed after a crash and what the source has to keep; 0 means 10 s.
	CompactInterval time.Duration
	// RewriteRows is the number of rows up to which compaction simply writes a table anew; 0 means 50,000.
	// The parts of a larger table are shared with its next base until scans have lost as much to dead rows and to several parts as merging them takes,
	// or a third of the rows are dead.
	RewriteRows int
	// SettleInterval is how long a table has to go unchanged before the parts of its base are merged to one, without the dead rows in them; 0
	// means 5 s. For a large table it is longer: five times as long as that takes. Tables of more than 20 million rows stay as they are.
	SettleInterval time.Duration
	// StageBytes bounds the rows that wait in memory; 0 means 8 MiB.
	StageBytes int
	// DeltaBytes bounds the rows since compaction that are kept in the engine's memory, of all tables together; 0 means 128 MiB. More of
	// them, as a large transaction has, go to its disk.
	DeltaBytes int
	// Threads limits each statement of the replica in the engine; 0 means 1.
	Threads int
}

func (c Config) withDefaults() (Config, error) {
	if c.Addr == "" {
		return c, errors.New("configure replica: the engine's address is missing")
	}
	if c.Database == "" {
		c.Database = "freshet"
	}
	if c.User == "" {
		c.User = "default"
	}
	if c.Owner == (Owner{}) {
		c.Owner = NewOwner()
	}
	if c.FlushInterval == 0 {
		c.FlushInterval = DefaultFlushInterval
	}
	if c.FlushBytes == 0 {
		c.FlushBytes = 512 << 10
	}
	if c.CopyRows == 0 {
		c.CopyRows = 131_072
	}
	if c.CompactRows == 0 {
		c.CompactRows = 50_000
	}
	if c.MergeBlocks == 0 {
		c.MergeBlocks = 96
	}
	if c.CompactInterval == 0 {
		c.CompactInterval = 10 * time.Second
	}
	if c.RewriteRows == 0 {
		c.RewriteRows = 50_000
	}
	if c.SettleInterval == 0 {
		c.SettleInterval = 5 * time.Second
	}
	if c.StageBytes == 0 {
		c.StageBytes = 8 << 20
	}
	if c.DeltaBytes == 0 {
		c.DeltaBytes = 128 << 20
	}
	if c.Threads == 0 {
		c.Threads = 1
	}
	return c, nil
}

// volatile is the database of the engine's memory: neither its tables nor their definitions outlive the engine.
func (c Config) volatile() string { return c.Database + "_volatile" }

func (c Config) engine(database string) engine.Config {
	return engine.Config{Addr: c.Addr, Database: database, User: c.User, Password: c.Password, Threads: c.Threads}
}
