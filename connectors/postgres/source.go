package postgres

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Source is a PostgreSQL database's change stream. Its methods are safe for
// concurrent use, but only one Stream runs at a time.
type Source struct {
	cfg      Config
	selector selector
	log      *slog.Logger
	metrics  *metrics
	pool     *pgxpool.Pool
	registry *registry

	refreshing    sync.Mutex
	serverVersion atomic.Int64
	facts         atomic.Pointer[serverFacts]
	streaming     atomic.Bool
	confirmed     atomic.Uint64
	// wanted is the highest position that Current has promised; wake tells the pulse of it.
	wanted atomic.Uint64
	wake   chan struct{}
}

var _ cdc.Source = (*Source)(nil)

// New returns a source. It does not connect yet: a server that is down makes the first use fail, not New.
func New(cfg Config) (*Source, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	sel, err := newSelector(cfg.Include, cfg.Exclude)
	if err != nil {
		return nil, err
	}
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("configure source: %w", err)
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register source metrics: %w", err)
	}
	s := &Source{cfg: cfg, selector: sel, log: cfg.Logger, metrics: m, registry: newRegistry(), wake: make(chan struct{}, 1)}
	pc.MaxConns = 6
	params := pc.ConnConfig.RuntimeParams
	params["application_name"] = s.applicationName() + " control"
	params["search_path"] = "pg_catalog"
	// A nudge must flush the log here, and need not wait for standbys.
	params["synchronous_commit"] = "local"
	params["lock_timeout"] = "5s"
	params["default_transaction_isolation"] = "read committed"
	params["default_transaction_read_only"] = "off"
	if s.pool, err = pgxpool.NewWithConfig(context.Background(), pc); err != nil {
		return nil, fmt.Errorf("configure source: %w", err)
	}
	return s, nil
}

// Close releases the connections. Streams and copies must have ended.
func (s *Source) Close() { s.pool.Close() }

func (s *Source) applicationName() string { return "freshet " + s.cfg.Slot }

// SystemID returns the identity of the database system, which no other PostgreSQL cluster has.
func (s *Source) SystemID(ctx context.Context) (string, error) {
	f, err := s.readFacts(ctx)
	return f.systemID, err
}

// Tables implements [cdc.Source]. It checks the server, and creates or corrects publication and slot.
func (s *Source) Tables(ctx context.Context) ([]cdc.Discovered, error) {
	if err := s.checkServer(ctx); err != nil {
		return nil, err
	}
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	if err := s.ensureSlot(ctx); err != nil {
		return nil, err
	}
	defs := s.registry.giveAll()
	slices.SortFunc(defs, func(a, b *definition) int {
		return cmp.Or(cmp.Compare(a.shape.schema, b.shape.schema), cmp.Compare(a.shape.name, b.shape.name))
	})
	out := make([]cdc.Discovered, len(defs))
	for i, d := range defs {
		out[i] = d.discovered()
	}
	return out, nil
}

func (s *Source) checkServer(ctx context.Context) error {
	f, err := s.readFacts(ctx)
	if err != nil {
		return err
	}
	s.serverVersion.Store(int64(f.version))
	s.facts.Store(&f)
	return f.check(s.cfg.SystemID)
}

// Confirm implements [cdc.Source]. The server learns of it within the status interval.
func (s *Source) Confirm(p cdc.Position) {
	raise(&s.confirmed, p.Major)
	s.metrics.confirmed.Set(float64(s.confirmed.Load()))
}

// Current implements [cdc.Source] in one round trip. The position is that of the last log record inserted, flushed
// or not. While a Stream runs, its pulse has the log flushed if no commit does so within milliseconds.
func (s *Source) Current(ctx context.Context) (cdc.Position, error) {
	w, err := s.readLog(ctx)
	if err != nil {
		return cdc.Position{}, err
	}
	if w.flushed < w.inserted {
		raise(&s.wanted, w.inserted)
		select {
		case s.wake <- struct{}{}:
		default: // the pulse has been told already
		}
	}
	return cdc.Position{Major: w.inserted}, nil
}

// logState is how far the write-ahead log is, and when that was.
type logState struct {
	at                time.Time // by the server's clock, before the positions were read
	inserted, flushed uint64
}

// readLog asks how far the log is. The server's clock tells when, as it does in commits.
func (s *Source) readLog(ctx context.Context) (logState, error) {
	facts := s.facts.Load()
	if facts == nil {
		if err := s.checkServer(ctx); err != nil {
			return logState{}, err
		}
		facts = s.facts.Load()
	}
	var w logState
	// PostgreSQL evaluates the columns in order: the clock first.
	err := s.pool.QueryRow(ctx, `SELECT clock_timestamp(), (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint,
		(pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint`).Scan(&w.at, &w.inserted, &w.flushed)
	if err != nil {
		return w, fmt.Errorf("read log position: %w", err)
	}
	w.inserted = facts.recordEnd(w.inserted)
	return w, nil
}

// raise sets v to at least n.
func raise(v *atomic.Uint64, n uint64) {
	for {
		old := v.Load()
		if n <= old || v.CompareAndSwap(old, n) {
			return
		}
	}
}
