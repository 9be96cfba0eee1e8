package kafka

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// BrokerConfig says where and how to run a broker. Jars and DataDir are needed.
type BrokerConfig struct {
	// Jars is the folder of the jars, as the toolchain fetches it.
	Jars string
	// DataDir is the broker's folder, created and formatted by the first Start.
	DataDir string
	// Port to listen on; 0 chooses a free one and keeps it for later starts. ControllerPort likewise.
	Port, ControllerPort int
	// Settings override this package's broker settings.
	Settings map[string]string
	// Heap bounds the heap in bytes. Default 256 MB.
	Heap int64
	// Cores pins the broker to these CPUs; empty leaves it free.
	Cores []int
	// LogFile receives the broker's log; empty is DataDir + ".log".
	LogFile string
}

// Broker is one KRaft broker that is its own controller. Start, Stop and Kill must not be called at the same time.
type Broker struct {
	running
	cfg              BrokerConfig
	port, controller int
}

// NewBroker returns a broker that is not started yet.
func NewBroker(cfg BrokerConfig) (*Broker, error) {
	dir, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return nil, fmt.Errorf("resolve data folder %s: %w", cfg.DataDir, err)
	}
	cfg.DataDir = dir
	if cfg.LogFile == "" {
		cfg.LogFile = dir + ".log"
	}
	if cfg.Heap == 0 {
		cfg.Heap = 256 << 20
	}
	return &Broker{running: running{title: "Kafka"}, cfg: cfg, port: cfg.Port, controller: cfg.ControllerPort}, nil
}

// Start formats the folder if it is new, starts the broker and returns when it serves clients.
func (b *Broker) Start(ctx context.Context) error {
	if b.alive() {
		return fmt.Errorf("start Kafka on %s: it runs already as process %d", b.cfg.DataDir, b.PID())
	}
	if err := os.MkdirAll(b.cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("create Kafka's folder: %w", err)
	}
	if err := choosePorts("Kafka", &b.port, &b.controller); err != nil {
		return err
	}
	config := filepath.Join(b.cfg.DataDir, "broker.properties")
	if err := properties(config, b.settings(), b.cfg.Settings); err != nil {
		return fmt.Errorf("write Kafka's configuration: %w", err)
	}
	if err := b.format(ctx, config); err != nil {
		return err
	}
	p := b.program("kafka.Kafka", config)
	var err error
	b.proc, err = p.start(ctx, b.serves)
	return err
}

func (b *Broker) program(main string, args ...string) program {
	return program{
		title: "Kafka", jars: b.cfg.Jars, main: main, args: args, heap: b.cfg.Heap, dir: b.cfg.DataDir, logFile: b.cfg.LogFile, cores: b.cfg.Cores,
		// The first compiler alone starts faster and takes less memory; a broker hands bytes through.
		options: []string{"-XX:TieredStopAtLevel=1"},
	}
}

// clusterID names every local cluster: one folder is one cluster, and nothing else ever joins it.
const clusterID = "ZnJlc2hldC1sb2NhbC0wMQ"

// format prepares a new folder. A folder that is formatted stays as it is.
func (b *Broker) format(ctx context.Context, config string) error {
	if _, err := os.Stat(filepath.Join(b.cfg.DataDir, "logs", "meta.properties")); err == nil {
		return nil
	}
	java, err := findJava(ctx)
	if err != nil {
		return fmt.Errorf("format Kafka's folder: %w", err)
	}
	args, err := b.program("kafka.tools.StorageTool", "format", "--ignore-formatted", "--cluster-id", clusterID, "--config", config).command()
	if err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, java, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("format Kafka's folder %s: %w\n%s", b.cfg.DataDir, err, strings.TrimSpace(string(out)))
	}
	return nil
}

func (b *Broker) settings() map[string]string {
	return map[string]string{
		"process.roles":                    "broker,controller",
		"node.id":                          "1",
		"controller.quorum.voters":         "1@" + address(b.controller),
		"listeners":                        "PLAINTEXT://" + address(b.port) + ",CONTROLLER://" + address(b.controller),
		"advertised.listeners":             "PLAINTEXT://" + address(b.port),
		"controller.listener.names":        "CONTROLLER",
		"inter.broker.listener.name":       "PLAINTEXT",
		"log.dirs":                         filepath.Join(b.cfg.DataDir, "logs"),
		"auto.create.topics.enable":        "false",
		"default.replication.factor":       "1",
		"offsets.topic.num.partitions":     "1",
		"group.initial.rebalance.delay.ms": "0",
		// One broker cannot keep more than one copy.
		"offsets.topic.replication.factor":                 "1",
		"transaction.state.log.replication.factor":         "1",
		"transaction.state.log.min.isr":                    "1",
		"transaction.state.log.num.partitions":             "1",
		"share.coordinator.state.topic.replication.factor": "1",
		"share.coordinator.state.topic.min.isr":            "1",
		// The defaults are for large machines: 128 MB of the heap would go to the cleaner alone.
		"log.cleaner.dedupe.buffer.size": "8388608",
		"log.cleaner.threads":            "1",
		"num.network.threads":            "2",
		"num.io.threads":                 "4",
		"background.threads":             "2",
	}
}

// Address returns host:port for clients.
func (b *Broker) Address() string { return address(b.port) }

// LogFile returns the path of the broker's log.
func (b *Broker) LogFile() string { return b.cfg.LogFile }

// serves reports whether the broker answers and is part of its cluster.
func (b *Broker) serves(ctx context.Context) bool {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Address()), kgo.RequestRetries(0))
	if err != nil {
		return false
	}
	defer client.Close()
	resp, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, client)
	return err == nil && len(resp.Brokers) == 1
}
