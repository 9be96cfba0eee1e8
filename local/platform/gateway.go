package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/freshet-io/freshet/connectors/cockroachdb"
	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/local/ports"
	"github.com/freshet-io/freshet/local/process"
)

// GatewayConfig is what the gateway process reads from its configuration file.
type GatewayConfig struct {
	Listen         string `json:"listen"`
	MonitorListen  string `json:"monitor_listen"`
	PostgresURL    string `json:"postgres_url"`
	EngineAddr     string `json:"engine_addr"`
	EngineUser     string `json:"engine_user"`
	EnginePassword string `json:"engine_password"`
	// Include and Exclude select the tables to replicate, as patterns on schema.table; empty Include: "public.*".
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	// AllowPasswordless lets in clients whom PostgreSQL asks for no password, though it judges the gateway instead of them.
	AllowPasswordless bool `json:"allow_passwordless,omitempty"`
	// SenderCores are the CPUs for PostgreSQL's processes that stream or copy for the gateway; empty leaves them where PostgreSQL runs.
	SenderCores []int `json:"sender_cores,omitempty"`
	// TenantsFile names the file of tenants; it need not exist.
	TenantsFile string `json:"tenants_file"`
	// Kafka is where changes come from; nil: straight from PostgreSQL.
	Kafka *debezium.Transport `json:"kafka,omitempty"`
	// CockroachDB says that PostgresURL names a CockroachDB, and where its changefeed's topics are.
	CockroachDB *cockroachdb.Transport `json:"cockroachdb,omitempty"`
}

// GatewayInfo is the line that the gateway process writes to file descriptor 3 when its endpoint accepts connections.
type GatewayInfo struct {
	Listen        string `json:"listen"`
	MonitorListen string `json:"monitor_listen"`
}

// ReadGatewayConfig reads the file that a supervisor wrote for its gateway.
func ReadGatewayConfig(path string) (GatewayConfig, error) {
	var cfg GatewayConfig
	if err := readJSON(path, &cfg, "freshet local down and up write it anew"); err != nil {
		return cfg, fmt.Errorf("read the gateway's configuration: %w", err)
	}
	return cfg, nil
}

// gateway is the gateway's process.
type gateway struct {
	process.Child
	executable string
	dir        string
	cores      []int
	cfg        GatewayConfig
	info       GatewayInfo

	port, monitorPort         int
	reserved, monitorReserved ports.Reservation
}

func newGateway(executable, dir string) *gateway {
	return &gateway{Child: process.NewChild("the gateway", syscall.SIGTERM), executable: executable, dir: dir}
}

// reserve keeps the ports of the endpoint and of its monitoring, so that a restart finds the addresses that clients know.
func (g *gateway) reserve(port, monitorPort int) error {
	g.port, g.monitorPort = port, monitorPort
	if err := g.reserved.Reserve("the gateway", &g.port); err != nil {
		return flagged(err, "--port")
	}
	return flagged(g.monitorReserved.Reserve("the gateway's monitoring", &g.monitorPort), "--monitor-port")
}

func (g *gateway) LogFile() string { return filepath.Join(g.dir, gatewayLog) }

// Start starts the gateway and returns when its endpoint accepts connections.
func (g *gateway) Start(ctx context.Context) error {
	g.cfg.TenantsFile = filepath.Join(g.dir, tenantsFile)
	file := filepath.Join(g.dir, gatewayFile)
	if err := writeJSON(file, g.cfg); err != nil {
		return fmt.Errorf("configure the gateway: %w", err)
	}
	log, err := os.OpenFile(g.LogFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the gateway's log: %w", err)
	}
	defer log.Close()
	proc, info, err := LaunchGateway(ctx, process.Spec{
		Path: g.executable, Args: []string{"gateway", "--config", file}, Output: log, Cores: g.cores,
	})
	if err != nil {
		return err
	}
	g.Adopt(proc)
	g.info = info
	return nil
}

// LaunchGateway starts a gateway's process and returns when its endpoint accepts connections. The spec's output must be the log.
func LaunchGateway(ctx context.Context, spec process.Spec) (*process.Process, GatewayInfo, error) {
	var info GatewayInfo
	ready, announce, err := os.Pipe()
	if err != nil {
		return nil, info, fmt.Errorf("start the gateway: %w", err)
	}
	defer ready.Close()
	spec.Extra = []*os.File{announce}
	spec.Args = append(slices.Clone(spec.Args), "--ready-fd=3") // the first of Extra
	proc, err := process.Start(spec)
	announce.Close()
	if err != nil {
		return nil, info, err
	}
	interrupt := context.AfterFunc(ctx, func() { _ = ready.SetReadDeadline(time.Unix(1, 0)) })
	defer interrupt()
	if err := json.NewDecoder(ready).Decode(&info); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, info, errors.Join(fmt.Errorf("wait until the gateway is ready: %w; its log %s ends:\n%s",
			err, spec.Output.Name(), process.LogTail(spec.Output.Name())), proc.Kill())
	}
	return proc, info, nil
}

// Stop ends the gateway in order. Where ctx ends before that, it is killed, and the error has its last words: it logs where its goroutines stand
// before it is given up.
func (g *gateway) Stop(ctx context.Context) error {
	err := g.Child.Stop(ctx)
	if err != nil && ctx.Err() != nil {
		const stacks = 32 << 10
		return fmt.Errorf("%w; its log %s ends:\n%s", err, g.LogFile(), process.LastLines(g.LogFile(), stacks))
	}
	return err
}
