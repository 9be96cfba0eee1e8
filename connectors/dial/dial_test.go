package dial_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sys/unix"

	"github.com/freshet-io/freshet/connectors/dial"
)

// deaf listens and takes no connection: the kernel drops what asks for one, as a node that is gone does.
func deaf(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*unix.SockaddrInet4).Port}).String()
	for { // until its queue is full
		conn, err := net.DialTimeout("tcp", addr, 200*time.Millisecond)
		if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
			return addr
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

func TestGuard_givesUpOnAServerThatVanished(t *testing.T) {
	addr := deaf(t)
	for url, limit := range map[string]time.Duration{
		"postgres://u@" + addr + "/d?sslmode=disable":                   dial.ConnectTimeout,
		"postgres://u@" + addr + "/d?sslmode=disable&connect_timeout=1": time.Second,
	} {
		cfg, err := pgconn.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		dial.Guard(cfg)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		_, err = pgconn.ConnectConfig(ctx, cfg)
		if err == nil || ctx.Err() != nil {
			t.Errorf("%s: %v, want no connection after %v", url, err, limit)
		}
		cancel()
	}
}

func TestGuard_limitsWhatIsUnanswered(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg, err := pgconn.ParseConfig("postgres://u@" + l.Addr().String() + "/d")
	if err != nil {
		t.Fatal(err)
	}
	dial.Guard(cfg)
	conn, err := cfg.DialFunc(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		for option, want := range map[int]int{unix.TCP_USER_TIMEOUT: 20_000, unix.TCP_KEEPIDLE: 10, unix.TCP_KEEPINTVL: 3, unix.TCP_KEEPCNT: 3} {
			if got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option); err != nil || got != want {
				t.Errorf("socket option %d is %d, %v, want %d", option, got, err, want)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// frozen listens, takes one connection and lets its client log in; then it answers nothing any more.
func frozen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		_ = l.Close() // a request to cancel is refused
		if err != nil {
			return
		}
		defer conn.Close()
		server := pgproto3.NewBackend(conn, conn)
		if _, err := server.ReceiveStartupMessage(); err != nil {
			return
		}
		server.Send(&pgproto3.AuthenticationOk{})
		server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		for err = server.Flush(); err == nil; {
			_, err = server.Receive()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

func TestGuardPool_closesWhileTheServerIsFrozen(t *testing.T) {
	cfg, err := pgxpool.ParseConfig("postgres://u@" + frozen(t) + "/d?sslmode=disable&connect_timeout=2")
	if err != nil {
		t.Fatal(err)
	}
	dial.GuardPool(cfg)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	used := false
	cfg.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool {
		if used {
			cancel()
		}
		return used
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	conn.Release()
	used = true
	if _, err := pool.Acquire(ctx); err == nil {
		t.Fatal("a connection to a frozen server was handed out")
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		pool.Close()
	}()
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Error("the pool does not close")
	}
}
