package cockroachdb

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/jsonrow"
)

// Source is a CockroachDB database's change stream through a changefeed and Kafka. Its methods
// are safe for concurrent use, but only one Stream runs at a time.
type Source struct {
	cfg      Config
	log      *slog.Logger
	metrics  *metrics
	registry *registry
	misfits  jsonrow.Misfits
	marks    marks
	open     func() (broker, error)

	// cut is the last one that a stream of this source has handed over, or where it began.
	cut atomic.Pointer[cdc.Position]

	following sync.Mutex
	checking  sync.Mutex
	paused    bool // guarded by checking
	streaming atomic.Bool
	look      chan struct{} // tells the watcher to look at the catalog now
}

var (
	_ cdc.Source     = (*Source)(nil)
	_ cdc.Bookmarker = (*Source)(nil)
)

// New returns a source. It does not connect yet.
func New(cfg Config) (*Source, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if _, err := cfg.Kafka.Options(); err != nil {
		return nil, err
	}
	return newSource(cfg, func() (broker, error) { return openKafka(cfg.Kafka) })
}

func newSource(cfg Config, open func() (broker, error)) (*Source, error) {
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register source metrics: %w", err)
	}
	return &Source{cfg: cfg, log: cfg.Logger, metrics: m, registry: newRegistry(), open: open, look: make(chan struct{}, 1)}, nil
}

// Look has the watcher look at the catalog soon, where definitions may have changed.
func (s *Source) Look() {
	select {
	case s.look <- struct{}{}:
	default: // it will already
	}
}

// Close releases the connections to the database. Streams and copies must have ended.
func (s *Source) Close() { s.cfg.Database.Close() }

// SystemID returns the identity of the cluster, which no other has.
func (s *Source) SystemID(ctx context.Context) (string, error) { return s.cfg.Database.ClusterID(ctx) }

// Versions returns the versions that tables have at or after all that was handed over; a table that is not there any more is left out.
func (s *Source) Versions(ctx context.Context, ids []cdc.TableID) (map[cdc.TableID]string, error) {
	cut := s.cut.Load()
	if cut == nil { // what the consumer holds came from another source, up to now at the latest
		now, err := s.cfg.Database.Now(ctx)
		if err != nil {
			return nil, err
		}
		cut = &now
	}
	return s.cfg.Database.Versions(ctx, ids, *cut)
}

// View returns nil: how CockroachDB prints a view, and which version that is of, is not known well enough.
func (s *Source) View(context.Context, []string, string) (*cdc.View, error) { return nil, nil }

// Zone returns nil: sessions outside UTC go to CockroachDB.
func (s *Source) Zone(context.Context, string) ([]cdc.Offset, error) { return nil, nil }

// Tables implements [cdc.Source].
func (s *Source) Tables(ctx context.Context) ([]cdc.Discovered, error) {
	if err := s.follow(ctx); err != nil {
		return nil, err
	}
	return s.registry.giveAll(), nil
}

// follow brings definitions in line with the catalog.
func (s *Source) follow(ctx context.Context) error {
	s.following.Lock()
	defer s.following.Unlock()
	found, err := s.cfg.Database.Tables(ctx)
	if err != nil {
		return err
	}
	s.registry.update(found)
	return nil
}

// Copy implements [cdc.Source].
func (s *Source) Copy(ctx context.Context, tables []cdc.TableID, sink cdc.CopySink) (cdc.Position, error) {
	defs, stale := s.registry.copying(tables)
	at, err := s.cfg.Database.Copy(ctx, defs, &copySink{CopySink: sink, s: s, stale: stale})
	if err != nil {
		return at, fmt.Errorf("copy tables: %w", err)
	}
	return at, nil
}

// copySink notes at which positions copies begin, and stops tables that changed before.
type copySink struct {
	cdc.CopySink
	s     *Source
	stale []cdc.TableID
}

