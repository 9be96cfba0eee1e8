package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet-io/freshet/connectors/cockroachdb"
	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/local/platform"
)

func TestGateway_takesItsSourceFromTheEnvironment(t *testing.T) {
	broker := kafka.Config{Brokers: []string{"a:1"}}
	for name, c := range map[string]struct {
		file platform.GatewayConfig
		vars map[string]string
		want platform.GatewayConfig
	}{
		"nothing":  {},
		"debezium": {vars: map[string]string{"FRESHET_KAFKA_BROKERS": "a:1"}, want: platform.GatewayConfig{Kafka: &debezium.Transport{Kafka: broker}}},
		"changefeed": {vars: map[string]string{"FRESHET_SOURCE": "cockroachdb", "FRESHET_KAFKA_BROKERS": "a:1", "FRESHET_KAFKA_PREFIX": "p.", "FRESHET_CHANGEFEED_SINK": "kafka://a:1"},
			want: platform.GatewayConfig{CockroachDB: &cockroachdb.Transport{Kafka: broker, Prefix: "p.", Sink: kafka.Secret{Value: "kafka://a:1"}}}},
		"the file says more": {file: platform.GatewayConfig{Kafka: &debezium.Transport{Prefix: "x"}}, vars: map[string]string{"FRESHET_SOURCE": "cockroachdb"},
			want: platform.GatewayConfig{Kafka: &debezium.Transport{Prefix: "x"}}},
	} {
		got := c.file
		err := applyEnvironment(&got, func(name string) (string, bool) { v, ok := c.vars[name]; return v, ok })
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
	if err := applyEnvironment(&platform.GatewayConfig{}, func(string) (string, bool) { return "oracle", true }); err == nil {
		t.Error("an unknown source was accepted")
	}
}
