package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/freshet-io/freshet/gateway/analytics"
	"github.com/freshet-io/freshet/gateway/batch"
	"github.com/freshet-io/freshet/gateway/engine"
	"github.com/freshet-io/freshet/gateway/freshness"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/timezone"
)

// parts are what a gateway is made of.
type parts struct {
	registry *prometheus.Registry
	// engine runs queries. The prober has a connection of its own to ask whether the engine is there: queries may hold all others.
	engine, prober *engine.Client
	tenants        *tenants
	unit           *unit
	dispatcher     *batch.Dispatcher
	logins         *verifiers
	relay          *pgwire.Server
}

// compose makes the parts of a gateway, none of which runs yet.
func compose(ctx context.Context, cfg Config) (_ *parts, err error) {
	p := &parts{registry: prometheus.NewRegistry()}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	p.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	access := engine.Config{
		Addr: cfg.EngineAddr, Database: "default", User: cfg.EngineUser, Password: cfg.EnginePassword,
		Settings: settings(cfg.EngineThreads), MaxConns: engine.DefaultConns() + int32(cmp.Or(cfg.Batch.Stalled, batch.DefaultStalled)),
	}
	if p.engine, err = engine.Open(ctx, access); err != nil {
		return nil, err
	}
	access.MaxConns = 1
	if p.prober, err = engine.Open(ctx, access); err != nil {
		return nil, err
	}
	p.tenants = newTenants(cfg, p.registry)
	cfg.Batch.Tenants, cfg.Route.Tenants = p.tenants.directory, p.tenants.directory
	p.unit = newUnit(cfg)
	queries := watchedEngine{p.engine, &p.unit.dependents}
	p.dispatcher = batch.New(cfg.Batch, p.unit, queries, cfg.Clock, cfg.Logger, p.registry)
	zones, err := timezone.NewDirectory(p.unit, queries, cfg.Clock)
	if err != nil {
		return nil, err
	}
	cfg.Route.Zones = zones.Find
	route, err := newRoute(cfg, p.unit, p.dispatcher, p.registry)
	if err != nil {
		return nil, err
	}
	if p.logins, err = openVerifiers(ctx, cfg); err != nil {
		return nil, err
	}
	defined := func() {
		route.Defined()
		p.unit.look()
	}
	p.relay = newRelay(cfg, route, p.tenants, p.logins, defined, p.registry)
	return p, nil
}

// close ends the connections of those parts that have been made.
func (p *parts) close() {
	p.logins.close()
	if p.prober != nil {
		p.prober.Close()
	}
	if p.engine != nil {
		p.engine.Close()
	}
}

// status reads the gateway's state.
func (p *parts) status() Status { return p.tenants.describe(p.unit.status()) }

// settings are sent with every query. Threads bounds those of one; zero does not.
func settings(threads int) map[string]string {
	s := map[string]string{
		// A client may pause for longer than the engine would wait for it (five minutes), as one of PostgreSQL may.
		"send_timeout": fmt.Sprint(24 * 60 * 60),
		// The engine would compile to machine code what it has seen three times, for 20 ms an expression and up to a third of a second a query. But
		// the condition on a delta's rows has the epoch in it: it is soon never seen again. What is compiled is no faster than the engine's own loops.
		"compile_expressions": "0",
	}
	if threads > 0 {
		s["max_threads"] = fmt.Sprint(threads)
	}
	return s
}

func newRoute(cfg Config, u *unit, d *batch.Dispatcher, reg prometheus.Registerer) (*analytics.Router, error) {
	return analytics.New(cfg.Route, u, freshness.NewGate(u, u), d, cfg.Clock, cfg.Logger, reg)
}

func newRelay(cfg Config, route *analytics.Router, tenants *tenants, logins *verifiers, defined func(), reg prometheus.Registerer) *pgwire.Server {
	network, address := pgconn.NetworkAddress(cfg.backend.Host, cfg.backend.Port)
	relay := pgwire.Config{
		BackendNetwork: network, BackendAddress: address, BackendTLS: cfg.backend.TLSConfig, BackendTLSOptional: plainFallback(cfg.backend), AllowPasswordless: cfg.AllowPasswordless,
		TLS: cfg.TLS, Defaults: cfg.Defaults, DefaultsOf: tenants.defaults, Analytics: route, Defined: defined, Now: cfg.Clock, Log: cfg.Logger, Metrics: pgwire.NewMetrics(reg),
	}
	if logins != nil {
		relay.Verifier = logins.read
	}
	return pgwire.NewServer(relay)
}

// plainFallback reports whether a connection string accepts a server without TLS, as it does unless it says otherwise.
func plainFallback(c *pgconn.Config) bool {
	return slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.TLSConfig == nil })
}
