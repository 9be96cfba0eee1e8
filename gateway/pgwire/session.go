package pgwire

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// session is one client's connection and its own PostgreSQL backend.
//
// Two goroutines run it. clientLoop reads the client: it owns the fields down to
// fromServer. serverLoop reads PostgreSQL and writes to the client, except while
// clientLoop has acquired the backend: then clientLoop alone uses both connections.
type session struct {
	srv    *Server
	ctx    context.Context
	cancel context.CancelCauseFunc
	flow   flow

	fromClient    reader
	scan          int  // where in fromClient.buf the next message begins
	skip          int  // bytes left of a message that is relayed as it comes
	blind         bool // of messages that are no longer followed, or never were (replication)
	wantsColumnar bool // freshet.route may be columnar
	unit          unit
	statements    statements
	classes       classes
	block         block
	marks         uint64 // that portals were given
	info          SessionInfo
	validity      validity // of info
	timeouts      timeouts
	own           ownValues
	invalid       error // of the first of them that is invalid
	last          LastRun
	described     map[string]*description
	parses        uint64 // of the client's Parse messages so far
	expiries      uint64 // how often all descriptions expired so far

	fromServer reader
	skipServer int
	blindBack  bool

	encryption *tls.Config // the endpoint's; nil: it has no certificate

	parameters struct {
		sync.Mutex
		values  map[string]string
		changed bool
	}
	pinned  atomic.Pointer[pinnedTx]
	defines atomic.Bool // the open transaction may have changed definitions

	asking     atomic.Int32  // how many wait for PostgreSQL to answer the session itself, or are about to ask
	yield      atomic.Bool   // clientLoop asks for the backend
	yielded    chan struct{} // serverLoop hands it over
	resume     chan struct{}
	serverDone chan struct{}

	mu             sync.Mutex
	client, server net.Conn
	key            string
	stopOffer      context.CancelCauseFunc // of the running analytical statement
	ready          bool                    // its start is over
	closed         bool
}

// pinnedTx is the snapshot of a READ ONLY block.
type pinnedTx struct{ Tx }

func newSession(srv *Server, conn net.Conn, id uint64) *session {
	s := &session{srv: srv, client: conn, validity: validity{stale: true},
		yielded: make(chan struct{}), resume: make(chan struct{}), serverDone: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(srv.ctx)
	s.info.ID, s.info.ReadSince = id, true // an event trigger on login may have written
	s.parameters.values = map[string]string{}
	s.described = map[string]*description{}
	s.statements.init()
	return s
}

// serve runs the session to its end.
func (s *session) serve(encryption *tls.Config, full bool) {
	defer s.cancel(nil)
	defer s.close()
	s.encryption = encryption
	if !s.start(full) {
		return
	}
	s.srv.cfg.Metrics.sessions.Inc()
	defer s.srv.cfg.Metrics.sessions.Dec()
	s.converse()
}

// converse runs the session's two loops from its first ReadyForQuery to its end.
func (s *session) converse() {
	defer s.endTx()
	defer s.dropPortals()
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(s.serverDone)
		if err := s.serverLoop(); s.worthLogging(err) {
			s.srv.cfg.Log.Debug("session: PostgreSQL's side ended", "session", s.info.ID, "error", err)
		}
		s.hangUp()
	})
	err := s.clientLoop()
	if s.worthLogging(err) {
		s.srv.cfg.Log.Debug("session: the client's side ended", "session", s.info.ID, "error", err)
	}
	s.cancel(err)
	s.endClient(err)
	close(s.resume) // not before the client was told why: serverLoop hangs up
	wg.Wait()
}

// endClient closes PostgreSQL's side after the client's has ended. Where the client's connection broke with statements
// in flight, PostgreSQL sees exactly that: it finishes what it runs and finds the connection closed.
func (s *session) endClient(err error) {
	if e, ok := errors.AsType[*Error](err); ok && s.client.SetWriteDeadline(time.Now().Add(goodbye)) == nil {
		fatal(s.client, e)
	}
	if s.server != nil {
		s.server.Close()
	}
}

// finishFor ends PostgreSQL's input where the client's has ended, and waits while PostgreSQL answers what it was sent: the client may have
// closed its writing side alone, and still read. A client that is gone altogether is noticed in the ways in which PostgreSQL notices it: when
// it is written to, or by client_connection_check_interval.
func (s *session) finishFor(ended error) {
	if !errors.Is(ended, io.EOF) && !errors.Is(ended, io.ErrUnexpectedEOF) {
		return
	}
	// Any other error means that PostgreSQL has closed the connection already: its last answers may still be on their way.
	if errors.Is(closeWrite(s.server), errors.ErrUnsupported) {
		return
	}
	s.dropPortals()
	s.endTx()
	<-s.serverDone
}

// closeWrite closes a connection's writing side. With TLS, the end of its connection is what
// client_connection_check_interval looks for.
func closeWrite(conn net.Conn) error {
	var err error
	if t, ok := conn.(*tls.Conn); ok {
		err = t.CloseWrite()
		conn = t.NetConn()
	}
	c, ok := conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return errors.Join(err, c.CloseWrite())
}

// hangUp ends both connections when nothing is relayed from PostgreSQL to the client any more. Otherwise clientLoop might wait for ever to
// write to a PostgreSQL that does not read before its own output has been taken.
func (s *session) hangUp() {
	s.cancel(io.EOF)
	s.close()
}

func (s *session) worthLogging(err error) bool {
	return err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed)
}

func (s *session) setClient(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = conn
	if s.closed {
		conn.Close()
	}
}

func (s *session) setServer(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server = conn
	if s.closed {
		conn.Close()
	}
}

// close closes both connections. It may be called from anywhere, more than once.
func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.client.Close()
	if s.server != nil {
		s.server.Close()
	}
}

// shutdown makes the session end with 57P01: serverLoop, which owns the client's side while the
// session relays, tells the client as soon as it is between two messages. A session that starts may wait for either
// side.
func (s *session) shutdown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil {
		s.client.Close()
		return
	}
	if !s.ready {
		_ = s.client.SetReadDeadline(time.Unix(1, 0))
	}
	_ = s.server.SetReadDeadline(time.Unix(1, 0))
}

// cancelOffer cancels the analytical statement that runs, if any.
func (s *session) cancelOffer() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopOffer == nil {
		return false
	}
	s.stopOffer(errCanceled)
	return true
}

func (s *session) setStopOffer(f context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopOffer = f
}

// endTx releases the snapshot of a READ ONLY block, if one is pinned.
func (s *session) endTx() {
	if p := s.pinned.Swap(nil); p != nil {
		p.End()
	}
}
