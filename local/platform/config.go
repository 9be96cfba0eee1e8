package platform

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/local/toolchain"
)

// The defaults of the fixed ports, and what the bootstrap creates for users.
const (
	DefaultPort        = 5477
	DefaultMonitorPort = 5478
	Database           = "freshet"
	Role               = "freshet"
)

// Config says where and how to run a platform. Dir and Cache are needed.
type Config struct {
	// Dir is the state folder: data, credentials, logs and the state file.
	Dir string `json:"dir"`
	// Port is the SQL endpoint's; MonitorPort serves /metrics, /healthz, /freshz, /readyz and /status. 0 chooses a free one.
	Port        int `json:"port"`
	MonitorPort int `json:"monitor_port"`
	// Ports of the servers behind the endpoint; 0 chooses a free one.
	PostgresPort   int `json:"postgres_port"`
	EngineHTTPPort int `json:"engine_http_port"`
	EnginePort     int `json:"engine_port"`
	KafkaPort      int `json:"kafka_port"`
	ConnectPort    int `json:"connect_port"`
	// CDC is the way that changes take to the gateway. It is fixed when the state folder is made.
	CDC CDC `json:"cdc"`
	// Include and Exclude select the tables to replicate, as patterns on schema.table; empty Include: all of them.
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	// Pin runs PostgreSQL on the first core, the engine and the gateway on the second.
	Pin bool `json:"pin"`
	// PinDecoding, with Pin, has PostgreSQL's processes that stream or copy for the gateway on the second core, too. Transactions lose less to
	// the replica then, and queries have less of its core. It is for the direct way of changes only.
	PinDecoding bool `json:"pin_decoding,omitempty"`
	// EngineMemory caps the engine's memory, in bytes; 0 is half of the machine's.
	EngineMemory int64 `json:"engine_memory"`
	// EngineExecutable is the path of freshet-engine; empty is beside this program, or on PATH.
	EngineExecutable string `json:"engine_executable"`
	// GatewayExecutable is the path of freshet; empty is this program.
	GatewayExecutable string `json:"gateway_executable"`
	// Volatile leaves out the fsyncs of initialising PostgreSQL, for data that is thrown away.
	Volatile bool `json:"volatile"`

	Cache  *toolchain.Cache `json:"-"`
	Logger *slog.Logger     `json:"-"`
}

// DefaultDir returns the state folder for users who do not choose one.
func DefaultDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/freshet", nil // root's home is closed to the user that PostgreSQL runs as
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "freshet"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the state folder: %w; use --dir", err)
	}
	return filepath.Join(home, ".local", "share", "freshet"), nil
}

// complete fills in what is empty and checks what cannot work.
func (c Config) complete() (Config, error) {
	if c.Dir == "" {
		return c, errors.New("no state folder is given")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, fmt.Errorf("resolve state folder %s: %w", c.Dir, err)
	}
	c.Dir = dir
	if err := c.CDC.Check(); err != nil {
		return c, err
	}
	if len(c.Include) == 0 {
		c.Include = []string{"*.*"}
	}
	if _, err := cdc.NewSelector(c.Include, c.Exclude); err != nil {
		return c, err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if err := c.checkPorts(); err != nil {
		return c, err
	}
	if c.Pin && runtime.NumCPU() < 2 {
		return c, errors.New("--pin needs two cores, this machine offers one: leave it out")
	}
	switch {
	case c.PinDecoding && !c.Pin:
		return c, errors.New("--pin-decoding needs --pin: without, nothing keeps the two sides apart")
	case c.PinDecoding && c.CDC == Kafka:
		return c, errors.New("--pin-decoding is for --cdc=direct: with Kafka, PostgreSQL decodes its log for Kafka Connect; leave it out")
	}
	if c.GatewayExecutable == "" {
		if c.GatewayExecutable, err = os.Executable(); err != nil {
			return c, fmt.Errorf("find this program: %w", err)
		}
	}
	if c.EngineExecutable == "" {
		if c.EngineExecutable, err = FindEngine(c.GatewayExecutable); err != nil {
			return c, err
		}
	}
	return c, nil
}

// checkPorts refuses what is no port, and one port for two servers.
func (c Config) checkPorts() error {
	taken := map[int]string{}
	for _, p := range []struct {
		number int
		flag   string
	}{
		{c.Port, "--port"}, {c.MonitorPort, "--monitor-port"}, {c.PostgresPort, "--postgres-port"}, {c.EnginePort, "--engine-port"},
		{c.EngineHTTPPort, "--engine-http-port"}, {c.KafkaPort, "--kafka-port"}, {c.ConnectPort, "--connect-port"},
	} {
		if p.number < 0 || p.number > math.MaxUint16 {
			return fmt.Errorf("%s=%d is no port: give one from 1 to %d, or 0 for any free one", p.flag, p.number, math.MaxUint16)
		}
		if other := taken[p.number]; other != "" {
			return fmt.Errorf("port %d is given to both %s and %s: choose another for one of them", p.number, other, p.flag)
		}
		if p.number != 0 {
			taken[p.number] = p.flag
		}
	}
	return nil
}

// FindEngine returns the path of freshet-engine, which lies beside the program freshet or on PATH.
func FindEngine(freshet string) (string, error) {
	beside := filepath.Join(filepath.Dir(freshet), "freshet-engine")
	if _, err := os.Stat(beside); err == nil {
		return beside, nil
	}
	path, err := exec.LookPath("freshet-engine")
	if err != nil {
		return "", fmt.Errorf("find freshet-engine: it is neither beside %s nor on PATH; run make build", freshet)
	}
	return path, nil
}

// cores returns the CPUs of PostgreSQL and of the columnar side; empty means all.
func (c Config) cores() (oltp, columnar []int) {
	if !c.Pin {
		return nil, nil
	}
	return []int{0}, []int{1}
}
