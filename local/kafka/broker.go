package kafka

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/local/ports"
	"github.com/freshet-io/freshet/local/process"
)

// BrokerConfig says where and how to run a broker. Jars and DataDir are needed.
type BrokerConfig struct {
	// Jars is the folder of the jars, as the toolchain fetches it.
	Jars string
	// DataDir is the broker's folder, created and formatted by the first Start.
	DataDir string
	// Port to listen on; 0 chooses a free one and keeps it for later starts. ControllerPort likewise.
	Port, ControllerPort int
	// Secure adds a listener with TLS and SASL; nil: none.
	Secure *Secure
	// Settings override this package's broker settings.
	Settings map[string]string
	// Heap bounds the heap in bytes. Default 256 MB.
	Heap int64
	// Cores pins the broker to these CPUs; empty leaves it free.
	Cores []int
	// Nice is added to the caller's scheduling priority, -20 to 19; below 0 where the caller may only.
	Nice int
	// LogFile receives the broker's log; empty is DataDir + ".log".
	LogFile string
}

// Secure is a broker's listener with TLS whose clients prove who they are by SCRAM-SHA-512.
type Secure struct {
	// Port to listen on; 0 chooses a free one and keeps it for later starts.
	Port int
	// KeyFile holds the server's private key (PKCS #8) and certificate, in PEM.
	KeyFile string
	// Users are the passwords by user. They are fixed when the folder is formatted.
	Users map[string]string
}

// Broker is one KRaft broker that is its own controller. Start, Stop and Kill must not be called at the same time.
type Broker struct {
	process.Child
	cfg              BrokerConfig
	port, controller int
	secure           int
	reserved         ports.Reservation
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
	b := &Broker{Child: process.NewChild("Kafka", syscall.SIGTERM), cfg: cfg, port: cfg.Port, controller: cfg.ControllerPort}
	if cfg.Secure != nil {
		b.secure = cfg.Secure.Port
	}
	return b, nil
}

// Start formats the folder if it is new, starts the broker and returns when it serves clients.
func (b *Broker) Start(ctx context.Context) error {
	if b.Running() {
		return fmt.Errorf("start Kafka on %s: it runs already as process %d", b.cfg.DataDir, b.PID())
	}
	if err := os.MkdirAll(b.cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("create Kafka's folder: %w", err)
	}
	listeners := []*int{&b.port, &b.controller}
	if b.cfg.Secure != nil {
		listeners = append(listeners, &b.secure)
	}
	if err := b.reserved.Reserve("Kafka", listeners...); err != nil {
		return err
	}
	config := filepath.Join(b.cfg.DataDir, "broker.properties")
	if err := properties(config, b.settings(), b.secureSettings(), b.cfg.Settings); err != nil {
		return fmt.Errorf("write Kafka's configuration: %w", err)
	}
	if err := b.format(ctx, config); err != nil {
		return err
	}
	p := b.program("kafka.Kafka", config)
	return p.start(ctx, &b.Child, b.serves)
}

func (b *Broker) program(main string, args ...string) program {
	return program{
		title: "Kafka", jars: b.cfg.Jars, main: main, args: args, heap: b.cfg.Heap, dir: b.cfg.DataDir, logFile: b.cfg.LogFile, cores: b.cfg.Cores, nice: b.cfg.Nice,
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
	format := []string{"format", "--ignore-formatted", "--cluster-id", clusterID, "--config", config}
	if b.cfg.Secure != nil {
		for user, password := range b.cfg.Secure.Users {
			format = append(format, "--add-scram", fmt.Sprintf("SCRAM-SHA-512=[name=%s,password=%s]", user, password))
		}
	}
	args, err := b.program("kafka.tools.StorageTool", format...).command()
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
		"controller.quorum.voters":         "1@" + ports.Address(b.controller),
		"listeners":                        "PLAINTEXT://" + ports.Address(b.port) + ",CONTROLLER://" + ports.Address(b.controller),
		"advertised.listeners":             "PLAINTEXT://" + ports.Address(b.port),
		"controller.listener.names":        "CONTROLLER",
		"inter.broker.listener.name":       "PLAINTEXT",
		"log.dirs":                         filepath.Join(b.cfg.DataDir, "logs"),
		"auto.create.topics.enable":        "false",
		"message.max.bytes":                strconv.Itoa(kafka.MessageBytes),
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

// secureSettings are those of the secure listener, if there is one.
func (b *Broker) secureSettings() map[string]string {
	if b.cfg.Secure == nil {
		return nil
	}
	plain, secure := "PLAINTEXT://"+ports.Address(b.port), "SASL_SSL://"+ports.Address(b.secure)
	return map[string]string{
		"listeners":                      plain + "," + secure + ",CONTROLLER://" + ports.Address(b.controller),
		"advertised.listeners":           plain + "," + secure,
		"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
		"sasl.enabled.mechanisms":        "SCRAM-SHA-512",
		"listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
		"listener.name.sasl_ssl.ssl.keystore.type":              "PEM",
		"listener.name.sasl_ssl.ssl.keystore.location":          b.cfg.Secure.KeyFile,
	}
}

// SecureAddress returns host:port of the secure listener.
func (b *Broker) SecureAddress() string { return ports.Address(b.secure) }

// Address returns host:port for clients.
func (b *Broker) Address() string { return ports.Address(b.port) }

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
