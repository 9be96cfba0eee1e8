package stand

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/freshet-io/freshet/local/kafka"
	"github.com/freshet-io/freshet/local/toolchain"
)

var kafkaJars = sync.OnceValues(func() (string, error) {
	return withCache(func(ctx context.Context, c *toolchain.Cache) (string, error) { return c.Kafka(ctx) })
})

// Kafka starts a Kafka broker for the test. Options change its configuration.
func Kafka(t testing.TB, options ...func(*kafka.BrokerConfig)) *kafka.Broker {
	t.Helper()
	jars, err := kafkaJars()
	if err != nil {
		t.Fatal(err)
	}
	cfg := kafka.BrokerConfig{Jars: jars, DataDir: filepath.Join(Dir(t), "kafka")}
	for _, option := range options {
		option(&cfg)
	}
	b, err := kafka.NewBroker(cfg)
	if err != nil {
		t.Fatal(err)
	}
	run(t, "Kafka", b, b.Kill)
	return b
}

// KafkaConnect starts a Kafka Connect worker with the Debezium connector for the test.
func KafkaConnect(t testing.TB, broker *kafka.Broker, options ...func(*kafka.ConnectConfig)) *kafka.Connect {
	t.Helper()
	jars, err := kafkaJars()
	if err != nil {
		t.Fatal(err)
	}
	cfg := kafka.ConnectConfig{Jars: jars, DataDir: filepath.Join(Dir(t), "connect"), Brokers: broker.Address()}
	for _, option := range options {
		option(&cfg)
	}
	c, err := kafka.NewConnect(cfg)
	if err != nil {
		t.Fatal(err)
	}
	run(t, "Kafka Connect", c, c.Kill)
	return c
}
