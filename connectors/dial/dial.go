package dial

import (
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sys/unix"
)

// ConnectTimeout is how long a server may take to accept a connection where the connection string does not say.
const ConnectTimeout = 5 * time.Second

// unanswered is how long data that was sent may remain without an acknowledgement.
const unanswered = 20 * time.Second

// Dialer waits for a connection for so long. One that is idle is probed after ten seconds, and given up after ten more without an answer.
func Dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 3 * time.Second, Count: 3}}
}

// Guard makes connections by cfg notice that the server has vanished. They must not send more than the server soon reads: one that does not
// read for 20 seconds counts as vanished.
func Guard(cfg *pgconn.Config) {
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = ConnectTimeout
	}
	d := Dialer(cfg.ConnectTimeout)
	d.Control = limitUnanswered
	cfg.DialFunc = d.DialContext
}

// GuardPool guards a pool's connections. One that was idle is tried before it is used, for no longer than connecting may take: by itself the pool,
// and with it its closing, waits up to a minute for a server that is frozen, whatever becomes of the context.
func GuardPool(cfg *pgxpool.Config) {
	Guard(&cfg.ConnConfig.Config)
	if cfg.PingTimeout == 0 {
		cfg.PingTimeout = cfg.ConnConfig.ConnectTimeout
	}
}

// limitUnanswered is a [net.Dialer]'s Control.
func limitUnanswered(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unanswered.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
