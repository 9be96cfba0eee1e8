package kafka

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"github.com/freshet-io/freshet/local/ports"
	"github.com/freshet-io/freshet/local/process"
)

// ConnectConfig says where and how to run a Kafka Connect worker. Jars, DataDir and Brokers are needed.
type ConnectConfig struct {
	// Jars is the folder of the jars, as the toolchain fetches it.
	Jars string
	// DataDir is the worker's folder, created when needed. What must survive lies in the broker's topics.
	DataDir string
	// Brokers is the bootstrap address. BrokersOf, when set, is asked for it at each start instead.
	Brokers   string
	BrokersOf func() string
	// Port of the REST interface; 0 chooses a free one and keeps it for later starts.
	Port int
	// Settings override this package's worker settings.
	Settings map[string]string
	// Heap bounds the heap in bytes. Default 768 MB.
	Heap int64
	// Cores pins the worker to these CPUs; empty leaves it free.
	Cores []int
	// Nice is added to the caller's scheduling priority, -20 to 19; below 0 where the caller may only.
	Nice int
	// LogFile receives the worker's log; empty is DataDir + ".log".
	LogFile string
}

// Connect is one Kafka Connect worker in distributed mode. Start, Stop and Kill must not be called at the same time.
type Connect struct {
	process.Child
	cfg      ConnectConfig
	port     int
	reserved ports.Reservation
	clientID string // of this run, and of no other
}

// connectGroup is the group that workers of one broker form.
const connectGroup = "freshet-connect"

// NewConnect returns a worker that is not started yet.
func NewConnect(cfg ConnectConfig) (*Connect, error) {
	dir, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return nil, fmt.Errorf("resolve data folder %s: %w", cfg.DataDir, err)
	}
	cfg.DataDir = dir
	if cfg.LogFile == "" {
		cfg.LogFile = dir + ".log"
	}
	if cfg.Heap == 0 {
		cfg.Heap = 768 << 20
	}
	return &Connect{Child: process.NewChild("Kafka Connect", syscall.SIGTERM), cfg: cfg, port: cfg.Port}, nil
}

// Start starts the worker and returns when it takes requests. The broker must serve.
func (c *Connect) Start(ctx context.Context) error {
	if c.Running() {
		return fmt.Errorf("start Kafka Connect on %s: it runs already as process %d", c.cfg.DataDir, c.PID())
	}
	if err := os.MkdirAll(c.secretDir(), 0o700); err != nil { // the worker does not start without
		return fmt.Errorf("create Kafka Connect's folder: %w", err)
	}
	if err := c.reserved.Reserve("Kafka Connect", &c.port); err != nil {
		return err
	}
	config := filepath.Join(c.cfg.DataDir, "worker.properties")
	c.clientID = "freshet-connect-" + rand.Text()
	if err := properties(config, c.settings(), c.cfg.Settings); err != nil {
		return fmt.Errorf("write Kafka Connect's configuration: %w", err)
	}
	p := program{
		title: "Kafka Connect", jars: c.cfg.Jars, main: "org.apache.kafka.connect.cli.ConnectDistributed", args: []string{config},
		heap: c.cfg.Heap, dir: c.cfg.DataDir, logFile: c.cfg.LogFile, cores: c.cfg.Cores, nice: c.cfg.Nice,
		// Changes live for milliseconds: with the usual third of the heap for the young, collections take a fifth of the time.
		options: []string{fmt.Sprintf("-Xmn%d", c.cfg.Heap/3*2)},
	}
	g := &group{worker: c}
	return p.start(ctx, &c.Child, func(ctx context.Context) bool { return g.dismissDead(ctx) && c.healthy(ctx) })
}

func (c *Connect) settings() map[string]string {
	return map[string]string{
		"bootstrap.servers":                 c.brokers(),
		"group.id":                          connectGroup,
		"client.id":                         c.clientID,
		"listeners":                         "http://" + ports.Address(c.port),
		"key.converter":                     "org.apache.kafka.connect.json.JsonConverter",
		"key.converter.schemas.enable":      "false",
		"value.converter":                   "org.apache.kafka.connect.json.JsonConverter",
		"value.converter.schemas.enable":    "false",
		"config.storage.topic":              "freshet-connect-config",
		"config.storage.replication.factor": "1",
		"offset.storage.topic":              "freshet-connect-offsets",
		"offset.storage.replication.factor": "1",
		"offset.storage.partitions":         "1",
		"status.storage.topic":              "freshet-connect-status",
		"status.storage.replication.factor": "1",
		"status.storage.partitions":         "1",
		"offset.flush.interval.ms":          "1000",
		// A worker that does not find its coordinator for a heartbeat's interval stops its tasks: a broker must be able to start again
		// meanwhile. Workers that were killed need not be missed by their session: see group.
		"session.timeout.ms":                        "90000",
		"heartbeat.interval.ms":                     "30000",
		"scheduled.rebalance.max.delay.ms":          "0",
		"plugin.discovery":                          "service_load",
		"config.providers":                          "file",
		"config.providers.file.class":               "org.apache.kafka.common.config.provider.FileConfigProvider",
		"config.providers.file.param.allowed.paths": c.secretDir(),
		"connector.client.config.override.policy":   "All",
	}
}

// secretDir is where connectors may read secrets.
func (c *Connect) secretDir() string { return filepath.Join(c.cfg.DataDir, "secrets") }

// KeepSecret writes a secret into the folder of a worker that has started and returns what stands for it in the settings of connectors, which the REST interface tells.
func (c *Connect) KeepSecret(name, secret string) (reference string, err error) {
	file := filepath.Join(c.secretDir(), name+".properties")
	if err := properties(file, map[string]string{"secret": secret}); err != nil {
		return "", fmt.Errorf("write secret %s of Kafka Connect: %w", name, err)
	}
	return "${file:" + file + ":secret}", nil
}

func (c *Connect) brokers() string {
	if c.cfg.BrokersOf != nil {
		return c.cfg.BrokersOf()
	}
	return c.cfg.Brokers
}

// URL returns the address of the REST interface.
func (c *Connect) URL() string { return "http://" + ports.Address(c.port) }

// LogFile returns the path of the worker's log.
func (c *Connect) LogFile() string { return c.cfg.LogFile }

// healthy reports whether the worker has joined its group and takes requests.
func (c *Connect) healthy(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL()+"/health", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
