package postgres

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/dial"
)

// Source is a PostgreSQL database's change stream. Its methods are safe for
// concurrent use, but only one Stream runs at a time.
type Source struct {
	cfg      Config
	selector cdc.Selector
	log      *slog.Logger
	metrics  *metrics
	pool     *pgxpool.Pool
	refused  atomic.Pointer[map[cdc.TableID]*cdc.TableError] // see Config.Refuse
	registry *registry

	refreshing    sync.Mutex
	republished   bool // the publication was changed from here since takeRepublished
	serverVersion atomic.Int64
	facts         atomic.Pointer[serverFacts]
	streaming     atomic.Bool
	confirmed     atomic.Uint64
	current       currentCalls
	lineage       lineage
	outset        atomic.Uint32          // anew or onward, once the consumer has said so
	copyWaits     atomic.Pointer[string] // see CopyWaits
	// wanted is the highest position that Current has promised; wake tells the pulse of it.
	wanted atomic.Uint64
	wake   chan struct{}
	// handedOver are the transactions that the stream began to hand over; look tells the watcher to look at the catalog now.
	handedOver recentTransactions
	look       chan struct{}
}

var _ cdc.Source = (*Source)(nil)

// New returns a source. It does not connect yet: a server that is down makes the first use fail, not New.
func New(cfg Config) (*Source, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	sel, err := cdc.NewSelector(cfg.Include, cfg.Exclude)
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
	s := &Source{cfg: cfg, selector: sel, log: cfg.Logger, metrics: m, registry: newRegistry(), wake: make(chan struct{}, 1), look: make(chan struct{}, 1)}
	pc.MaxConns = 6
	dial.GuardPool(pc)
	params := pc.ConnConfig.RuntimeParams
	params["application_name"] = s.named("freshet ", " control")
	params["search_path"] = "pg_catalog"
	// A nudge must flush the log here, and need not wait for standbys.
	params["synchronous_commit"] = "local"
	params["lock_timeout"] = "1s"
	// Limits that suit the application's sessions must not cut off a copy or the wait for a snapshot.
	params["statement_timeout"] = "0"
	params["idle_in_transaction_session_timeout"] = "0"
	params["client_encoding"] = "UTF8"
	params["default_transaction_isolation"] = "read committed"
	params["default_transaction_read_only"] = "off"
	// What is asked again and again takes less time than its planning.
	params["plan_cache_mode"] = "force_generic_plan"
	pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error { return unlimit(ctx, conn.PgConn()) }
	if s.pool, err = pgxpool.NewWithConfig(context.Background(), pc); err != nil {
		return nil, fmt.Errorf("configure source: %w", err)
	}
	return s, nil
}

// unlimit resets the limits of how long a transaction lasts, which must not cut off a copy or a stream either, and a session
// without one. Servers before PostgreSQL 17 and 14 refuse connections that name these.
func unlimit(ctx context.Context, conn *pgconn.PgConn) error {
	const reset = "SELECT set_config(name, '0', false) FROM pg_catalog.pg_settings WHERE name IN ('transaction_timeout', 'idle_session_timeout')"
	if _, err := conn.Exec(ctx, reset).ReadAll(); err != nil {
		return fmt.Errorf("reset limits of time: %w", err)
	}
	return nil
}

// Close releases the connections. Streams and copies must have ended.
func (s *Source) Close() { s.pool.Close() }

func (s *Source) applicationName() string { return s.named("freshet ", "") }

// mostName is how many bytes of a name the server keeps (NAMEDATALEN - 1).
const mostName = 63

// named makes a name that has the slot's in it, or as much of that as the server keeps beside the rest.
func (s *Source) named(before, after string) string {
	return before + s.cfg.Slot[:min(len(s.cfg.Slot), mostName-len(before)-len(after))] + after
}

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
	if err := s.refresh(ctx); err != nil && !lockHeld(err) { // held up, the watcher tries again
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
	if f.losesChanges() {
		s.log.Warn("this minor release of PostgreSQL may lose changes of a table that is published while a transaction writes to it: upgrade to the newest one", "version", f.version)
	}
	return f.check(s.cfg.SystemID)
}

// Confirm implements [cdc.Source]. The server learns of it within the status interval.
func (s *Source) Confirm(p cdc.Position) {
	raise(&s.confirmed, p.Major)
	s.lineage.confirmed(p.Major)
	s.metrics.confirmed.Set(float64(s.confirmed.Load()))
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
