package manifest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// StrimziUnitUser is the account of units and operator, and names the Secret in which Strimzi keeps its password.
func StrimziUnitUser(c *v1alpha1.HTAPCluster) string { return c.Name + "-kafka-unit" }

// StrimziConnectUser is the account of Kafka Connect, likewise.
func StrimziConnectUser(c *v1alpha1.HTAPCluster) string { return c.Name + "-kafka-connect" }

// heartbeatTopics begins the names of the topics of Debezium's heartbeats.
const heartbeatTopics = "__debezium-heartbeat."

// StrimziUsers are the accounts, each with what it needs and no more.
func (c Cluster) StrimziUsers() []*unstructured.Unstructured {
	changes, own := SlotPrefix(c.HTAPCluster), StrimziConnectUser(c.HTAPCluster)
	if c.Spec.CDC.Kafka.Strimzi.Connect == nil { // changefeeds write by the units' account
		return []*unstructured.Unstructured{c.strimziUser(StrimziUnitUser(c.HTAPCluster),
			rule("topic", changes, "Create", "Describe", "DescribeConfigs", "Read", "Write", "Delete"),
		)}
	}
	return []*unstructured.Unstructured{
		c.strimziUser(StrimziUnitUser(c.HTAPCluster),
			rule("topic", changes, "Create", "Describe", "DescribeConfigs", "AlterConfigs", "Read", "Delete"),
			rule("topic", heartbeatTopics+changes, "Describe", "Delete"),
		),
		c.strimziUser(own,
			rule("topic", changes, "Create", "Describe", "DescribeConfigs", "Write"),
			rule("topic", heartbeatTopics+changes, "Create", "Describe", "DescribeConfigs", "Write"),
			rule("topic", own+"-", "Create", "Describe", "DescribeConfigs", "Read", "Write"),
			rule("group", own, "Read", "Describe"),
		),
	}
}

func (c Cluster) strimziUser(name string, rules ...any) *unstructured.Unstructured {
	user := c.strimzi("KafkaUser", name, map[string]any{
		"authentication": map[string]any{"type": "scram-sha-512"},
		"authorization":  map[string]any{"type": "simple", "acls": rules},
	})
	c.belongsTo(user, StrimziKafkaName(c.HTAPCluster))
	return user
}

// rule allows operations on what begins with a name.
func rule(kind, begin string, operations ...any) map[string]any {
	return map[string]any{
		"resource":   map[string]any{"type": kind, "name": begin, "patternType": "prefix"},
		"operations": operations,
	}
}