// Begin implements [cdc.CopySink].
func (c *copySink) Begin(ctx context.Context, at cdc.Position, tables []*cdc.Table) error {
	for _, t := range tables {
		if c.s.misfits.Begun(t.ID, at) {
			c.s.registry.copyAnew(t.ID)
		}
	}
	if err := c.CopySink.Begin(ctx, at, tables); err != nil {
		return err
	}
	for _, id := range c.stale {
		if err := c.CopySink.Stopped(ctx, id, c.s.registry.why(id)); err != nil {
			return err
		}
	}
	return nil
}

// Stopped implements [cdc.CopySink]. The table is announced once more.
func (c *copySink) Stopped(ctx context.Context, id cdc.TableID, why *cdc.TableError) error {
	c.s.registry.copyAnew(id)
	return c.CopySink.Stopped(ctx, id, why)
}

// Current implements [cdc.Source]. The stream reaches the position as soon as the changefeed has resolved it.
func (s *Source) Current(ctx context.Context) (cdc.Position, error) { return s.cfg.Database.Now(ctx) }

// Confirm implements [cdc.Source]. The topics keep their retention, whatever one of their readers holds.
func (s *Source) Confirm(p cdc.Position) {
	s.marks.confirm(p)
	s.metrics.confirmed.Set(float64(p.Major) / 1e9)
}

// Bookmark implements [cdc.Bookmarker]: the offsets of all partitions from which everything after p is read.
func (s *Source) Bookmark(p cdc.Position) []byte {
	b := s.marks.bookmark(p)
	if b == nil {
		return nil
	}
	data, err := b.encode()
	if err != nil { // strings and numbers always encode
		s.log.Warn("bookmark cannot be encoded", "error", err)
		return nil
	}
	return data
}

// Restore implements [cdc.Bookmarker].
func (s *Source) Restore(data []byte) error {
	if s.streaming.Load() {
		return fmt.Errorf("restore bookmark: the source streams already")
	}
	b, err := decodeBookmark(data)
	if err != nil {
		return err
	}
	s.marks.begin(b)
	return nil
}

// checkChangefeed makes sure that a changefeed writes the topics and that it has left nothing out after a position that
// was reached before.
func (s *Source) checkChangefeed(ctx context.Context, reached cdc.Position) error {
	s.checking.Lock()
	defer s.checking.Unlock()
	f, err := s.cfg.Database.Changefeed(ctx)
	if err != nil {
		return err
	}
	switch {
	case f.Job == "":
		return changefeedStopped("create it with cursor at the replica's position, or "+cdc.RemedyRecopy, "no changefeed writes the topics; the replica is at %s", formatHLC(reached))
	case f.State == ChangefeedEnded:
		return changefeedStopped("create it anew with cursor at the replica's position or before, or "+cdc.RemedyRecopy,
			"changefeed %s has ended: %s; the replica is at %s", f.Job, f.Detail, formatHLC(reached))
	}
	if paused := f.State == ChangefeedPaused; paused != s.paused {
		s.paused = paused
		if paused {
			s.log.Warn("the changefeed is paused", "job", f.Job, "detail", f.Detail, "remedy", "RESUME JOB "+f.Job)
		} else {
			s.log.Info("the changefeed runs again", "job", f.Job)
		}
	}
	s.metrics.running.Set(1)
	if s.paused {
		s.metrics.running.Set(0)
	}
	if before := s.marks.currentJob(); before == f.Job {
		return nil
	}
	// Another changefeed than the one before. What that one delivered up to a cut is not missing; a second is for the clocks.
	if cut := s.marks.sentBefore(f.Created.Add(-time.Second)); reached.Before(cut) {
		reached = cut
	}
	if reached.Before(f.Start) {
		return cdc.HistoryLost("changefeed %s emits changes after %s only, and the one before was read up to %s", f.Job, formatHLC(f.Start), formatHLC(reached))
	}
	s.marks.changefeed(f.Job)
	return nil
}

func (s *Source) spoolDir() string {
	if s.cfg.SpoolDir != "" {
		return s.cfg.SpoolDir
	}
	return os.TempDir()
}
