package engine

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/e2e/stand"
)

// frozenConn is a connection whose engine has stopped in the middle of a block: only its end ends a query.
type frozenConn struct {
	ended    chan struct{}
	closed   int
	released int
}

func (c *frozenConn) Do(context.Context, ch.Query) error {
	<-c.ended
	return net.ErrClosed
}

func (c *frozenConn) Close() error {
	if c.closed++; c.closed == 1 {
		close(c.ended)
	}
	return nil
}

func (c *frozenConn) Release() { c.released++ }

func TestRunOn_endsAQueryThatTheEngineFrozeWithinABlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := &frozenConn{ended: make(chan struct{})}
		time.AfterFunc(time.Minute, func() { // in vain otherwise
			if c.closed == 0 {
				t.Error("the query goes on after its context ended")
				_ = c.Close()
			}
		})
		time.AfterFunc(time.Second, cancel)
		if err := runOn(ctx, c, ch.Query{}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("error %v", err)
		}
		if c.closed != 1 || c.released != 0 {
			t.Errorf("closed %d times, released %d times, want it closed once", c.closed, c.released)
		}
	})
}

// freezer relays one connection to a server. Of what the server sends it hands on no more than limit bytes, then closes frozen and is silent.
func freezer(t *testing.T, server string, limit int64) (addr string, frozen <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	reached := make(chan struct{})
	var relaying sync.WaitGroup
	relaying.Go(func() {
		client, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer client.Close()
		engine, err := net.Dial("tcp", server)
		if err != nil {
			t.Error(err)
			return
		}
		defer engine.Close()
		relaying.Go(func() {
			if _, err := io.CopyN(client, engine, limit); err == nil {
				close(reached)
			}
		})
		_, _ = io.Copy(engine, client) // until the client has gone
	})
	t.Cleanup(func() {
		l.Close()
		relaying.Wait()
	})
	return l.Addr().String(), reached
}

func TestClient_givesUpAResultThatStopsWithinABlock(t *testing.T) {
	server := stand.Engine(t)
	addr, frozen := freezer(t, server.TCPAddr(), 1<<20)
	c, err := Open(t.Context(), Config{Addr: addr, User: server.User, Password: server.Password, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		var text proto.ColStr // in blocks of many megabytes
		ended <- c.Query(ctx, "SELECT repeat('x', 1000) AS s FROM numbers(1000000)", nil, proto.Results{{Name: "s", Data: &text}},
			func(int) error { return nil }, nil)
	}()
	<-frozen
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the query ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the query goes on")
	}
	c.Close()
}
