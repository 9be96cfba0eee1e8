package pgwire

import (
	"context"
	"io"
	"time"
)

// register notes the key by which clients cancel what c runs: PostgreSQL's own,
// so that a cancel request means the same to the gateway and to PostgreSQL.
func (s *Server) register(c *session, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.key = key
	s.keys[key] = c
}

// relayCancel cancels the session's analytical statement if one runs, and hands the request to
// PostgreSQL otherwise, also for a key that is not known here, and where PostgreSQL is asked something for
// the statement: it may wait for a lock.
func (s *Server) relayCancel(ctx context.Context, raw []byte) {
	s.cfg.Metrics.cancels.Inc()
	s.mu.Lock()
	c := s.keys[string(raw[8:])]
	s.mu.Unlock()
	if c != nil && c.cancelOffer() && c.asking.Load() == 0 {
		return
	}
	conn, err := s.dial(ctx)
	if err != nil {
		s.cfg.Log.Warn("cancel request lost: PostgreSQL cannot be reached", "error", err)
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := conn.Write(raw); err != nil {
		s.cfg.Log.Warn("cancel request lost", "error", err)
		return
	}
	// PostgreSQL closes the connection once it has handled the request; the client waits for that too.
	_, _ = io.Copy(io.Discard, conn)
}
