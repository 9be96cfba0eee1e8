package postgres

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// promoted is a server on timeline 2. It tells the history of that once it may.
type promoted struct {
	asked chan struct{} // closed when it was asked for the history
	may   chan struct{}
}

func (p promoted) serve(conn net.Conn) {
	defer conn.Close()
	b := pgproto3.NewBackend(conn, conn)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for b.Flush() == nil {
		m, err := b.Receive()
		query, ok := m.(*pgproto3.Query)
		if err != nil || !ok {
			return
		}
		row := [][]byte{[]byte("7"), []byte("2")}
		if strings.HasPrefix(query.String, "TIMELINE_HISTORY") {
			close(p.asked)
			<-p.may
			row = [][]byte{[]byte("00000002.history"), []byte("1\t0/100\tpromoted\n")}
		}
		b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("a")}, {Name: []byte("b")}}})
		b.Send(&pgproto3.DataRow{Values: row})
		b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	}
}

// Who asks for a bookmark, as the publisher of a replica does, does not wait for a server that was promoted and hangs. What is told meanwhile counts.
func TestFollowTimeline_holdsNobodyUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := promoted{asked: make(chan struct{}), may: make(chan struct{})}
	var serving sync.WaitGroup
	defer serving.Wait()
	defer l.Close()
	serving.Go(func() {
		if conn, err := l.Accept(); err == nil {
			server.serve(conn)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := pgconn.Connect(ctx, "postgres://u@"+l.Addr().String()+"/d?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	s := &Source{log: slog.New(slog.DiscardHandler)}
	s.lineage.timeline = 1
	followed := make(chan error, 1)
	go func() {
		_, err := s.followTimeline(ctx, conn, 0x80)
		followed <- err
	}()
	<-server.asked
	told := make(chan bool, 1)
	go func() { told <- s.Bookmark(cdc.Position{}) != nil && s.lineage.tell(1, 0x200) }()
	select {
	case ok := <-told:
		if !ok {
			t.Error("the timeline was left before its history was known")
		}
	case <-time.After(20 * time.Second):
		t.Error("it waits for the server")
	}
	close(server.may)
	var terminal *cdc.TerminalError
	if err := <-followed; !errors.As(err, &terminal) || terminal.Code != cdc.CodeSourceMismatch {
		t.Errorf("error %v, want that the server lacks what was told meanwhile", err)
	}
}
