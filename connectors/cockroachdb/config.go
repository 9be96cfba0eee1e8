package cockroachdb

import (
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-io/freshet/connectors/kafka"
)

// Config says what a [Source] reads. Zero values mean the documented defaults.
type Config struct {
	// Database is CockroachDB, usually a [SQL]. Required.
	Database Database
	// Kafka is the cluster that the changefeed writes to. Required.
	Kafka kafka.Config
	// CatalogInterval is how often the catalog is looked at for changed definitions, and after how many of
	// that the changefeed's state is. Default 2 s; the changefeed every fifth time.
	CatalogInterval time.Duration
	// PollInterval bounds how long one look for messages waits. Default 50 ms.
	PollInterval time.Duration
	// ClockSkew is how far the clocks of the cluster's nodes and of Kafka may differ, at most. Reading without a bookmark begins so much
	// earlier than the position. Default 10 s.
	ClockSkew time.Duration
	// MemoryBytes is how much of the rows that wait for a cut is held in memory, about. The others wait in files. Default 64 MB.
	MemoryBytes int
	// SpoolBytes is the size of those files from which on partitions that are ahead are not read until the others catch up; what the
	// slowest need is still read, whatever its size. Default 8 GB.
	SpoolBytes int64
	// SpoolDir is the folder of those files, which are gone when the process is. Default: the system's for temporary files.
	SpoolDir string
	// ChunkChanges is the most changes handed over in one call. Default 1,000.
	ChunkChanges int
	// StallLimit is after how long without a new cut a warning names the partition that holds it. Default 30 s.
	StallLimit time.Duration
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// Logger receives transitions. Default: discard.
	Logger *slog.Logger
	// Registerer receives the metrics. Default: none.
	Registerer prometheus.Registerer
}

func (c Config) withDefaults() (Config, error) {
	if c.Database == nil {
		return c, errors.New("configure source: no database; give CockroachDB's connection string")
	}
	setDefault(&c.CatalogInterval, 2*time.Second)
	setDefault(&c.PollInterval, 50*time.Millisecond)
	setDefault(&c.ClockSkew, 10*time.Second)
	setDefault(&c.MemoryBytes, 64<<20)
	setDefault(&c.SpoolBytes, 8<<30)
	setDefault(&c.ChunkChanges, 1000)
	setDefault(&c.StallLimit, 30*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.CatalogInterval < 0 || c.PollInterval < 0 || c.ClockSkew < 0 || c.MemoryBytes < 0 || c.SpoolBytes < 0 || c.ChunkChanges < 0 || c.StallLimit < 0 {
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
