package cockroachdb

import (
	"fmt"
	"time"

	"github.com/freshet-io/freshet/connectors/kafka"
)

// Transport says where the changefeed's topics are and who writes them: what a gateway is told by its configuration file.
type Transport struct {
	// Kafka says how to reach the brokers. Required.
	Kafka kafka.Config `json:"kafka"`
	// Prefix precedes the names of topics and tells the changefeed from others. Default "freshet.".
	Prefix string `json:"prefix,omitempty"`
	// Sink is the address that the changefeed sends to ([Statements]): the changefeed is then created, and kept to the selected tables.
	// Empty: somebody else does that (an operator).
	Sink kafka.Secret `json:"sink,omitzero"`
	// MaxClockOffsetMS is the cluster's --max-offset in milliseconds. Default 500, the cluster's default.
	MaxClockOffsetMS int `json:"max_clock_offset_ms,omitempty"`
	// Database is asked in CockroachDB's place. Default: CockroachDB itself, by SQL.
	Database Database `json:"-"`
}

// TransportFromEnvironment reads a transport from variables: FRESHET_KAFKA_… ([kafka.FromEnvironment]), FRESHET_KAFKA_PREFIX, and
// FRESHET_CHANGEFEED_SINK or FRESHET_CHANGEFEED_SINK_FILE. lookup is usually os.LookupEnv.
func TransportFromEnvironment(lookup func(string) (string, bool)) *Transport {
	t := &Transport{Kafka: kafka.FromEnvironment("FRESHET_KAFKA_", lookup)}
	t.Prefix, _ = lookup("FRESHET_KAFKA_PREFIX")
	t.Sink.Value, _ = lookup("FRESHET_CHANGEFEED_SINK")
	t.Sink.File, _ = lookup("FRESHET_CHANGEFEED_SINK_FILE")
	return t
}

// Open returns a source on the database at url and its tables that the patterns select ([SQLConfig]). cfg has what is
// left: its Database and Kafka are set here. The source's Close releases all.
func (t Transport) Open(url string, include, exclude []string, cfg Config) (*Source, error) {
	if t.Prefix == "" {
		t.Prefix = "freshet."
	}
	sink, err := t.Sink.Read()
	if err != nil {
		return nil, fmt.Errorf("configure source: the changefeed's sink: %w", err)
	}
	cfg.Kafka, cfg.Database = t.Kafka, t.Database
	if cfg.Database == nil {
		if cfg.Database, err = OpenSQL(SQLConfig{
			URL: url, Include: include, Exclude: exclude, Changefeed: Statements{Sink: sink, Prefix: t.Prefix}, Manage: sink != "",
			MaxClockOffset: time.Duration(t.MaxClockOffsetMS) * time.Millisecond, Logger: cfg.Logger,
		}); err != nil {
			return nil, err
		}
	}
	s, err := New(cfg)
	if err != nil {
		cfg.Database.Close()
		return nil, err
	}
	return s, nil
}
