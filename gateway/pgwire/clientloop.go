package pgwire

import (
	"bytes"
	"fmt"
	"unsafe"
)

// clientLoop relays what the client sends, and offers candidates to the
// analytical route on the way. It returns an *Error only while it holds the backend.
func (s *session) clientLoop() error {
	m := &s.fromClient
	ahead := m.buf[m.r:m.w] // what came before it here, the password's exchange, is let go
	m.buf = make([]byte, max(baseBuffer, len(ahead)))
	m.r, m.w, s.scan = 0, copy(m.buf, ahead), 0
	s.unit.reset()
	for {
		if err := s.scanClient(); err != nil {
			return err
		}
		if err := s.forward(); err != nil {
			return err
		}
		s.makeClientRoom()
		n, err := m.conn.Read(m.buf[m.w:])
		m.w += n
		if err != nil && n == 0 {
			s.finishFor(err)
			return fmt.Errorf("read from the client: %w", err)
		}
	}
}

// makeClientRoom is makeRoom for the client's buffer, whose marks move along.
func (s *session) makeClientRoom() {
	m := &s.fromClient
	left, from := m.w-m.r, m.r
	size := len(m.buf)
	switch {
	case left > size/2:
		size = 2 * left
	case m.w == size && left == 0 && size < bulkBuffer && s.skip > 0:
		size = bulkBuffer
	case left == 0 && s.skip == 0:
		size = baseBuffer
	}
	b := m.buf
	if size != len(b) {
		b = make([]byte, size)
	}
	copy(b, m.buf[m.r:m.w])
	m.buf, m.r, m.w = b, 0, left
	s.scan -= from
	if s.unit.held != nil {
		s.unit.held.from -= from
	}
}

// forward writes to PostgreSQL what was scanned and is not held.
func (s *session) forward() error {
	m := &s.fromClient
	end := s.scan
	if s.unit.held != nil {
		end = s.unit.held.from
	}
	if end == m.r {
		return nil
	}
	if _, err := s.server.Write(m.buf[m.r:end]); err != nil {
		// PostgreSQL may have said why it closes the connection: serverLoop passes that on and hangs up.
		<-s.serverDone
		return fmt.Errorf("write to PostgreSQL: %w", err)
	}
	m.r = end
	return nil
}

// scanClient follows the client's messages that are in the buffer.
func (s *session) scanClient() error {
	m := &s.fromClient
	for s.scan < m.w {
		switch {
		case s.blind:
			s.scan = m.w
			continue
		case s.skip > 0:
			n := min(s.skip, m.w-s.scan)
			s.skip -= n
			s.scan += n
			if s.unit.rejected {
				s.drop()
			}
			continue
		case m.w-s.scan < headerSize:
			return nil
		}
		kind, size, ok := header(m.buf[s.scan:])
		if !ok { // PostgreSQL will say so, and hang up
			s.release()
			s.blind = true
			continue
		}
		if s.unit.rejected && kind != 'S' && kind != 'X' {
			s.skip = size
			continue
		}
		whole := s.srv.cfg.Analytics != nil && looksInside(kind) && size <= maxHeld
		start := min(size, longStart)
		if whole {
			start = size
		}
		switch {
		case m.w-s.scan < start:
			return nil
		case whole:
			if err := s.message(kind, size); err != nil {
				return err
			}
		default:
			if err := s.streamed(kind, m.buf[s.scan+headerSize:s.scan+start]); err != nil {
				return err
			}
			s.skip = size
		}
	}
	if h := s.unit.held; h != nil && s.scan-h.from > maxHeld {
		return s.letGo()
	}
	return nil
}

// looksInside reports whether a message of this kind is looked at as a whole.
func looksInside(kind byte) bool {
	switch kind {
	case 'Q', 'P', 'B', 'D', 'E', 'C', 'H', 'S':
		return true
	}
	return false
}

// endColumnar ends a session that sends, within a block on a columnar snapshot, what cannot be looked at.
func (s *session) endColumnar() error {
	if err := s.acquire(); err != nil {
		return err
	}
	return &Error{Code: codeFeatureUnsupported, Message: "cannot look at a message of this length, or within a pipeline, in a transaction block on a columnar snapshot",
		Hint: "Set freshet.route = 'oltp' before the transaction block."}
}

// pass lets the message at the scan mark go to PostgreSQL.
func (s *session) pass(kind byte, size int) {
	s.scan += size
	switch kind {
	case 'Q':
		s.sentQuery(kind)
	case 'S':
		s.flow.sent(kind)
	}
}

// sentQuery tells the flow of a Query or FunctionCall, perhaps within a unit of the extended protocol.
func (s *session) sentQuery(kind byte) {
	if s.unit.active() {
		s.flow.mixed()
		return
	}
	s.flow.sent(kind)
}

// drop takes the bytes up to the scan mark out of what is relayed. All before them was forwarded.
func (s *session) drop() { s.fromClient.r = s.scan }

// message handles a whole message at the scan mark.
func (s *session) message(kind byte, size int) error {
	body := s.fromClient.buf[s.scan+headerSize : s.scan+size]
	switch h := s.unit.held; {
	case h == nil, kind == 'S' && h.executed:
	case h.takes(kind, body):
		s.scan += size
		return nil
	default: // the unit has more than this execution
		if err := s.attendWithin(); err != nil {
			return err
		}
	}
	if s.unit.rejected {
		return s.skipRejected(kind, size)
	}
	if s.block.doubted && kind != 'S' && kind != 'H' {
		if dealtWith, err := s.confirmPortals(kind, size); dealtWith || err != nil {
			return err
		}
	}
	switch kind {
	case 'Q':
		return s.query(body, size)
	case 'P':
		return s.parse(body, size)
	case 'B':
		return s.bind(body, size)
	case 'D', 'E', 'C', 'H':
		return s.portalMessage(kind, body, size)
	}
	return s.sync(size)
}

// query handles a simple Query.
func (s *session) query(body []byte, size int) error {
	text, ok := cString(&body)
	if !ok || len(body) > 0 {
		if s.block.columnar {
			return s.endColumnar()
		}
		s.noteRelayed(&unknownClass)
		s.pass('Q', size)
		return nil
	}
	if s.block.columnar && s.unit.active() {
		if dealtWith, err := s.settleBefore('Q', size); dealtWith || err != nil {
			return err
		}
	}
	s.dropPortal("")
	c := s.classify(unsafeString(text))
	if s.unit.active() {
		s.noteRelayed(&unknownClass)
		s.pass('Q', size)
		return nil
	}
	s.statements.settle(&s.flow)
	s.noteQuiet()
	if c.plain && !s.block.columnar && !s.wantsColumnar && !s.ofCursors(c) {
		s.noteRelayed(c)
		s.pass('Q', size)
		return nil
	}
	return s.attend(&execution{sql: string(text), class: c, size: size})
}

// cString takes a zero-terminated string from b.
func cString(b *[]byte) ([]byte, bool) {
	i := bytes.IndexByte(*b, 0)
	if i < 0 {
		return nil, false
	}
	s := (*b)[:i]
	*b = (*b)[i+1:]
	return s, true
}

// unsafeString views b as a string for lookups that keep nothing of it.
func unsafeString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
