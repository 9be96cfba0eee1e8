package postgres

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// replConn is a connection in copy-both mode. One goroutine receives; any may send a status.
type replConn struct {
	net      net.Conn
	frontend *pgproto3.Frontend
	log      cdc.Log // the server's

	mu  sync.Mutex // guards writes
	out [39]byte
}

// readBuffer is how much of the stream one read takes at most.
const readBuffer = 64 << 10

// startReplication begins to stream the slot for a replica that has a position, from another one that is not after it.
func (s *Source) startReplication(ctx context.Context, has, from uint64) (*replConn, error) {
	var raw *socket
	conn, err := s.connectReplication(ctx, func(cfg *pgconn.Config) {
		cfg.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
			return pgproto3.NewFrontend(bufio.NewReaderSize(r, readBuffer), w) // fewer system calls under load
		}
		dial := cfg.DialFunc
		cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			raw = &socket{Conn: conn}
			return raw, nil
		}
	})
	if err != nil {
		return nil, err
	}
	log, err := s.followTimeline(ctx, conn, has)
	if err != nil {
		s.closeQuietly(conn)
		return nil, fmt.Errorf("start replication: %w", err)
	}
	command := fmt.Sprintf("START_REPLICATION SLOT %s LOGICAL %X/%X (proto_version '1', publication_names %s, binary 'true')",
		ident(s.cfg.Slot), from>>32, uint32(from), literal(ident(s.cfg.Publication)))
	if err := beginCopyBoth(ctx, conn, command); err != nil {
		s.closeQuietly(conn)
		return nil, fmt.Errorf("start replication: %w", err)
	}
	hijacked, err := conn.Hijack()
	if err != nil {
		s.closeQuietly(conn)
		return nil, fmt.Errorf("start replication: %w", err)
	}
	if err := raw.gather(); err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("start replication: %w", err)
	}
	return &replConn{net: hijacked.Conn, frontend: hijacked.Frontend, log: log}, nil
}

func literal(s string) string {
	out := []byte{'\''}
	for i := range len(s) {
		if s[i] == '\'' {
			out = append(out, '\'')
		}
		out = append(out, s[i])
	}
	return string(append(out, '\''))
}

func beginCopyBoth(ctx context.Context, conn *pgconn.PgConn, command string) error {
	conn.Frontend().Send(&pgproto3.Query{String: command})
	if err := conn.Frontend().Flush(); err != nil {
		return err
	}
	for {
		msg, err := conn.ReceiveMessage(ctx)
		if err != nil {
			return err
		}
		switch msg := msg.(type) {
		case *pgproto3.CopyBothResponse:
			return nil
		case *pgproto3.ErrorResponse:
			return pgconn.ErrorResponseToPgError(msg)
		case *pgproto3.NoticeResponse, *pgproto3.ParameterStatus:
		default:
			return fmt.Errorf("unexpected message %T", msg)
		}
	}
}

var errStreamEnded = errors.New("the server ended the stream")

// receive returns the next replication message, valid until the next call.
func (c *replConn) receive() ([]byte, error) {
	for {
		msg, err := c.frontend.Receive()
		if err != nil {
			return nil, err
		}
		switch msg := msg.(type) {
		case *pgproto3.CopyData:
			return msg.Data, nil
		case *pgproto3.ErrorResponse:
			return nil, pgconn.ErrorResponseToPgError(msg)
		case *pgproto3.CopyDone, *pgproto3.CommandComplete:
			return nil, errStreamEnded
		case *pgproto3.NoticeResponse, *pgproto3.ParameterStatus:
		default:
			return nil, fmt.Errorf("unexpected message %T", msg)
		}
	}
}

// status reports a confirmed position, zero for none, also as the written one: the server sends a keepalive on
// its own whenever it has caught up and is past what we say we wrote. reply asks for one at once.
func (c *replConn) status(confirmed uint64, now time.Time, reply bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.out[:]
	b[0] = 'd'
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-1))
	b[5] = 'r'
	for _, at := range []int{6, 14, 22} { // written, flushed, applied
		binary.BigEndian.PutUint64(b[at:], confirmed)
	}
	binary.BigEndian.PutUint64(b[30:], uint64(now.Sub(pgEpoch).Microseconds()))
	b[38] = 0
	if reply {
		b[38] = 1
	}
	if _, err := c.net.Write(b); err != nil {
		return fmt.Errorf("send status: %w", err)
	}
	return nil
}

// interrupt makes receive and status fail from now on.
func (c *replConn) interrupt() { _ = c.net.SetDeadline(time.Unix(1, 0)) }

// close ends the connection; the server frees the slot.
func (c *replConn) close() { _ = c.net.Close() }
