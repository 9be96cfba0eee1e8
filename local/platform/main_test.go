package platform_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/local/platform"
	"github.com/freshet-io/freshet/local/toolchain"
)

// TestMain lets the test binary stand in for freshet: the platform starts it again as its supervisor
// and as its gateway.
func TestMain(m *testing.M) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var err error
	switch args := os.Args[1:]; {
	case slices.Equal(args, []string{"local", "run"}):
		var cache *toolchain.Cache
		if cache, err = toolchain.Default(); err == nil {
			err = platform.Daemon(ctx, os.Stdin, platform.Config{Cache: cache, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
		}
	case len(args) >= 3 && args[0] == "gateway":
		err = relay(ctx, args[2])
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// relay is the least gateway: it hands bytes on to PostgreSQL.
func relay(ctx context.Context, file string) error {
	cfg, err := platform.ReadGatewayConfig(file)
	if err != nil {
		return err
	}
	target, err := pgconn.ParseConfig(cfg.PostgresURL)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return err
	}
	monitor, err := net.Listen("tcp", cfg.MonitorListen)
	if err != nil {
		return err
	}
	go http.Serve(monitor, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"ready": true, "staleness_ms": 12.5, "tables": [{"table": "public.t", "phase": "ready", "rows": 3}]}`)
	}))
	if err := json.NewEncoder(os.NewFile(3, "ready")).Encode(platform.GatewayInfo{Listen: l.Addr().String(), MonitorListen: monitor.Addr().String()}); err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { l.Close() })
	for {
		client, err := l.Accept()
		if err != nil {
			return nil
		}
		go func() {
			defer client.Close()
			server, err := net.Dial(pgconn.NetworkAddress(target.Host, target.Port))
			if err != nil {
				return
			}
			defer server.Close()
			go io.Copy(server, client)
			io.Copy(client, server)
		}()
	}
}
