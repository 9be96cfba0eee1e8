package pgwire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sys/unix"

	"github.com/freshet-io/freshet/connectors/dial"
)

// Config is what a [Server] needs.
type Config struct {
	// BackendNetwork ("tcp" or "unix") and BackendAddress are where PostgreSQL listens.
	BackendNetwork, BackendAddress string
	// BackendTLS encrypts the connections to PostgreSQL; nil leaves them plain. A client certificate in it is not
	// shown: PostgreSQL would take every client for whom it names.
	BackendTLS *tls.Config
	// BackendTLSOptional uses plain connections where PostgreSQL refuses TLS, as sslmode=prefer does.
	BackendTLSOptional bool
	// Verifier returns what PostgreSQL stores of a role's password, empty for no such role. The gateway needs it to log
	// clients in by SCRAM that use TLS themselves while BackendTLS is set. Where it is nil or fails, they must connect
	// with channel_binding=disable.
	Verifier func(ctx context.Context, role string) (string, error)
	// AllowPasswordless lets in whom PostgreSQL lets in without a password, though it has judged the gateway's address
	// and operating system user instead of the client's. It is for networks without strangers. When false, such a
	// client is let in only where it comes from a loopback address and the gateway reaches PostgreSQL by one.
	AllowPasswordless bool
	// TLS is for clients that ask for it; see [LoadTLS]. When nil, a listener on a loopback address refuses TLS,
	// and any other one offers it with a self-signed certificate.
	TLS *tls.Config
	// Analytics is the analytical route; nil relays everything.
	Analytics Analytics
	// Defaults are the settings of a session that sets none; [DefaultSettings] when nil.
	Defaults *Settings
	// DefaultsOf, when set, makes them those of a user, as it authenticated. It is asked for every statement that is
	// offered, so that a change reaches running sessions.
	DefaultsOf func(user string, defaults Settings) Settings
	// Defined, when set, is called when a transaction with a statement that changes definitions has ended. It must not
	// block, and is not told of those within functions or among several statements of one message.
	Defined func()
	// DescriptionAge bounds how long PostgreSQL's description of a statement is reused in a session; 30 s when zero.
	DescriptionAge time.Duration
	// SettingsAge bounds how long what PostgreSQL said of a session's settings is relied on where nothing that the
	// session sent may have changed them: a reload of its configuration may. One second when zero.
	SettingsAge time.Duration
	// StartupTimeout bounds a connection's time to authenticate; 60 s when zero, as PostgreSQL's.
	StartupTimeout time.Duration
	// MaxConnections bounds the client connections; 10,000 when zero.
	MaxConnections int
	// Now is the clock; time.Now when nil.
	Now     func() time.Time
	Log     *slog.Logger // discards when nil
	Metrics *Metrics     // none when nil
}

func (c Config) withDefaults() Config {
	if c.Defaults == nil {
		defaults := DefaultSettings()
		c.Defaults = &defaults
	}
	if c.DescriptionAge == 0 {
		c.DescriptionAge = 30 * time.Second
	}
	if c.SettingsAge == 0 {
		c.SettingsAge = time.Second
	}
	if c.StartupTimeout == 0 {
		c.StartupTimeout = time.Minute
	}
	if c.MaxConnections == 0 {
		c.MaxConnections = 10_000
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	return c
}

// Server is the SQL endpoint. Its methods are safe for concurrent use.
type Server struct {
	cfg    Config
	ctx    context.Context // ends when the server shuts down
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup // one per connection

	mu        sync.Mutex
	closed    bool
	lastID    uint64
	left      chan struct{} // gets a value when a connection has ended
	listeners map[net.Listener]struct{}
	conns     map[*session]struct{}
	keys      map[string]*session // by the bytes of BackendKeyData
}

// errShutdown is the cause of a session that the server ends.
var errShutdown = &Error{Code: codeAdminShutdown, Message: "terminating connection due to administrator command", fatal: true}

// NewServer returns a server that does not listen yet.
func NewServer(cfg Config) *Server {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Server{cfg: cfg.withDefaults(), ctx: ctx, cancel: cancel,
		left: make(chan struct{}, 1), listeners: map[net.Listener]struct{}{}, conns: map[*session]struct{}{}, keys: map[string]*session{}}
}

// Serve accepts connections until the listener fails or Shutdown is called,
// which makes it return nil. It waits where the machine is short of files or memory for one more.
func (s *Server) Serve(l net.Listener) error {
	encryption := s.cfg.TLS
	if encryption == nil && needsTLS(l.Addr()) {
		var err error
		if encryption, err = SelfSignedTLS(s.cfg.Now()); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errors.Join(l.Close())
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	pause := &backoff.ExponentialBackOff{InitialInterval: 5 * time.Millisecond, Multiplier: 2, MaxInterval: time.Second}
	pause.Reset()
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			pause.Reset()
			s.start(conn, encryption)
		case isShortage(err):
			s.cfg.Log.Warn("a connection could not be accepted yet; raise the limit of open files if this goes on", "error", err)
			select {
			case <-time.After(pause.NextBackOff()):
			case <-s.ctx.Done():
			}
		default:
			return s.unlisten(l, err)
		}
	}
}

// isShortage reports whether accepting failed for want of what other connections give back when they end.
func isShortage(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENOMEM)
}

// unlisten forgets a listener whose Accept failed, which it did because of Shutdown if that was called.
func (s *Server) unlisten(l net.Listener, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
	if s.closed {
		return nil
	}
	return fmt.Errorf("accept on %v: %w", l.Addr(), err)
}

func (s *Server) start(conn net.Conn, encryption *tls.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	c := newSession(s, conn, s.lastID)
	if s.closed {
		conn.Close()
		return
	}
	full := len(s.conns) >= s.cfg.MaxConnections
	s.conns[c] = struct{}{}
	s.wg.Go(func() {
		defer s.forget(c)
		c.serve(encryption, full)
	})
}

func (s *Server) forget(c *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.keys[c.key] == c {
		delete(s.keys, c.key)
	}
	select {
	case s.left <- struct{}{}:
	default:
	}
}

// Drain returns when ctx ends, or as soon as no client is connected, but not before settle has passed: clients are
// still served, for those who send them may learn late that this server is leaving.
func (s *Server) Drain(ctx context.Context, settle time.Duration) {
	timer := time.NewTimer(settle)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return
	}
	for s.connected() > 0 {
		select {
		case <-s.left:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Server) connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Shutdown stops listening, ends every session with 57P01 and waits for them until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	for l := range s.listeners {
		l.Close()
	}
	s.cancel(errShutdown)
	for c := range s.conns {
		c.shutdown()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		s.mu.Lock()
		for c := range s.conns {
			c.close()
		}
		s.mu.Unlock()
		<-done
		return fmt.Errorf("shut down the SQL endpoint: sessions were cut off: %w", ctx.Err())
	}
}

// dial connects to PostgreSQL, with TLS if the configuration says so.
func (s *Server) dial(ctx context.Context) (net.Conn, error) {
	conn, err := dial.Dialer(dial.ConnectTimeout).DialContext(ctx, s.cfg.BackendNetwork, s.cfg.BackendAddress)
	if err != nil {
		return nil, err
	}
	if s.cfg.BackendTLS == nil {
		return conn, nil
	}
	t, err := startBackendTLS(ctx, conn, s.cfg.BackendTLS, s.cfg.BackendTLSOptional)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return t, nil
}
