package debezium

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-io/freshet/connectors/arraytext"
	"github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/connectors/postgres"
)

// Transport says where the topics are and who writes them: what a gateway is told by its configuration file.
type Transport struct {
	// Kafka says how to reach the brokers. Required.
	Kafka kafka.Config `json:"kafka"`
	// Prefix is the connector's topic.prefix. Default "freshet".
	Prefix string `json:"prefix,omitempty"`
	// Connect is Kafka Connect. When it has an address, Tables creates the topics and registers the connector, and Stream
	// restarts its task when that fails. When it has none, somebody else does.
	Connect REST `json:"connect,omitzero"`
	// Connector completes the connector's settings where this source registers it.
	Connector Connector `json:"connector,omitzero"`
}

// Config says what a [Source] reads. Zero values mean the documented defaults.
type Config struct {
	// Postgres is the database. Its Slot and Publication are what the connector reads.
	Postgres postgres.Config
	Transport
	// WatermarkInterval is how often an idle stream asks how far the write-ahead log is. Default 50 ms.
	WatermarkInterval time.Duration
	// StallLimit is after how much time, by the clock of the messages, rows that an END counted count as lost
	// although Connect has gone on. Longer than the connector's delivery.timeout.ms, default 3 min.
	StallLimit time.Duration
	// StartWait bounds how long a first copy waits for the connector to deliver something. Default 2 min.
	StartWait time.Duration
	// MemoryBytes is how much of unfinished transactions is held in memory; while it grows, twice as much is taken. Larger transactions wait in
	// files. Default 64 MB, or a tenth of what Go is told to do with (GOMEMLIMIT) where that is less.
	MemoryBytes int
	// SpoolDir is the folder of those files, which are gone when the process is. Default: the system's for temporary files.
	SpoolDir string
	// ChunkChanges is the most changes handed over in one call. Default 1,000.
	ChunkChanges int
	// Logger receives transitions. Default: discard.
	Logger *slog.Logger
	// Registerer receives the metrics, those of Postgres too. Default: none.
	Registerer prometheus.Registerer
}

var topicPrefix = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,100}$`)

func (c Config) withDefaults() (Config, error) {
	if len(c.Kafka.Brokers) == 0 {
		return c, errors.New("configure source: no brokers; give Kafka's bootstrap addresses")
	}
	setDefault(&c.Prefix, "freshet")
	setDefault(&c.WatermarkInterval, 50*time.Millisecond)
	setDefault(&c.StallLimit, 3*time.Minute)
	setDefault(&c.StartWait, 2*time.Minute)
	setDefault(&c.MemoryBytes, int(min(64<<20, debug.SetMemoryLimit(-1)/10)))
	setDefault(&c.ChunkChanges, 1000)
	setDefault(&c.Postgres.Slot, postgres.DefaultSlot)
	setDefault(&c.Postgres.Publication, c.Postgres.Slot)
	setDefault(&c.Postgres.CatalogInterval, time.Second)
	if c.Postgres.Now == nil {
		c.Postgres.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if !topicPrefix.MatchString(c.Prefix) {
		return c, fmt.Errorf("configure source: topic prefix %q: use 1 to 100 letters, digits, dashes and underscores", c.Prefix)
	}
	if c.Connector.MessageBytes != 0 && (c.Connector.MessageBytes < 1<<20 || c.Connector.MessageBytes > 1<<30) {
		return c, fmt.Errorf("configure source: message_bytes is %d: choose 1 MiB (%d) to 1 GiB (%d)", c.Connector.MessageBytes, 1<<20, 1<<30)
	}
	if c.WatermarkInterval < 0 || c.StallLimit < 0 || c.StartWait < 0 || c.MemoryBytes < 0 || c.ChunkChanges < 0 {
		return c, errors.New("configure source: intervals and sizes must not be negative")
	}
	// Debezium replaces names by NULL, and tells neither the dimensions nor the bounds of arrays.
	c.Postgres.Unstreamed = append(arraytext.Types(), pgtype.NameOID)
	c.Postgres.Logger, c.Postgres.Registerer = c.Logger, c.Registerer
	return c, nil
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// connectorName is the connector's name in Kafka Connect.
func (c Config) connectorName() string { return cmp.Or(c.Connector.ManagedAs, c.Prefix) }

// boundsTopic is the topic of BEGIN and END.
func (c Config) boundsTopic() string { return c.Prefix + ".transaction" }

// unusable are the characters that Debezium replaces in the names of topics.
var unusable = regexp.MustCompile(`[^a-zA-Z0-9._-]`)

// tableTopic is the topic of a table ("schema.name"). Debezium counts a name in UTF-16: a character beyond its first plane is replaced twice.
func (c Config) tableTopic(table string) string {
	return unusable.ReplaceAllStringFunc(c.Prefix+"."+table, func(char string) string {
		r, _ := utf8.DecodeRuneInString(char)
		return strings.Repeat("_", utf16.RuneLen(r))
	})
}
