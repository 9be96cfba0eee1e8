package pgwire

import (
	"bytes"
	"fmt"
	"net"
	"time"
)

// serverLoop relays what PostgreSQL sends: one read, a glance at the headers, one write.
func (s *session) serverLoop() error {
	m := &s.fromServer
	if m.buf == nil {
		m.buf = make([]byte, baseBuffer)
	}
	fresh := m.w > m.r // read ahead during the start
	for {
		if !fresh {
			if s.yield.Load() && s.betweenMessages() {
				if err := s.handOver(); err != nil {
					return err
				}
				fresh = m.w > m.r
				continue
			}
			s.makeRoom(m)
			n, err := m.conn.Read(m.buf[m.w:])
			m.w += n
			if err != nil && n == 0 {
				if !isTimeout(err) {
					return fmt.Errorf("read from PostgreSQL: %w", err)
				}
				if err := s.interrupted(); err != nil {
					return err
				}
				continue
			}
		}
		fresh = false
		end := s.scanServer(m.buf[:m.w], m.r)
		if end > m.r {
			if _, err := s.client.Write(m.buf[m.r:end]); err != nil {
				return fmt.Errorf("write to the client: %w", err)
			}
			m.r = end
		}
	}
}

// makeRoom moves what is left to the front, grows the buffer while much is coming and gives a large one back.
func (s *session) makeRoom(m *reader) {
	left := m.w - m.r
	size := len(m.buf)
	switch {
	case left >= size/2: // a message that is looked at as a whole, or the reads fill the buffer
		size = 2 * max(left, baseBuffer)
	case m.w == len(m.buf) && len(m.buf) < bulkBuffer:
		size = bulkBuffer
	case left < baseBuffer/2 && m.w < baseBuffer/2 && s.skipServer == 0:
		size = baseBuffer
	}
	b := m.buf
	if size != len(b) {
		b = make([]byte, size)
	}
	if m.r > 0 || size != len(m.buf) {
		copy(b, m.buf[m.r:m.w])
	}
	m.buf, m.r, m.w = b, 0, left
}

func (s *session) betweenMessages() bool {
	return s.skipServer == 0 && s.fromServer.r == s.fromServer.w
}

// interrupted handles a read deadline: clientLoop asks for the backend, or the server shuts down.
func (s *session) interrupted() error {
	if s.srv.ctx.Err() != nil {
		if s.betweenMessages() && !s.blindBack {
			fatal(s.client, errShutdown)
		}
		return errShutdown
	}
	if !s.betweenMessages() || !s.yield.Load() {
		return s.clearDeadline()
	}
	return nil
}

// clearDeadline undoes the deadline that wakes serverLoop, unless the server shuts down, which keeps it.
func (s *session) clearDeadline() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.srv.ctx.Err() != nil {
		return errShutdown
	}
	return s.server.SetReadDeadline(time.Time{})
}

// handOver gives the backend to clientLoop until it is released.
func (s *session) handOver() error {
	if err := s.clearDeadline(); err != nil {
		return s.interrupted()
	}
	s.yielded <- struct{}{}
	if _, ok := <-s.resume; !ok {
		return net.ErrClosed
	}
	return nil
}

// scanServer follows the messages in buf from r on, and returns where to relay up to.
func (s *session) scanServer(buf []byte, r int) int {
	for r < len(buf) {
		switch {
		case s.blindBack:
			return len(buf)
		case s.skipServer > 0:
			n := min(s.skipServer, len(buf)-r)
			s.skipServer -= n
			r += n
			continue
		case len(buf)-r < headerSize:
			return r
		}
		kind, size, ok := header(buf[r:])
		if !ok || kind == 'W' || kind == 'Z' && size != headerSize+1 { // not PostgreSQL's protocol any more, or a replication stream
			s.blindBack = true
			continue
		}
		whole := len(buf)-r >= size
		switch kind {
		case 'Z':
			if !whole {
				return r
			}
			s.serverReady(txStatus(buf[r+headerSize]))
		case 'S':
			if !whole && size <= maxHeld {
				return r
			}
			if whole {
				s.noteParameter(buf[r+headerSize : r+size])
			}
		case 'G':
			s.flow.copyInBegan()
		case 'E':
			s.flow.failed()
		}
		s.skipServer = size
	}
	return r
}

func (s *session) serverReady(status txStatus) {
	if status == txIdle && s.pinned.Load() != nil {
		s.endTx()
	}
	s.flow.ready(status)
	if status == txIdle && s.defines.Load() && s.srv.cfg.Defined != nil {
		if _, quiet, _ := s.flow.quiet(); quiet {
			s.defines.Store(false)
			s.srv.cfg.Defined()
		}
	}
}

// noteParameter keeps a ParameterStatus.
func (s *session) noteParameter(body []byte) {
	name, rest, ok := bytes.Cut(body, []byte{0})
	if !ok {
		return
	}
	value, _, _ := bytes.Cut(rest, []byte{0})
	s.parameters.Lock()
	defer s.parameters.Unlock()
	s.parameters.values[string(name)] = string(value)
	s.parameters.changed = true
}

// parameter returns the last reported value of a parameter.
func (s *session) parameter(name string) string {
	s.parameters.Lock()
	defer s.parameters.Unlock()
	return s.parameters.values[name]
}

// parametersChanged reports, once, that PostgreSQL reported a new value.
func (s *session) parametersChanged() bool {
	s.parameters.Lock()
	defer s.parameters.Unlock()
	changed := s.parameters.changed
	s.parameters.changed = false
	return changed
}
