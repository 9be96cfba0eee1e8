package analytics

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/batch"
	"github.com/freshet-io/freshet/gateway/cursor"
	"github.com/freshet-io/freshet/gateway/freshness"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/shares"
	"github.com/freshet-io/freshet/gateway/syntax"
	"github.com/freshet-io/freshet/gateway/timezone"
	"github.com/freshet-io/freshet/gateway/translate"
)

// Replica is what the route needs of the columnar replica.
type Replica interface {
	translate.Catalog
	// Generation changes whenever the set of ready tables or a definition does.
	Generation() uint64
	// Traits are the source database's.
	Traits() translate.Traits
	// Rows estimates a table's number of rows.
	Rows(cdc.TableID) int64
	// Absence says why a table is not in the catalog, and what to do about it.
	Absence(searchPath []string, schema, name string) string
	// Versions implements [Versions].
	Versions(ctx context.Context, ids []cdc.TableID) (map[cdc.TableID]string, error)
	// View returns the view that a name means in a list of schemas; nil if it means none, or no view.
	View(ctx context.Context, searchPath []string, name string) (*cdc.View, error)
	// Current returns a position at or after every transaction acknowledged before the call.
	Current(ctx context.Context) (cdc.Position, error)
	// Log is the source's which snapshots are of; zero where that is not known, or there are none.
	Log() cdc.Log
	// Whole says why snapshots may lack tables that later ones have, as they do soon after a start; nil if they do not.
	Whole() error
	// Acquire returns the newest snapshot, retained.
	Acquire(ctx context.Context) (batch.Snapshot, error)
	// Suspect is told why the engine refused a statement on a snapshot.
	Suspect(refused error)
}

// Dispatcher runs planned queries.
type Dispatcher interface {
	Submit(ctx context.Context, q *batch.Query) (*batch.Reader, error)
	RunOn(ctx context.Context, s batch.Snapshot, q *batch.Query) (*batch.Reader, error)
}

// Config adjusts a Router. Zero values choose the defaults named.
type Config struct {
	// Database is the source database that is replicated; sessions of others are relayed.
	Database string
	// Dialect is that of the source database.
	Dialect translate.Dialect
	// LagLimit is how long a statement waits for a snapshot that is fresh enough, and then for the source to confirm
	// the definitions of what it reads, before PostgreSQL runs it instead. Zero means one second.
	LagLimit time.Duration
	// Tenants says which tenant a session's user belongs to, whose limits its statements keep; nil: one without limits.
	Tenants *shares.Directory
	// Zones finds time zones by their names in the source, nil for one that it does not tell of; nil: sessions outside
	// UTC go to PostgreSQL with what depends on the zone.
	Zones func(ctx context.Context, name string) (*timezone.Zone, error)
	// PlanCache is how many translations are kept; zero means 1,024.
	PlanCache int
}

// Router decides for and runs the analytical route; it implements [pgwire.Analytics].
type Router struct {
	cfg        Config
	replica    Replica
	gate       *freshness.Gate
	dispatcher Dispatcher
	clock      func() time.Time
	log        *slog.Logger
	metrics    *metrics

	trees  *lru.Cache[string, *syntax.Tree]
	plans  *lru.Cache[string, *planned]
	checks *lru.Cache[string, check]

	verdicts    *verdicts
	views       *views
	definitions *definitions
	hidden      atomic.Pointer[hidden]
	changes     atomic.Uint64 // of definitions, by sessions of the endpoint
	// stalledAt is where the replica stood all through the last wait that was in vain; nil: there was none.
	stalledAt atomic.Pointer[cdc.Position]
}

// New returns a router.
func New(cfg Config, replica Replica, gate *freshness.Gate, dispatcher Dispatcher, clock func() time.Time, log *slog.Logger, reg prometheus.Registerer) (*Router, error) {
	if cfg.LagLimit <= 0 {
		cfg.LagLimit = time.Second
	}
	if cfg.PlanCache <= 0 {
		cfg.PlanCache = 1024
	}
	if cfg.Tenants == nil {
		cfg.Tenants = shares.NewDirectory()
	}
	r := &Router{
		cfg: cfg, replica: replica, gate: gate, dispatcher: dispatcher,
		clock: clock, log: log, metrics: newMetrics(reg),
	}
	var err error
	if r.trees, err = lru.New[string, *syntax.Tree](cfg.PlanCache); err != nil {
		return nil, fmt.Errorf("make cache of parsed statements: %w", err)
	}
	if r.plans, err = lru.New[string, *planned](cfg.PlanCache); err != nil {
		return nil, fmt.Errorf("make cache of plans: %w", err)
	}
	if r.checks, err = lru.New[string, check](cfg.PlanCache); err != nil {
		return nil, fmt.Errorf("make cache of checks: %w", err)
	}
	if r.verdicts, err = newVerdicts(cfg.PlanCache); err != nil {
		return nil, err
	}
	if r.views, err = newViews(replica, cfg.PlanCache); err != nil {
		return nil, err
	}
	if r.definitions, err = newDefinitions(replica.Versions, cfg.PlanCache); err != nil {
		return nil, err
	}
	return r, nil
}

// Generation implements [pgwire.Analytics].
func (r *Router) Generation() uint64 { return r.replica.Generation() + r.views.changes.Load() }

// Candidate implements [pgwire.Analytics].
func (r *Router) Candidate(sql string) pgwire.Candidate {
	c := syntax.Classify(sql)
	out := pgwire.Candidate{Writes: c.Writes, SetsSession: c.Writes, NoData: c.FromLess, Catalogs: c.Catalogs,
		Parameters: c.Parameters, Reason: c.Reason}
	switch {
	case c.ExplainFreshet:
		out.Kind, out.Inner = pgwire.Explain, c.Explained
	case c.Declared != nil:
		out.Kind, out.Inner, out.Cursor, out.Binary = pgwire.Declare, c.Declared.SQL, c.Declared.Name, c.Declared.Binary
		out.Holds, out.Scroll, out.Parameters = c.Declared.Holds, c.Declared.Scroll, c.Declared.Query.Parameters
		if r.pointRead(c.Declared.Query.Point) {
			out.Point, out.Reason = true, reasonPointRead
		}
	case c.Candidate && r.pointRead(c.Point):
		out.Kind, out.Point, out.Reason = pgwire.Read, true, reasonPointRead
	case c.Candidate:
		out.Kind = pgwire.Read
	}
	return out
}

// Cursor implements [pgwire.Analytics].
func (r *Router) Cursor(sql string) (cursor.Statement, bool) { return syntax.ParseCursor(sql) }

const reasonPointRead = "point read by key: PostgreSQL is the faster store"

// pointRead says whether p binds the whole key of its table.
func (r *Router) pointRead(p *syntax.Point) bool {
	if p == nil {
		return false
	}
	t, ok := r.replica.Table([]string{"public"}, p.Schema, p.Table)
	if !ok {
		return false
	}
	bound := map[string]bool{}
	for _, c := range p.Columns {
		bound[c] = true
	}
	for _, k := range t.Key {
		if !bound[t.Columns[k].Name] {
			return false
		}
	}
	return true
}

// requirement is what the session's settings ask of a snapshot.
func requirement(s *pgwire.SessionInfo) freshness.Requirement {
	need := freshness.Require(s.Settings.Freshness, s.Settings.MaxStaleness)
	need.Min, need.OwnWrites = s.Settings.MinSnapshot, s.WroteSince
	return need
}
