//go:build kafka

package debezium

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/stand"
)

// A Connect that delivers exactly once commits by records of the broker's own, also behind the last END. While the database is idle nothing comes
// after those.
func TestHistory_findsThePositionBeforeWhatTheBrokerAdds(t *testing.T) {
	broker := stand.Kafka(t)
	s, err := New(Config{Postgres: postgres.Config{URL: "postgres://nobody@127.0.0.1:1/none"}, Transport: Transport{Kafka: kafka.Config{Brokers: []string{broker.Address()}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	producer, err := kgo.NewClient(kgo.SeedBrokers(broker.Address()), kgo.TransactionalID("connect"), kgo.DefaultProduceTopic(s.cfg.boundsTopic()))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	if _, err := s.admin.CreateTopic(ctx, 1, 1, nil, s.cfg.boundsTopic()); err != nil {
		t.Fatal(err)
	}
	for _, position := range []uint64{100, 200} {
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		end := fmt.Appendf(nil, `{"status":"END","id":"7:%d","ts_ms":1,"event_count":0,"data_collections":[]}`, position)
		if err := producer.ProduceSync(ctx, &kgo.Record{Value: end}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := producer.EndTransaction(ctx, kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
	}
	for from, want := range map[uint64]uint64{150: 100, 300: 200} {
		m, err := s.findStart(ctx, cdc.Position{Major: from})
		if err != nil {
			t.Fatal(err)
		}
		if m.position.Major != want {
			t.Errorf("to go on from %d, the END of %d was found, want that of %d", from, m.position.Major, want)
		}
	}
}
