package pgwire_test

import (
	"crypto/tls"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"

	"github.com/freshet-io/freshet/gateway/pgwire"
)

// short is a listener of a process that has no file left for its first connections.
type short struct {
	net.Listener
	left atomic.Int32
}

func (s *short) Accept() (net.Conn, error) {
	if s.left.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: unix.EMFILE}
	}
	return s.Listener.Accept()
}

func TestServer_goesOnOnceThereAreFilesAgain(t *testing.T) {
	l := &short{Listener: listen(t)}
	l.left.Store(3)
	serve(t, l, pgwire.Config{})
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}); err != nil { // SSLRequest
		t.Fatal(err)
	}
	answer := make([]byte, 1)
	if _, err := conn.Read(answer); err != nil || answer[0] != 'N' {
		t.Errorf("%q, %v; want N, for TLS is off", answer, err)
	}
}

// A PostgreSQL that accepts connections, as the kernel does for a stopped one, may never answer.
func TestServer_waitsNoLongerForTLSThanForALogin(t *testing.T) {
	for name, tc := range map[string]struct {
		timeout time.Duration
		end     func(*pgwire.Server) error
		code    string
	}{
		"until the start's time is up": {50 * time.Millisecond, func(*pgwire.Server) error { return nil }, "57P03"},
		"until the gateway ends":       {time.Hour, func(s *pgwire.Server) error { return s.Shutdown(t.Context()) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			silent, l := listen(t), listen(t)
			server := serve(t, l, pgwire.Config{
				BackendNetwork: "tcp", BackendAddress: silent.Addr().String(), BackendTLS: &tls.Config{InsecureSkipVerify: true}, StartupTimeout: tc.timeout,
			})
			failed := make(chan error, 1)
			go func() {
				_, err := pgconn.Connect(t.Context(), "postgres://x:x@"+l.Addr().String()+"/x?sslmode=disable")
				failed <- err
			}()
			conn, err := silent.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := tc.end(server); err != nil {
				t.Errorf("end: %v", err)
			}
			if err := <-failed; tc.code != "" {
				wantCode(t, err, tc.code)
			} else if err == nil {
				t.Error("connected to nothing")
			}
		})
	}
}
