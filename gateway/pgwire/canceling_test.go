package pgwire

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// steady is an analytical route whose tables stay as they are.
type steady struct{ Analytics }

func (steady) Generation() uint64 { return 1 }

// noticing is a connection that tells when it is written to.
type noticing struct {
	net.Conn
	before func()
}

func (c noticing) Write(b []byte) (int, error) {
	c.before()
	return c.Conn.Write(b)
}

// A cancel request that comes when the session is about to ask PostgreSQL is relayed to it: it may wait for a lock then, and the client does not
// cancel twice.
func TestSession_losesNoCancelRequestBeforeItAsksPostgreSQL(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *session) error{
		"for a description": func(ctx context.Context, s *session) error {
			_, _, err := s.prepareOffer(ctx, &execution{sql: "SELECT 1", class: &class{}}, true, true)
			return err
		},
		"something else": func(ctx context.Context, s *session) error {
			_, err := s.ask(ctx, "SELECT 1")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			relayed := make(chan struct{})
			go func() { // PostgreSQL's postmaster
				if conn, err := l.Accept(); err == nil {
					conn.Close()
					close(relayed)
				}
			}()
			srv := NewServer(Config{BackendNetwork: "tcp", BackendAddress: l.Addr().String(), Analytics: steady{}})
			client, _ := net.Pipe()
			s := newSession(srv, client, 1)
			srv.register(s, "key")
			ctx, stop := context.WithCancelCause(t.Context())
			s.setStopOffer(stop)
			near, far := net.Pipe()
			go func() { // PostgreSQL's backend
				if _, err := far.Read(make([]byte, baseBuffer)); err == nil {
					_, _ = far.Write(encode(nil, &pgproto3.ReadyForQuery{TxStatus: 'I'}))
				}
				_, _ = io.Copy(io.Discard, far)
			}()
			s.setServer(noticing{near, func() { srv.relayCancel(t.Context(), []byte("12345678key")) }})
			s.fromServer.conn = s.server
			defer s.close()
			if err := ask(ctx, s); err != nil {
				t.Fatal(err)
			}
			select {
			case <-relayed:
			case <-time.After(10 * time.Second):
				t.Error("PostgreSQL was not told")
			}
		})
	}
}
