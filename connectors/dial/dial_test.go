package dial_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
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
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
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
