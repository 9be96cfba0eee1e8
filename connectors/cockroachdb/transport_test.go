package cockroachdb

import (
	"strings"
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/kafka"
)

func TestTransport_asksTheDatabaseAtItsAddress(t *testing.T) {
	s, url := startServer(t, fixture(t),
		answer{Begins: "SELECT crdb_internal.cluster_id()", Rows: [][]string{{"5b2b0d1a-0000-4000-8000-000000000001"}}},
		answer{Begins: "SELECT job_id"}, answer{Begins: clockSQL, Rows: [][]string{{"1763632800000000000.0000000003"}}},
		answer{Begins: "CREATE CHANGEFEED", Rows: [][]string{{"9"}}},
		answer{Begins: "SELECT (SELECT string_agg", Rows: [][]string{{"106=2", "1763632800400000000.0000000000"}}}, // too early
		answer{Begins: "SELECT (SELECT string_agg", Rows: [][]string{{"106=3", "1763632800500000000.0000000003"}}})
	transport := Transport{Kafka: kafka.Config{Brokers: []string{"broker:9092"}}, Sink: kafka.Secret{Value: "kafka://broker:9092"}}
	src, err := transport.Open(url, nil, []string{"public.skipped"}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if id, err := src.SystemID(t.Context()); err != nil || id != "5b2b0d1a-0000-4000-8000-000000000001" {
		t.Errorf("the system is %q, error %v", id, err)
	}
	if _, err := src.Tables(t.Context()); err != nil {
		t.Fatal(err)
	}
	if created := s.statements(); len(created) != 1 || !strings.Contains(created[0], "topic_prefix=freshet.") {
		t.Errorf("statements %q, want one that creates the changefeed", created)
	}
	versions, err := src.Versions(t.Context(), []cdc.TableID{106, 107})
	if err != nil || len(versions) != 1 || versions[106] != "3" {
		t.Errorf("versions %v, error %v", versions, err)
	}
}

func TestTransport_refusesASinkThatCannotBeRead(t *testing.T) {
	transport := Transport{Kafka: kafka.Config{Brokers: []string{"broker:9092"}}, Sink: kafka.Secret{File: t.TempDir() + "/none"}}
	if _, err := transport.Open("postgres://root@localhost/shop", nil, nil, Config{}); err == nil {
		t.Error("it was accepted")
	}
}
