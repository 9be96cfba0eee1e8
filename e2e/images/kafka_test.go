//go:build kubernetes

package images_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/freshet-io/freshet/e2e/images"
)

func TestImages_kafkaIsABrokerAndConnectWithDebezium(t *testing.T) {
	const config, data = "/etc/kafka", "/var/lib/kafka"
	c := unpack(t, images.Kafka, config, data)
	// As few settings as each takes: what pods are given is in the tests on pods.
	listen, controller, rest := "127.0.0.1:"+freePort(t), "127.0.0.1:"+freePort(t), "127.0.0.1:"+freePort(t)
	for name, lines := range map[string][]string{
		"broker.properties": {
			"process.roles=broker,controller", "node.id=1", "controller.quorum.voters=1@" + controller, "log.dirs=" + data + "/logs",
			"listeners=PLAINTEXT://" + listen + ",CONTROLLER://" + controller, "controller.listener.names=CONTROLLER",
			"offsets.topic.replication.factor=1", "log.cleaner.dedupe.buffer.size=8388608",
		},
		"worker.properties": {
			"bootstrap.servers=" + listen, "group.id=connect", "listeners=http://" + rest, "plugin.discovery=service_load",
			"key.converter=org.apache.kafka.connect.json.JsonConverter", "value.converter=org.apache.kafka.connect.json.JsonConverter",
			"config.storage.topic=config", "config.storage.replication.factor=1", "offset.storage.topic=offsets",
			"offset.storage.replication.factor=1", "status.storage.topic=status", "status.storage.replication.factor=1",
		},
	} {
		if err := os.WriteFile(filepath.Join(c.volume(t, config), name), []byte(strings.Join(lines, "\n")), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	// With classes mapped from the image, which Java refuses where they are not the runtime's.
	format := c.start(t, nil, "-Xshare:on", "-Xmx64m", "kafka.tools.StorageTool", "format", "--cluster-id", "ZnJlc2hldC1pbWFnZXMtMQ", "--config", config+"/broker.properties")
	<-format.done
	if code := format.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("formatting the folder ended with code %d:\n%s", code, format.output.String())
	}
	broker := c.start(t, nil, "-Xmx256m", "kafka.Kafka", config+"/broker.properties")
	worker := c.start(t, nil, "-Xmx384m", "org.apache.kafka.connect.cli.ConnectDistributed", config+"/worker.properties")
	worker.until(t, "Kafka Connect with Debezium's connector", func() error { return connectorAt(rest) })
	for name, p := range map[string]*process{"Kafka Connect": worker, "the broker": broker} {
		if code := p.end(t, syscall.SIGTERM); code != 0 && code != 128+int(syscall.SIGTERM) {
			t.Errorf("%s ended with code %d", name, code)
		}
	}
}

// connectorAt returns an error unless Kafka Connect at an address has joined its group and has Debezium's connector for PostgreSQL.
func connectorAt(address string) error {
	health, err := http.Get("http://" + address + "/health")
	if err != nil {
		return err
	}
	_ = health.Body.Close()
	if health.StatusCode != http.StatusOK {
		return fmt.Errorf("its health: %s", health.Status)
	}
	answer, err := http.Get("http://" + address + "/connector-plugins")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var plugins []struct{ Class string }
	if err := json.NewDecoder(answer.Body).Decode(&plugins); err != nil {
		return err
	}
	for _, p := range plugins {
		if p.Class == "io.debezium.connector.postgresql.PostgresConnector" {
			return nil
		}
	}
	return fmt.Errorf("it has %v only", plugins)
}
