package pgwire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/jackc/pgx/v5/pgproto3"
)

const (
	headerSize = 5 // a message's type and length
	// baseBuffer is what an idle session keeps per direction, bulkBuffer what one takes while it moves much.
	baseBuffer = 16 << 10
	bulkBuffer = 128 << 10
	// maxHeld is the longest statement, or group of messages, that is looked at as a whole; longer ones are relayed as they come.
	maxHeld = 1 << 20
	// maxMessage is PostgreSQL's own limit.
	maxMessage = 1<<30 - 1
)

// errMalformed says that the peer's bytes are no messages.
var errMalformed = errors.New("malformed message")

// header returns the type and whole size of the message that begins b, which
// holds at least headerSize bytes. ok is false when no message can begin so.
func header(b []byte) (kind byte, size int, ok bool) {
	n := binary.BigEndian.Uint32(b[1:])
	return b[0], int(n) + 1, n >= 4 && n <= maxMessage
}

// reader reads whole messages from a connection. What it has read ahead stays
// in buf[r:w] for whoever reads the connection next.
type reader struct {
	conn net.Conn
	buf  []byte
	r, w int
}

// next returns the next message of at most limit bytes: its type and all its
// bytes, header included, valid until the next call.
func (m *reader) next(limit int) (kind byte, raw []byte, err error) {
	if err := m.fill(headerSize); err != nil {
		return 0, nil, err
	}
	kind, size, ok := header(m.buf[m.r:])
	if !ok || size > limit {
		return 0, nil, fmt.Errorf("read message of type %q and %d bytes: %w", kind, size, errMalformed)
	}
	if err := m.fill(size); err != nil {
		return 0, nil, err
	}
	raw = m.buf[m.r : m.r+size]
	m.r += size
	return kind, raw, nil
}

// fill reads until n bytes are there.
func (m *reader) fill(n int) error {
	for m.w-m.r < n {
		if m.r == m.w {
			m.r, m.w = 0, 0
		}
		if m.r+n > len(m.buf) {
			b := m.buf
			if n > len(b) {
				b = make([]byte, max(n, 2*len(b), baseBuffer))
			}
			m.w = copy(b, m.buf[m.r:m.w])
			m.buf, m.r = b, 0
		}
		k, err := m.conn.Read(m.buf[m.w:])
		m.w += k
		if err != nil && m.w-m.r < n {
			return fmt.Errorf("read from %v: %w", m.conn.RemoteAddr(), err)
		}
	}
	return nil
}

// encode appends messages to b.
func encode(b []byte, messages ...interface{ Encode([]byte) ([]byte, error) }) []byte {
	for _, m := range messages {
		// Encode fails on messages beyond 1 GB only, which nothing here builds.
		if out, err := m.Encode(b); err == nil {
			b = out
		}
	}
	return b
}

// errorResponse is err as the client gets it.
func errorResponse(severity string, err error) *pgproto3.ErrorResponse {
	var e *Error
	var relay *RelayError
	switch {
	case errors.As(err, &e):
	case errors.As(err, &relay):
		e = &Error{Code: relay.Code, Message: relay.Error(), Hint: relay.Hint}
		if e.Code == "" {
			e.Code = codeFeatureUnsupported
		}
	default:
		e = &Error{Code: codeInternal, Message: err.Error()}
	}
	code := e.Code
	if code == "" {
		code = codeInternal
	}
	return &pgproto3.ErrorResponse{Severity: severity, SeverityUnlocalized: severity, Code: code,
		Message: e.Message, Detail: e.Detail, Hint: e.Hint, Position: e.Position}
}

// fatal tells a client why its connection ends. The client may be gone already.
func fatal(conn net.Conn, err error) {
	_, _ = conn.Write(encode(nil, errorResponse("FATAL", err)))
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
