package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/gateway/pgwire"
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
	if monitor != nil {
		defer monitor.Close()
	}
	// 2. Compose the parts.
	p, err := compose(ctx, cfg)
	if err != nil {
		return err
	}
	defer p.close()
	// 3. Run them; the first to fail ends the others.
	group, running := errgroup.WithContext(context.WithoutCancel(ctx))
	group.Go(func() error { return leave(ctx, running, cfg.Drain, p.relay) })
	group.Go(func() error { return p.unit.run(running) })
	group.Go(func() error { return p.unit.watchEngine(running, p.prober.Ping) })
	group.Go(func() error { return p.tenants.run(running) })
	group.Go(func() error { return p.dispatcher.Run(running) })
	group.Go(func() error { return serveRelay(running, p.relay, endpoint) })
	info := Info{Addr: endpoint.Addr(), Status: p.status}
	if monitor != nil {
		info.MonitorAddr = monitor.Addr()
		group.Go(func() error { return serveMonitor(running, monitor, p.unit, p.tenants, p.registry) })
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
