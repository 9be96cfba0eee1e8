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

// StrimziConnect is Kafka Connect with Debezium.
//
// It lacks the annotation strimzi.io/use-connector-resources: units register their connectors by its REST interface. A unit has to make slot,
// publication and connector in one order, to forget what Connect recorded for an earlier slot, and to judge a failed task by what was delivered; a
// KafkaConnector, which Strimzi brings about whenever it sees it, can promise none of that, and would hold the database's password.
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
			// A restart of the broker must not restart the connectors: see docs/transport.md.
			"session.timeout.ms": int64(90000), "heartbeat.interval.ms": int64(30000), "scheduled.rebalance.max.delay.ms": int64(0),
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
	return c.strimzi("KafkaConnect", name, fields)
}

// strimziWorkers selects the pods of Kafka Connect.
func strimziWorkers(c *v1alpha1.HTAPCluster) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: map[string]string{StrimziCluster: StrimziKafkaName(c), "strimzi.io/kind": "KafkaConnect"}}
}

// ConnectPolicy lets only units, the operator and other workers reach the REST interface, which asks nobody for a password and shows the database's.
func (c Cluster) ConnectPolicy() *networkingv1.NetworkPolicy {
	workers := strimziWorkers(c.HTAPCluster)
	return &networkingv1.NetworkPolicy{
		ObjectMeta: meta(c.HTAPCluster, componentPipeline, c.Name+"-connect"),
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
