package manifest

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

const (
	// databaseProvider names the volume with the database's password in Kafka Connect's pods, and what reads it for connectors.
	databaseProvider = "database"
	// databaseDir is where it is mounted: Strimzi allows that below /mnt only.
	databaseDir = "/mnt/" + databaseProvider
)

// StrimziConnectorKind is the kind of connectors.
var StrimziConnectorKind = strimziVersion.WithKind("KafkaConnector")

// StrimziDatabaseName names the Secret with the password by which Kafka Connect reads the database.
func StrimziDatabaseName(c *v1alpha1.HTAPCluster) string { return c.Name + "-connect-database" }

// StrimziDatabase is that Secret.
func (c Cluster) StrimziDatabase(databaseURL string) (*corev1.Secret, error) {
	settings, err := c.strimziSettings(0, databaseURL)
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{
		ObjectMeta: meta(c.HTAPCluster, componentPipeline, StrimziDatabaseName(c.HTAPCluster)), Data: map[string][]byte{passwordFile: []byte(settings[passwordSetting])},
	}, nil
}

// StrimziConnector is the connector of a unit, which has the unit's name. It is stopped until slot and publication are there: Debezium would create
// a slot of its own, at another position than where the unit's copy begins. And when they are gone, it is stopped so that the unit can
// forget what Kafka Connect recorded for them. databaseURL is how workers reach the database; its password is not in the object.
//
// Strimzi does not restart it when it fails: the unit does, and gives up by what was delivered.
func (c Cluster) StrimziConnector(number int32, databaseURL string, running bool) (*unstructured.Unstructured, error) {
	settings, err := c.strimziSettings(number, databaseURL)
	if err != nil {
		return nil, err
	}
	settings[passwordSetting] = "${" + databaseProvider + ":" + databaseDir + ":" + passwordFile + "}"
	class := settings["connector.class"]
	maps.DeleteFunc(settings, func(key, _ string) bool { return key == "connector.class" || key == "tasks.max" }) // fields have them
	config := map[string]any{}
	for key, value := range settings {
		config[key] = value
	}
	state := "stopped"
	if running {
		state = "running"
	}
	connector := c.strimzi(StrimziConnectorKind.Kind, UnitName(c.HTAPCluster, number), map[string]any{
		"class": class, "tasksMax": int64(1), "config": config, "state": state, "autoRestart": map[string]any{"enabled": false},
	})
	c.belongsTo(connector, StrimziKafkaName(c.HTAPCluster))
	return connector, nil
}

// passwordSetting is the setting of a connector with the database's password.
const passwordSetting = "database.password"

// strimziSettings are those of a unit's connector as it would be registered, with the password.
func (c Cluster) strimziSettings(number int32, databaseURL string) (map[string]string, error) {
	slot := fmt.Sprint(SlotPrefix(c.HTAPCluster), number)
	settings, err := debezium.ConnectorSettings(debezium.Config{
		Postgres:  postgres.Config{URL: databaseURL, Slot: slot},
		Transport: debezium.Transport{Kafka: kafka.Config{Brokers: []string{StrimziBootstrap(c.HTAPCluster)}}, Prefix: slot},
	})
	if err != nil {
		return nil, fmt.Errorf("make connector of unit %d: %w", number, err)
	}
	return settings, nil
}
