package database

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/freshet-io/freshet/operator/internal/lack"
)

// silence lets a client in as PostgreSQL does, and answers nothing after that.
func silence(t *testing.T, l net.Listener) {
	conn, err := l.Accept()
	if err != nil {
		return // nobody came
	}
	defer conn.Close()
	server := pgproto3.NewBackend(conn, conn)
	if _, err := server.ReceiveStartupMessage(); err != nil {
		t.Error(err)
	}
	server.Send(&pgproto3.AuthenticationOk{})
	server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if err := server.Flush(); err != nil {
		t.Error(err)
	}
	for err == nil {
		_, err = server.Receive()
	}
}

func TestInspect_givesUpOnAServerThatHangs(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go silence(t, l)
	ended := make(chan []*lack.Lack, 1)
	go func() {
		lacks, err := PostgreSQL{}.Inspect(t.Context(), Connection{URI: "postgresql://u@" + l.Addr().String() + "/shop?sslmode=disable"}, "freshet_", 1)
		if err != nil {
			t.Error(err)
		}
		ended <- lacks
	}()
	select {
	case lacks := <-ended:
		if len(lacks) != 1 || lacks[0].Reason != ReasonUnreachable || !strings.Contains(lacks[0].Detail, "does not answer") {
			t.Errorf("lacks are %v", lacks)
		}
	case <-time.After(4 * limit):
		t.Error("the operator waits for a database that does not answer")
	}
}
