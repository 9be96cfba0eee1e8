package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/bench/rig"
)

// Phase is what the operator did in a part of the run.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	// Requests are those to the API server; Writes are those of them that change something, without leader election's.
	Requests Requests `json:"requests"`
	Writes   int      `json:"writes"`
	// Sessions is how many were opened in the database.
	Sessions   int64   `json:"database_sessions"`
	CPUSeconds float64 `json:"cpu_seconds"`
	// Memory is resident: at the end of the phase, and at most since the operator's start.
	Memory rig.Memory `json:"memory"`
}

// Result is the outcome of [Run].
type Result struct {
	// Converge is from the first HTAPCluster's creation until all are ready; Restart and Crash are from the operator's end, in order and by
	// SIGKILL, until a new one has reconciled all clusters.
	Converge, Steady, Restart, Crash Phase
	// WritesPerHour is per cluster, in the steady phase.
	WritesPerHour float64 `json:"steady_writes_per_hour_and_cluster"`
}

// limit bounds every step that waits for the operator.
const limit = 10 * time.Minute

// measure runs all phases.
func measure(ctx context.Context, w *world) (_ *Result, err error) {
	ctx, cancel := context.WithCancel(ctx)
	players, playing := errgroup.WithContext(ctx)
	g := newGateways()
	s := newSubject(w)
	defer func() {
		cancel()
		err = errors.Join(err, s.Kill(), players.Wait(), g.close())
	}()
	w.o.progress(fmt.Sprintf("creating %d nodes", w.o.Nodes))
	if err := errors.Join(w.createNodes(playing), w.createNamespaces(playing)); err != nil {
		return nil, err
	}
	players.Go(func() error { return w.play(playing, g) })
	players.Go(func() error { return w.beat(playing) })
	w.o.progress("starting the operator")
	if err := s.start(); err != nil {
		return nil, err
	}
	if err := within(playing, w.awaitPools); err != nil {
		return nil, err
	}
	m := &meter{w: w, s: s}
	if err := m.begin(ctx); err != nil {
		return nil, err
	}
	r := &Result{}
	for _, step := range []struct {
		name string
		into *Phase
		do   func(context.Context) error
	}{
		{fmt.Sprintf("creating %d clusters", w.o.Clusters), &r.Converge, func(ctx context.Context) error {
			return errors.Join(w.createClusters(ctx), w.awaitReady(ctx))
		}},
		{"settling", &Phase{}, func(ctx context.Context) error { return s.awaitRound(ctx, g, time.Now()) }},
		{fmt.Sprintf("watching for %v", w.o.Steady), &r.Steady, func(ctx context.Context) error { return sleep(ctx, w.o.Steady) }},
		{"restarting the operator", &r.Restart, func(ctx context.Context) error { return m.restart(ctx, g, true) }},
		{"killing the operator", &r.Crash, func(ctx context.Context) error { return m.restart(ctx, g, false) }},
	} {
		w.o.progress(step.name)
		*step.into, err = m.phase(playing, step.name, step.do)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	r.WritesPerHour = float64(r.Steady.Writes) / r.Steady.Seconds * time.Hour.Seconds() / float64(w.o.Clusters)
	return r, nil
}

// meter tells phases apart.
type meter struct {
	w *world
	s *subject
	// What was used before the phase.
	cpu      time.Duration
	sessions int64
}

// begin starts a phase.
func (m *meter) begin(ctx context.Context) (err error) {
	if _, err := m.w.audit.take(); err != nil {
		return err
	}
	if m.sessions, err = m.w.sessions(ctx); err != nil {
		return err
	}
	m.cpu, _, err = m.s.usage()
	return err
}

// restart ends the operator and waits until a new one has looked at all clusters.
func (m *meter) restart(ctx context.Context, g *gateways, inOrder bool) error {
	if err := m.s.end(ctx, inOrder); err != nil {
		return err
	}
	m.cpu = 0
	since := time.Now()
	if err := m.s.start(); err != nil {
		return err
	}
	return m.s.awaitRound(ctx, g, since)
}

// phase measures what f does, and begins the next phase.
func (m *meter) phase(ctx context.Context, name string, f func(context.Context) error) (Phase, error) {
	p := Phase{Name: name}
	start := time.Now()
	if err := within(ctx, f); err != nil {
		return p, err
	}
	p.Seconds = time.Since(start).Seconds()
	cpu, memory, err := m.s.usage()
	if err != nil {
		return p, err
	}
	p.CPUSeconds, p.Memory, m.cpu = (cpu - m.cpu).Seconds(), memory, cpu
	if p.Requests, err = m.w.audit.take(); err != nil {
		return p, err
	}
	p.Writes = p.Requests.Writes()
	sessions, err := m.w.sessions(ctx)
	p.Sessions, m.sessions = sessions-m.sessions, sessions
	return p, err
}

func within(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
