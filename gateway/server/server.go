package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/gateway/analytics"
	"github.com/freshet-io/freshet/gateway/batch"
	"github.com/freshet-io/freshet/gateway/engine"
	"github.com/freshet-io/freshet/gateway/freshness"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/timezone"
)

// Info tells where a running gateway listens.
type Info struct {
	Addr        net.Addr
	MonitorAddr net.Addr // nil without a monitoring port
	// Status reads the gateway's state; it may be called until Run returns.
	Status func() Status
}

// Run runs a gateway until ctx ends and its clients have left, and calls ready once the endpoint listens.
func Run(ctx context.Context, cfg Config, ready func(Info)) error {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return err
	}
	// 1. Take the ports, so that a busy one is told before anything starts.
	endpoint, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen on %q: %w", cfg.Listen, err)
	}
	defer endpoint.Close()
	monitor, err := listenMonitor(cfg.MonitorListen)
	if err != nil {
		return err
	}
	// 2. Compose the parts.
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	access := engine.Config{
		Addr: cfg.EngineAddr, Database: "default", User: cfg.EngineUser, Password: cfg.EnginePassword,
		Settings: settings(cfg.EngineThreads), MaxConns: engine.DefaultConns() + int32(cmp.Or(cfg.Batch.Stalled, batch.DefaultStalled)),
	}
	eng, err := engine.Open(ctx, access)
	if err != nil {
		return err
	}
	defer eng.Close()
	access.MaxConns = 1
	watched, err := engine.Open(ctx, access) // queries may hold all connections of the other
	if err != nil {
		return err
	}
	defer watched.Close()
	tenants := newTenants(cfg, registry)
	cfg.Batch.Tenants, cfg.Route.Tenants = tenants.directory, tenants.directory
	u := newUnit(cfg)
	queries := watch(eng)
	dispatcher := batch.New(cfg.Batch, u, queries, cfg.Clock, cfg.Logger, registry)
	zones, err := timezone.NewDirectory(u, eng, cfg.Clock)
	if err != nil {
		return err
	}
	cfg.Route.Zones = zones.Find
	route, err := newRoute(cfg, u, dispatcher, registry)
	if err != nil {
		return err
	}
	logins, err := openVerifiers(ctx, cfg)
	if err != nil {
		return err
	}
	defer logins.close()
	relay := newRelay(cfg, route, tenants, logins, u.look, registry)
	status := func() Status { return tenants.describe(u.status()) }
	// 3. Run them; the first to fail ends the others.
	group, running := errgroup.WithContext(context.WithoutCancel(ctx))
	group.Go(func() error { return leave(ctx, running, cfg.Drain, relay) })
	group.Go(func() error { return u.run(running) })
	group.Go(func() error { return u.watchEngine(running, watched.Ping, queries) })
	group.Go(func() error { return tenants.run(running) })
	group.Go(func() error { return dispatcher.Run(running) })
	group.Go(func() error { return serveRelay(running, relay, endpoint) })
	info := Info{Addr: endpoint.Addr(), Status: status}
	if monitor != nil {
		info.MonitorAddr = monitor.Addr()
		group.Go(func() error { return serveMonitor(running, monitor, u, tenants, registry) })
	}
	cfg.Logger.Info("endpoint listens", "addr", info.Addr.String())
	ready(info)
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func listenMonitor(addr string) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on monitoring port %q: %w", addr, err)
	}
	return l, nil
}

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
		BackendNetwork: network, BackendAddress: address, BackendTLS: cfg.backend.TLSConfig, BackendTLSOptional: plainFallback(cfg.backend),
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

// settleTime is how long load balancers have to learn that a gateway is leaving.
const settleTime = 3 * time.Second

// leave ends what runs when the gateway has been asked to end and its clients have left, or had their time to.
func leave(asked, running context.Context, drain time.Duration, relay *pgwire.Server) error {
	select {
	case <-asked.Done():
	case <-running.Done():
		return running.Err()
	}
	if drain > 0 {
		ctx, cancel := context.WithTimeout(running, drain)
		defer cancel()
		relay.Drain(ctx, min(settleTime, drain))
	}
	return asked.Err()
}

// shutdownTime is how long sessions have to end by themselves.
const shutdownTime = 5 * time.Second

// serveRelay serves the endpoint until ctx ends.
func serveRelay(ctx context.Context, relay *pgwire.Server, l net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- relay.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	return errors.Join(ctx.Err(), relay.Shutdown(limited), <-failed)
}
