package debezium

import (
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/freshet-io/freshet/connectors/kafka"
)

const connectorClass = "io.debezium.connector.postgresql.PostgresConnector"

// Connector completes a connector's settings. Zero values mean the documented defaults.
type Connector struct {
	// ManagedAs is the name of a connector that somebody else keeps in Kafka Connect (Strimzi, for a KafkaConnector):
	// by what [ConnectorSettings] returns, stopped while slot or publication are missing, and running else. The source
	// then restarts its task when that fails, and does not register it. Default: none; the source registers a connector
	// that is named like the prefix.
	ManagedAs string `json:"managed_as,omitempty"`
	// DatabaseURL is the database as Kafka Connect reaches it, by TCP. Default: the source's own connection string.
	DatabaseURL string `json:"database_url,omitempty"`
	// Partitions of each table's topic. Default 1: order within a transaction comes from its numbers, so that more only
	// spread load.
	Partitions int `json:"partitions,omitempty"`
	// Replication of the topics. Default: the broker's.
	Replication int `json:"replication,omitempty"`
	// Retention of the topics; a replica that was away for longer is copied anew. Default 24 h.
	Retention time.Duration `json:"retention,omitempty"`
	// MessageBytes is the most that a change may take as JSON, with the row before it where REPLICA IDENTITY is FULL.
	// The connector fails at a larger one. Above 96 MiB the brokers' socket.request.max.bytes must be larger too.
	// Default [kafka.MessageBytes].
	MessageBytes int `json:"message_bytes,omitempty"`
	// Settings override the settings of the template.
	Settings map[string]string `json:"settings,omitempty"`
}

func (c Connector) withDefaults() Connector {
	setDefault(&c.Partitions, 1)
	setDefault(&c.Replication, -1)
	setDefault(&c.Retention, 24*time.Hour)
	setDefault(&c.MessageBytes, kafka.MessageBytes)
	return c
}

// ConnectorSettings returns the configuration of the connector as Kafka Connect takes it, for whoever
// registers it. It holds the role's password in clear text.
func ConnectorSettings(cfg Config) (map[string]string, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return cfg.connectorSettings()
}

func (c Config) connectorSettings() (map[string]string, error) {
	con := c.Connector.withDefaults()
	setDefault(&con.DatabaseURL, c.Postgres.URL)
	pg, err := pgxpool.ParseConfig(con.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("configure connector: %w", err)
	}
	if strings.HasPrefix(pg.ConnConfig.Host, "/") {
		return nil, fmt.Errorf("configure connector: the database is given by its socket %s, which Kafka Connect cannot use; give a DatabaseURL with host and port", pg.ConnConfig.Host)
	}
	s := map[string]string{
		"connector.class":   connectorClass,
		"tasks.max":         "1",
		"topic.prefix":      c.Prefix,
		"database.hostname": pg.ConnConfig.Host,
		"database.port":     strconv.Itoa(int(pg.ConnConfig.Port)),
		"database.user":     pg.ConnConfig.User,
		"database.password": pg.ConnConfig.Password,
		"database.dbname":   pg.ConnConfig.Database,
		"database.sslmode":  sslMode(con.DatabaseURL),
		"plugin.name":       "pgoutput",
		"slot.name":         c.Postgres.Slot,
		"publication.name":  c.Postgres.Publication,
		"slot.drop.on.stop": "false",
		// The session of a task that was killed may hold the slot for a moment longer. By default it is asked for every
		// 10 s.
		"slot.max.retries":    "60",
		"slot.retry.delay.ms": "500",
		// A slot ahead of what was delivered was created anew: the connector must fail, and not begin behind a gap.
		"offset.mismatch.strategy": "trust_offset",
		// The source maintains the publication, and copies tables by itself.
		"publication.autocreate.mode": "disabled",
		"snapshot.mode":               "no_data",
		// Transactions are put together by their bounds and counts.
		"provide.transaction.metadata": "true",
		"skipped.operations":           "none",
		// The topics are a log of transactions: compacting them would tear holes into it, so that tombstones have no
		// use.
		"tombstones.on.delete": "false",
		// Encodings that lose nothing and that do not depend on a column's precision.
		"decimal.handling.mode":           "string",
		"time.precision.mode":             "microseconds",
		"binary.handling.mode":            "bytes",
		"unavailable.value.placeholder":   placeholder,
		"key.converter":                   "org.apache.kafka.connect.json.JsonConverter",
		"key.converter.schemas.enable":    "false",
		"value.converter":                 "org.apache.kafka.connect.json.JsonConverter",
		"value.converter.schemas.enable":  "false",
		"header.converter":                "org.apache.kafka.connect.json.JsonConverter",
		"header.converter.schemas.enable": "false",
		// Marks end up as transactions without rows; their messages themselves are of no use.
		"message.prefix.exclude.list": "freshet",
		"heartbeat.interval.ms":       "10000",
		"heartbeat.action.query":      "SELECT pg_logical_emit_message(true, 'freshet', '')",
		// Latency and throughput as measured (docs/transport-measured.md). Debezium's queue is polled without pause for the last
		// millisecond of each interval: with 5 ms that alone takes a fifth of a thread.
		"poll.interval.ms":                    "20",
		"max.batch.size":                      "2048",
		"max.queue.size":                      "8192", // what waits there is copied by each collection of garbage
		"max.queue.size.in.bytes":             "33554432",
		"extended.headers.enabled":            "false",
		"statistics.metrics.enabled":          "false", // quantiles for each record, which nobody reads
		"retriable.restart.connector.wait.ms": "1000",
		"producer.override.linger.ms":         "5",
		"producer.override.batch.size":        "262144",
		"producer.override.compression.type":  "lz4",
		// The producer measures a message before it compresses it, and takes memory for all of it.
		"producer.override.max.request.size": strconv.Itoa(con.MessageBytes),
		"producer.override.buffer.memory":    strconv.Itoa(con.MessageBytes + 32<<20),
	}
	s["topic.creation.groups"] = "bounds"
	s["topic.creation.bounds.include"] = strings.ReplaceAll(c.boundsTopic(), ".", `\.`)
	// One partition gives ENDs their order. Topics of tables that come later are created by Connect.
	for group, partitions := range map[string]int{"default": con.Partitions, "bounds": 1} {
		group = "topic.creation." + group + "."
		s[group+"partitions"], s[group+"replication.factor"] = strconv.Itoa(partitions), strconv.Itoa(con.Replication)
		for name, value := range con.topicSettings() {
			s[group+name] = *value
		}
	}
	maps.Copy(s, con.Settings)
	return s, nil
}

// topicSettings returns the settings of each of the connector's topics.
func (c Connector) topicSettings() map[string]*string {
	retention, size, policy := strconv.FormatInt(c.Retention.Milliseconds(), 10), strconv.Itoa(c.MessageBytes), "delete"
	return map[string]*string{"cleanup.policy": &policy, "retention.ms": &retention, mostBytes: &size}
}

// mostBytes is the setting of a topic that bounds its messages, compressed.
const mostBytes = "max.message.bytes"

// sslMode returns the sslmode of a connection string, which the connector takes by the same names.
func sslMode(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		if mode := u.Query().Get("sslmode"); mode != "" {
			return mode
		}
	}
	for field := range strings.FieldsSeq(raw) {
		if mode, ok := strings.CutPrefix(field, "sslmode="); ok {
			return mode
		}
	}
	return "prefer"
}
