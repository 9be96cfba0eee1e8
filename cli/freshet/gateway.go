package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/gateway/server"
	"github.com/freshet-io/freshet/local/platform"
)

func gatewayCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:    "gateway",
		Short:  "Run a gateway (started by freshet local)",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := platform.ReadGatewayConfig(file)
			if err != nil {
				return err
			}
			return runGateway(cmd.Context(), cfg)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration file")
	_ = cmd.MarkFlagRequired("config") // the flag exists
	return cmd
}

// collectAt is the growth of the heap, in percent, at which garbage is collected unless GOGC says otherwise. Most of
// the heap is the index of row ids, which holds no pointers: collecting often costs little and keeps the process small.
const collectAt = 40

// runGateway runs until ctx ends. It tells on file descriptor 3 when the endpoint accepts connections.
func runGateway(ctx context.Context, cfg platform.GatewayConfig) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	var tellErr error
	err := server.Run(ctx, server.Config{
		Listen:         cfg.Listen,
		MonitorListen:  cfg.MonitorListen,
		PostgresURL:    cfg.PostgresURL,
		EngineAddr:     cfg.EngineAddr,
		EngineUser:     cfg.EngineUser,
		EnginePassword: cfg.EnginePassword,
		EngineThreads:  cfg.EngineThreads,
		Kafka:          kafkaOf(cfg, os.LookupEnv),
		Logger:         slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}, func(info server.Info) {
		tellErr = tellReady(info)
	})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil // asked to stop
	}
	return errors.Join(err, tellErr)
}

// kafkaOf returns where changes come from over Kafka: what the file says, or the environment; nil for neither.
func kafkaOf(cfg platform.GatewayConfig, lookup func(string) (string, bool)) *debezium.Transport {
	if cfg.Kafka != nil {
		return cfg.Kafka
	}
	t := debezium.Transport{Kafka: kafka.FromEnvironment("FRESHET_KAFKA_", lookup), Connect: debezium.RESTFromEnvironment("FRESHET_CONNECT_", lookup)}
	if len(t.Kafka.Brokers) == 0 {
		return nil
	}
	t.Prefix, _ = lookup("FRESHET_KAFKA_PREFIX")
	return &t
}

func tellReady(info server.Info) error {
	const readyFD = 3
	f := os.NewFile(readyFD, "ready")
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
