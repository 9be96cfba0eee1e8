package pgwire_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/freshet-io/freshet/gateway/pgwire"
)

// A client need not answer the request that PostgreSQL makes of it, and of some methods' messages nobody can tell whether one is due.
func TestServer_waitsForNoAnswerThatDoesNotCome(t *testing.T) {
	for name, tc := range map[string]struct {
		request pgproto3.BackendMessage
		timeout time.Duration
		end     func(*pgwire.Server) error
		code    string
	}{
		"the start's time is up": {&pgproto3.AuthenticationCleartextPassword{}, 50 * time.Millisecond, nil, "57014"},
		"the gateway ends": {&pgproto3.AuthenticationCleartextPassword{}, time.Hour,
			func(s *pgwire.Server) error { return s.Shutdown(t.Context()) }, "57P01"},
		"GSSAPI": {&pgproto3.AuthenticationGSS{}, time.Hour, nil, "28000"},
	} {
		t.Run(name, func(t *testing.T) {
			postgres, l := listen(t), listen(t)
			server := serve(t, l, pgwire.Config{BackendNetwork: "tcp", BackendAddress: postgres.Addr().String(), StartupTimeout: tc.timeout})
			conn := dialRaw(t, l.Addr().String())
			frontend := pgproto3.NewFrontend(conn, conn)
			frontend.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "x"}})
			if err := frontend.Flush(); err != nil {
				t.Fatal(err)
			}
			backendConn, err := postgres.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer backendConn.Close()
			backend := pgproto3.NewBackend(backendConn, backendConn)
			if _, err := backend.ReceiveStartupMessage(); err != nil {
				t.Fatal(err)
			}
			backend.Send(tc.request)
			if err := backend.Flush(); err != nil {
				t.Fatal(err)
			}
			m, err := frontend.Receive()
			if _, asked := m.(*pgproto3.AuthenticationCleartextPassword); asked {
				if tc.end != nil {
					if err := tc.end(server); err != nil {
						t.Errorf("end: %v", err)
					}
				}
				m, err = frontend.Receive()
			}
			if e, ok := m.(*pgproto3.ErrorResponse); err != nil || !ok || e.Code != tc.code {
				t.Errorf("%+v, %v; want an error of code %s", m, err, tc.code)
			}
		})
	}
}
