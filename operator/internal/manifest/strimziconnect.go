package manifest

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// connectPort is the port of Kafka Connect's REST interface.
const connectPort = 8083

// StrimziConnectURL is the address of Kafka Connect's REST interface.
func StrimziConnectURL(c *v1alpha1.HTAPCluster) string {
	return fmt.Sprintf("http://%s-connect-api.%s.svc:%d", StrimziKafkaName(c), c.Namespace, connectPort)
}

// byStrimzi says that Strimzi runs Kafka Connect.
func byStrimzi(c *v1alpha1.HTAPCluster) bool {
	k := c.Spec.CDC.Kafka
	return k != nil && k.Strimzi != nil && k.Strimzi.Connect != nil
}

// StrimziConnect is Kafka Connect with Debezium. Its connectors are [Cluster.StrimziConnector]; workers read the database's password from a file.
func (c Cluster) StrimziConnect() *unstructured.Unstructured {
	spec, name, user := c.Spec.CDC.Kafka.Strimzi.Connect, StrimziKafkaName(c.HTAPCluster), StrimziConnectUser(c.HTAPCluster)
	fields := map[string]any{
		"replicas": int64(spec.Replicas), "bootstrapServers": StrimziBootstrap(c.HTAPCluster), "groupId": user,
		"configStorageTopic": user + "-configs", "statusStorageTopic": user + "-status", "offsetStorageTopic": user + "-offsets",
		"tls": map[string]any{"trustedCertificates": []any{
			map[string]any{"secretName": StrimziAuthority(c.HTAPCluster).Secret, "pattern": "*.crt"}, // two while the authority is renewed
		}},
		"authentication": map[string]any{
			"type": "scram-sha-512", "username": user, "passwordSecret": map[string]any{"secretName": user, "password": passwordFile},
		},
		"config": map[string]any{
			"config.storage.replication.factor": int64(-1), "status.storage.replication.factor": int64(-1), "offset.storage.replication.factor": int64(-1),
			"connector.client.config.override.policy": "All", // Debezium's batches are tuned
			"offset.flush.interval.ms":                int64(1000),
			// A restart of the broker must not restart the connectors: see docs/transport-measured.md.
			"session.timeout.ms": int64(90000), "heartbeat.interval.ms": int64(30000), "scheduled.rebalance.max.delay.ms": int64(0),
			"config.providers": databaseProvider, // beside those of Strimzi's
			"config.providers." + databaseProvider + ".class":               "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
			"config.providers." + databaseProvider + ".param.allowed.paths": databaseDir,
		},
		"template": map[string]any{
			"pod": map[string]any{"volumes": []any{map[string]any{
				"name": databaseProvider, "secret": map[string]any{"secretName": StrimziDatabaseName(c.HTAPCluster)},
			}}},
			"connectContainer": map[string]any{"volumeMounts": []any{map[string]any{"name": databaseProvider, "mountPath": databaseDir, "readOnly": true}}},
		},
		"resources": bothResources(spec.Resources, nil),
	}
	if spec.Image != "" {
		fields["image"] = spec.Image
	} else {
		fields["plugins"] = []any{map[string]any{
			"name": "debezium", "artifacts": []any{map[string]any{"type": "image", "reference": spec.PluginImage}},
		}}
	}
	connect := c.strimzi("KafkaConnect", name, fields)
	connect.SetAnnotations(map[string]string{"strimzi.io/use-connector-resources": "true"})
	return connect
}

// strimziWorkers selects the pods of Kafka Connect.
func strimziWorkers(c *v1alpha1.HTAPCluster) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: map[string]string{StrimziCluster: StrimziKafkaName(c), "strimzi.io/kind": "KafkaConnect"}}
}

// ConnectPolicy lets only units, the operator and other workers reach the REST interface, which asks nobody for a password. Strimzi's operator is let in by a
// policy of Strimzi's, which is named <name>-connect.
func (c Cluster) ConnectPolicy() *networkingv1.NetworkPolicy {
	workers := strimziWorkers(c.HTAPCluster)
	return &networkingv1.NetworkPolicy{
		ObjectMeta: meta(c.HTAPCluster, componentPipeline, c.Name+"-connect-clients"),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: workers,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From:  []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: Selector(c.HTAPCluster)}}, operatorPeer(), {PodSelector: &workers}},
				Ports: policyPorts(connectPort),
			}},
		},
	}
}
