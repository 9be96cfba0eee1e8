package cockroach_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/freshet-io/freshet/operator/internal/cockroach"
	"github.com/freshet-io/freshet/operator/internal/pki"
)

// server speaks PostgreSQL's protocol over TLS for one connection, with whom a certificate of its authority calls root.
// It knows no SQL: it has answers.
type server struct {
	listener net.Listener
	authority,
	certificate pki.Certificate
	answers map[string][][]string
	refuse  string

	said chan []string // what the connection said
	who  chan string   // by its certificate
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{said: make(chan []string, 1), who: make(chan string, 1)}
	var err error
	if s.authority, err = pki.NewAuthority("test", time.Now()); err != nil {
		t.Fatal(err)
	}
	if s.certificate, err = s.authority.Node(time.Now(), "node", "localhost"); err != nil {
		t.Fatal(err)
	}
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.serve() }()
	t.Cleanup(func() {
		_ = s.listener.Close()
		if err := <-ended; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	return s
}

// root is how a client reaches the server by a certificate.
func (s *server) root(t *testing.T, certificate pki.Certificate) cockroach.Root {
	t.Helper()
	port := s.listener.Addr().(*net.TCPAddr).Port
	return cockroach.Root{Host: "localhost", Port: uint16(port), CA: s.authority.Cert, Cert: certificate.Cert, Key: certificate.Key}
}

func (s *server) serve() error {
	conn, err := s.listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	plain := pgproto3.NewBackend(conn, conn)
	if _, err := plain.ReceiveStartupMessage(); err != nil { // the request for TLS
		return err
	}
	if _, err := conn.Write([]byte("S")); err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(s.certificate.Cert, s.certificate.Key)
	if err != nil {
		return err
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(s.authority.Cert)
	secure := tls.Server(conn, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert})
	if err := secure.Handshake(); err != nil {
		s.who <- "nobody: " + err.Error()
		return nil
	}
	s.who <- secure.ConnectionState().PeerCertificates[0].Subject.CommonName
	return s.talk(pgproto3.NewBackend(secure, secure))
}

func (s *server) talk(b *pgproto3.Backend) error {
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return err
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	b.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	var said []string
	defer func() { s.said <- said }()
	for {
		if err := b.Flush(); err != nil {
			return err
		}
		message, err := b.Receive()
		if err != nil {
			return err
		}
		query, ok := message.(*pgproto3.Query)
		if !ok {
			return nil // it says goodbye
		}
		said = append(said, query.String)
		s.answer(b, query.String)
	}
}

func (s *server) answer(b *pgproto3.Backend, sql string) {
	if sql == s.refuse {
		b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "42501", Message: "no"})
	} else {
		for i, row := range s.answers[sql] {
			if i == 0 {
				b.Send(&pgproto3.RowDescription{Fields: make([]pgproto3.FieldDescription, len(row))})
			}
			var values [][]byte
			for _, v := range row {
				values = append(values, []byte(v))
			}
			b.Send(&pgproto3.DataRow{Values: values})
		}
		b.Send(&pgproto3.CommandComplete{CommandTag: []byte("OK")})
	}
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
}

func TestServers_connectAsRootByCertificate(t *testing.T) {
	s := newServer(t)
	s.answers = map[string][][]string{changefeeds: {{"7", "kafka://k?topic_prefix=freshet_x_0."}}}
	client, err := s.authority.Client(time.Now(), "root")
	if err != nil {
		t.Fatal(err)
	}
	if err := (cockroach.Servers{}).EndChangefeeds(t.Context(), s.root(t, client), "freshet_x_", 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{changefeeds, "CANCEL JOB 7"}, <-s.said); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
	if who := <-s.who; who != "root" {
		t.Errorf("the client is %s", who)
	}
}

func TestServers_askOlderVersionsForNodesToo(t *testing.T) {
	s := newServer(t)
	s.refuse = internals // which they do not know
	client, err := s.authority.Client(time.Now(), "root")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (cockroach.Servers{}).Nodes(t.Context(), s.root(t, client)); err != nil {
		t.Fatal(err)
	}
	if said := <-s.said; len(said) != 2 || said[0] != internals {
		t.Errorf("statements %q", said)
	}
}

func TestServers_tellWhatARefusalSays(t *testing.T) {
	s := newServer(t)
	s.refuse = administrators
	client, err := s.authority.Client(time.Now(), "root")
	if err != nil {
		t.Fatal(err)
	}
	err = cockroach.Servers{}.Prepare(t.Context(), s.root(t, client), target)
	if refusal, ok := errors.AsType[*pgconn.PgError](err); !ok || refusal.Code != "42501" {
		t.Errorf("error %v, want the server's", err)
	}
}

func TestServers_trustNoOtherAuthority(t *testing.T) {
	s, other := newServer(t), newServer(t)
	client, err := s.authority.Client(time.Now(), "root")
	if err != nil {
		t.Fatal(err)
	}
	root := s.root(t, client)
	root.CA = other.authority.Cert
	if err := (cockroach.Servers{}).Prepare(t.Context(), root, target); err == nil {
		t.Error("a server of another authority was trusted")
	}
	if who := <-s.who; !strings.HasPrefix(who, "nobody") {
		t.Errorf("the client is %s", who)
	}
}
