package pgwire

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// A client that does not read keeps no session that has ended.
func TestSession_endsThoughItsClientDoesNotReadWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, unread := net.Pipe()
		defer unread.Close()
		s := newSession(NewServer(Config{}), client, 1)
		defer s.close()
		ended := make(chan struct{})
		go func() {
			s.endClient(errShutdown)
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(time.Hour):
			t.Error("the session waits for its client")
			client.Close()
			<-ended
		}
	})
}

// PostgreSQL reads no more while it writes, and the gateway neither. A client that is gone ends both.
func TestSession_endsThoughPostgreSQLDoesNotReadWhatItsClientLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, from := net.Pipe()
		to, backend := net.Pipe()
		defer backend.Close()
		s := newSession(NewServer(Config{}), client, 1)
		defer s.close()
		s.setServer(to)
		s.fromClient.conn, s.fromServer.conn = client, to
		ended := make(chan struct{})
		go func() {
			s.converse()
			close(ended)
		}()
		query := encode(nil, &pgproto3.Query{String: "SELECT repeat('x', 1000000000)"})
		if _, err := from.Write(query); err != nil {
			t.Fatal(err)
		}
		row := encode(nil, &pgproto3.DataRow{Values: [][]byte{[]byte("x")}})
		if _, err := backend.Write(row); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // both loops write now
		from.Close()
		select {
		case <-ended:
		case <-time.After(time.Hour):
			t.Error("the session waits for PostgreSQL to read")
			backend.Close()
			<-ended
		}
	})
}
