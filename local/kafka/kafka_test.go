//go:build kafka

package kafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/kafka"
)

func TestBroker_keepsWhatItAcknowledgedThroughAKill(t *testing.T) {
	broker := stand.Kafka(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Address()), kgo.DefaultProduceTopic("t"),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(ctx, 1, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		if err := client.ProduceSync(ctx, kgo.StringRecord("kept")).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := broker.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := broker.Start(ctx); err != nil {
			t.Fatal(err)
		}
		fetched := client.PollRecords(ctx, 1)
		if got := fetched.NumRecords(); got != 1 || fetched.Records()[0].Offset != int64(round) {
			t.Fatalf("round %d: got %d records, errors %v", round, got, fetched.Errors())
		}
	}
	if err := broker.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}

// The broker would miss the killed worker only after longer than the test waits.
func TestConnect_startsAgainAfterAKill(t *testing.T) {
	broker := stand.Kafka(t)
	connect := stand.KafkaConnect(t, broker, func(c *kafka.ConnectConfig) {
		c.Settings = map[string]string{"session.timeout.ms": "1200000", "rebalance.timeout.ms": "1200000"}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := connect.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := connect.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := connect.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}
