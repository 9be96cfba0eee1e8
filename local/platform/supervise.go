package platform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/freshet-io/freshet/local/process"
)

// The names of the servers.
const (
	postgresName = "postgresql"
	engineName   = "engine"
	brokerName   = "kafka"
	connectName  = "connect"
	gatewayName  = "gateway"
)

// A server that ends is started again at once; one that keeps ending waits longer and longer.
const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 10 * time.Second
	healthyAfter = 30 * time.Second // of running, after which the backoff starts anew
)

// saveAgain is after what time a state file that could not be written is tried again.
const saveAgain = time.Second

// servers returns the names of the platform's servers, those that others need first.
func (s *supervisor) servers() []string {
	if s.cfg.CDC == Kafka {
		return []string{postgresName, engineName, brokerName, connectName, gatewayName}
	}
	return []string{postgresName, engineName, gatewayName}
}

func (s *supervisor) server(name string) server {
	switch name {
	case postgresName:
		return s.postgres
	case engineName:
		return s.engine
	case brokerName:
		return s.broker
	case connectName:
		return s.connect
	default:
		return s.gateway
	}
}

// address returns what to reach a server at.
func (s *supervisor) address(name string) string {
	switch name {
	case postgresName:
		return s.postgres.Addr()
	case engineName:
		return s.engine.TCPAddr()
	case brokerName:
		return s.broker.Address()
	case connectName:
		return strings.TrimPrefix(s.connect.URL(), "http://")
	default:
		return s.gateway.info.Listen
	}
}

// startServer starts a server and records it in the state file before anybody may need to find it there.
func (s *supervisor) startServer(ctx context.Context, name string) error {
	return errors.Join(s.launch(ctx, name), s.save())
}

// launch starts a server and records it.
func (s *supervisor) launch(ctx context.Context, name string) error {
	ctx, cancel := s.limitStart(ctx, name)
	defer cancel()
	err := s.server(name).Start(ctx)
	s.record(name, err)
	s.countStart(name)
	return err
}

// limitStart ends with the time that a server may take to start. PostgreSQL's is not bounded: after a crash it replays its log, which would begin
// anew if it were killed for that, and where it cannot start it ends by itself.
func (s *supervisor) limitStart(ctx context.Context, name string) (context.Context, context.CancelFunc) {
	switch name {
	case postgresName:
		return context.WithCancel(ctx)
	case brokerName, connectName:
		return context.WithTimeout(ctx, kafkaStartLimit)
	default:
		return context.WithTimeout(ctx, s.startLimit)
	}
}

// record notes that a server is up, or why it is not.
func (s *supervisor) record(name string, problem error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.component(name)
	c.Up, c.Since = problem == nil, time.Now()
	c.Address, c.LogFile, c.Process = s.address(name), s.server(name).LogFile(), s.server(name).Identity()
	if problem != nil {
		c.Problem = problem.Error()
	}
}

// countStart counts that a server was started, whether or not it came up: one that never does has been restarted all the same.
func (s *supervisor) countStart(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.component(name).Restarts++
}

// component returns a server's state, which is new if there is none yet. It needs mu, for as long as the caller uses it.
func (s *supervisor) component(name string) *ComponentState {
	for i := range s.state.Components {
		if s.state.Components[i].Name == name {
			return &s.state.Components[i]
		}
	}
	s.state.Components = append(s.state.Components, ComponentState{Name: name, Restarts: -1}) // its first start is none
	return &s.state.Components[len(s.state.Components)-1]
}

// supervise restarts servers that end, until ctx ends.
func (s *supervisor) supervise(ctx context.Context) {
	var wg sync.WaitGroup
	for _, name := range s.servers() {
		wg.Go(func() { s.keep(ctx, name) })
	}
	wg.Wait()
}

// keep keeps one server running. That the state file cannot be written, as on a full disk, keeps no server from running.
func (s *supervisor) keep(ctx context.Context, name string) {
	backoff := firstBackoff
	started := time.Now()
	var unsaved <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-unsaved:
			unsaved = s.trySave()
			continue
		case <-s.server(name).Done():
		}
		if time.Since(started) > healthyAfter {
			backoff = firstBackoff
		}
		s.cfg.Logger.Error("server ended", "server", name, "log", s.server(name).LogFile(), "restart_in", backoff)
		s.record(name, errors.New("ended by itself"))
		s.trySave()
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(backoff):
			}
			backoff = min(2*backoff, lastBackoff)
			started = time.Now()
			err := s.launch(ctx, name)
			unsaved = s.trySave()
			if err == nil {
				s.cfg.Logger.Info("server restarted", "server", name)
				break
			}
			if ctx.Err() == nil {
				s.cfg.Logger.Error("restart server", "server", name, "error", err, "again_in", backoff)
			}
		}
	}
}

// trySave writes the state file; where it cannot, it returns when to try again.
func (s *supervisor) trySave() (again <-chan time.Time) {
	if err := s.save(); err != nil {
		s.cfg.Logger.Error("save state", "error", err, "again_in", saveAgain)
		return time.After(saveAgain)
	}
	return nil
}

// endLeftovers ends the servers of a supervisor that was killed. They get a signal from the kernel at its death; this waits
// for them, and ends those that did not obey. Only the very processes that were recorded are touched.
func (s *supervisor) endLeftovers() error {
	state, err := readState(s.cfg.Dir)
	if err != nil {
		// A state file that cannot be read names nobody: the servers' own locks guard their data.
		s.cfg.Logger.Error("ignore the state of an earlier supervisor", "error", err)
		return nil
	}
	for _, c := range state.Components {
		if !c.Process.Alive() {
			continue
		}
		s.cfg.Logger.Info("end a server that a killed supervisor left", "server", c.Name, "pid", c.Process.PID)
		if c.Process.Wait(2*time.Second) == nil {
			continue
		}
		tree := append([]process.Identity{c.Process}, process.Descendants(c.Process.PID)...)
		for _, p := range tree {
			if err := p.Kill(); err != nil {
				return fmt.Errorf("end %s, left by an earlier supervisor: %w", c.Name, err)
			}
		}
	}
	return nil
}

// engineMemory returns the engine's cap: half of the machine's memory unless configured.
func (s *supervisor) engineMemory() int64 {
	if s.cfg.EngineMemory > 0 {
		return s.cfg.EngineMemory
	}
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err == nil {
				return kib << 10 / 2
			}
		}
	}
	return 0
}
