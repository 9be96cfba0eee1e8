package manifest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// strimziVersion is the API of Strimzi's objects, from its release 1.0 on.
var strimziVersion = schema.GroupVersion{Group: "kafka.strimzi.io", Version: "v1"}

// StrimziCluster is Strimzi's label of what belongs to one Kafka, or to one Kafka Connect.
const StrimziCluster = "strimzi.io/cluster"

// strimziTLSPort is the port of the only listener.
const strimziTLSPort = 9093

// StrimziKafkaName names the Kafka, and Kafka Connect too: the names of both are as short as those of services should be.
func StrimziKafkaName(c *v1alpha1.HTAPCluster) string { return c.Name }

// StrimziPoolName names Kafka's nodes.
func StrimziPoolName(c *v1alpha1.HTAPCluster) string { return c.Name + "-kafka" }

// StrimziAuthority is where Strimzi keeps the certificate that the brokers' are verified by.
func StrimziAuthority(c *v1alpha1.HTAPCluster) SecretKey {
	return SecretKey{Secret: StrimziKafkaName(c) + "-cluster-ca-cert", Key: caFile}
}

// StrimziBootstrap is the bootstrap address of Strimzi's Kafka.
func StrimziBootstrap(c *v1alpha1.HTAPCluster) string {
	return fmt.Sprintf("%s-kafka-bootstrap.%s.svc:%d", StrimziKafkaName(c), c.Namespace, strimziTLSPort)
}

// StrimziKafka is the Kafka, which accepts clients by TLS and password, and lets each only at what it needs.
func (c Cluster) StrimziKafka() *unstructured.Unstructured {
	copies := int64(min(3, c.Spec.CDC.Kafka.Strimzi.Replicas))
	return c.strimzi("Kafka", StrimziKafkaName(c.HTAPCluster), map[string]any{
		"kafka": map[string]any{
			"listeners": []any{map[string]any{
				"name": "tls", "port": int64(strimziTLSPort), "type": "internal", "tls": true,
				"authentication": map[string]any{"type": "scram-sha-512"},
			}},
			"authorization": map[string]any{"type": "simple"},
			"config": map[string]any{
				"default.replication.factor": copies, "min.insync.replicas": max(1, copies-1), "offsets.topic.replication.factor": copies,
				"transaction.state.log.replication.factor": copies, "transaction.state.log.min.isr": max(1, copies-1),
				// A reader of a topic that was deleted must find it missing, not empty.
				"auto.create.topics.enable": false,
			},
		},
		"entityOperator": c.strimziEntities(),
	})
}

// strimziEntities look after users, and after topics where there are any.
func (c Cluster) strimziEntities() map[string]any {
	entities := map[string]any{"userOperator": map[string]any{}}
	if byStrimzi(c.HTAPCluster) {
		entities["topicOperator"] = map[string]any{}
		// Topics end with their Kafka, and the topic operator with it: a finalizer of its would keep them, and their namespace, for ever.
		entities["template"] = map[string]any{"topicOperatorContainer": map[string]any{
			"env": []any{map[string]any{"name": "STRIMZI_USE_FINALIZERS", "value": "false"}},
		}}
	}
	return entities
}

// StrimziTopics are those in which Kafka Connect keeps its state. Those of changes come and go with tables and slots: units make and delete them.
func (c Cluster) StrimziTopics() []*unstructured.Unstructured {
	if !byStrimzi(c.HTAPCluster) {
		return nil
	}
	var topics []*unstructured.Unstructured
	for _, t := range []struct {
		suffix     string
		partitions int64 // as Kafka Connect makes them by itself
	}{{"configs", 1}, {"offsets", 25}, {"status", 5}} {
		topic := c.strimzi("KafkaTopic", StrimziConnectUser(c.HTAPCluster)+"-"+t.suffix, map[string]any{ // with the broker's replication: a change would be refused
			"partitions": t.partitions, "config": map[string]any{"cleanup.policy": "compact"},
		})
		c.belongsTo(topic, StrimziKafkaName(c.HTAPCluster))
		topics = append(topics, topic)
	}
	return topics
}

// StrimziPool are the nodes of the Kafka. They hold copies, so that their volumes go with them.
func (c Cluster) StrimziPool() *unstructured.Unstructured {
	spec := c.Spec.CDC.Kafka.Strimzi
	volume := map[string]any{
		"id": int64(0), "type": "persistent-claim", "size": spec.Storage.Size.String(), "kraftMetadata": "shared", "deleteClaim": true,
	}
	if class := spec.Storage.StorageClassName; class != nil {
		volume["class"] = *class
	}
	pool := c.strimzi("KafkaNodePool", StrimziPoolName(c.HTAPCluster), map[string]any{
		"replicas": int64(spec.Replicas), "roles": []any{"controller", "broker"},
		"storage":   map[string]any{"type": "jbod", "volumes": []any{volume}},
		"resources": bothResources(spec.Resources, nil),
	})
	c.belongsTo(pool, StrimziKafkaName(c.HTAPCluster))
	return pool
}

// belongsTo labels an object as part of a Kafka, or of a Kafka Connect.
func (c Cluster) belongsTo(o *unstructured.Unstructured, whole string) {
	labels := o.GetLabels()
	labels[StrimziCluster] = whole
	o.SetLabels(labels)
}

// strimzi is one of Strimzi's objects.
func (c Cluster) strimzi(kind, name string, spec map[string]any) *unstructured.Unstructured {
	return c.foreign(strimziVersion.WithKind(kind), componentPipeline, name, spec)
}
