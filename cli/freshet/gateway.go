package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/freshet-io/freshet/gateway/server"
	"github.com/freshet-io/freshet/local/platform"
	"github.com/freshet-io/freshet/local/process"
)

func gatewayCommand() *cobra.Command {
	var file string
	var readyFD int
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "Run a gateway beside a PostgreSQL and a columnar engine that run already",
		Long: "Run a gateway, configured by a file from freshet local, or by the environment:\n\n" + environmentHelp() +
			"\n\nThose of Kafka are in docs/transport.md.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := gatewayConfig(file)
			if err != nil {
				return err
			}
			tell := func(server.Info) error { return nil }
			if readyFD > 0 {
				tell = func(info server.Info) error { return tellReady(info, readyFD) }
			}
			return runGateway(cmd.Context(), cfg, tell)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration file, JSON, such as freshet local writes (default: the environment)")
	cmd.Flags().IntVar(&readyFD, "ready-fd", 0, "file descriptor that gets the addresses, JSON, when the endpoint listens (default: none)")
	return cmd
}

// gatewayConfig reads a file, or the environment where none is given.
func gatewayConfig(file string) (server.Config, error) {
	if file == "" {
		return gatewayFromEnvironment(os.LookupEnv)
	}
	return gatewayFromFile(file)
}

// gatewayFromFile reads what a local platform's supervisor wrote.
func gatewayFromFile(file string) (server.Config, error) {
	cfg, err := platform.ReadGatewayConfig(file)
	if err != nil {
		return server.Config{}, err
	}
	out := server.Config{
		Listen:            cfg.Listen,
		MonitorListen:     cfg.MonitorListen,
		PostgresURL:       cfg.PostgresURL,
		AllowPasswordless: cfg.AllowPasswordless,
		EngineAddr:        cfg.EngineAddr,
		EngineUser:        cfg.EngineUser,
		EnginePassword:    cfg.EnginePassword,
		Include:           cfg.Include,
		Exclude:           cfg.Exclude,
		TenantsFile:       cfg.TenantsFile,
		Kafka:             cfg.Kafka,
		CockroachDB:       cfg.CockroachDB,
	}
	if len(cfg.SenderCores) > 0 {
		out.PlaceSender = func(pid int) error { return process.Pin(pid, cfg.SenderCores) }
	}
	if out.Kafka == nil && out.CockroachDB == nil { // the file does not say how changes come
		err = sourceFromEnvironment(&out, os.LookupEnv)
	}
	return out, err
}

// collectAt is the growth of the heap, in percent, at which garbage is collected unless GOGC says otherwise. Most of
// the heap is the index of row ids, which holds no pointers: collecting often costs little and keeps the process small.
const collectAt = 40

// runGateway runs until ctx ends. It calls tell when the endpoint accepts connections.
func runGateway(ctx context.Context, cfg server.Config, tell func(server.Info) error) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	ended := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { explainHang(ctx, ended, cfg.Drain+hangTime, cfg.Logger) })
	var tellErr error
	err := server.Run(ctx, cfg, func(info server.Info) { tellErr = tell(info) })
	close(ended)
	watch.Wait()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil // asked to stop
	}
	return errors.Join(err, tellErr)
}

// hangTime is how long a gateway may take to end after its clients' time to leave, before that is taken for a bug.
const hangTime = 15 * time.Second

// explainHang logs where every goroutine stands if the gateway has not ended so long after it was asked to: who waits for that kills
// it, and then nobody would know.
func explainHang(asked context.Context, ended <-chan struct{}, limit time.Duration, log *slog.Logger) {
	select {
	case <-asked.Done():
	case <-ended:
		return
	}
	select {
	case <-time.After(limit):
		log.Error("the gateway does not end; its goroutines follow", "asked_ago", limit)
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1) // standard error is gone: nobody to tell
	case <-ended:
	}
}

// tellReady writes where the gateway listens to a file descriptor, for the supervisor that started it.
func tellReady(info server.Info, fd int) error {
	f := os.NewFile(uintptr(fd), "ready-fd")
	defer f.Close()
	line := platform.GatewayInfo{Listen: info.Addr.String()}
	if info.MonitorAddr != nil {
		line.MonitorListen = info.MonitorAddr.String()
	}
	if err := json.NewEncoder(f).Encode(line); err != nil {
		return fmt.Errorf("tell that the gateway is ready: %w", err)
	}
	return nil
}
