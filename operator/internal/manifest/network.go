package manifest

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// UnitsPolicy opens the units' two ports, and no other.
func (c Cluster) UnitsPolicy() *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: meta(c.HTAPCluster, componentUnit, UnitsName(c.HTAPCluster)),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: Selector(c.HTAPCluster)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{Ports: policyPorts(SQLPort, MonitorPort)}},
		},
	}
}

// OLTPPolicy lets only the units, the operator, Kafka Connect and what takes base backups reach the builtin database.
func (c Cluster) OLTPPolicy() *networkingv1.NetworkPolicy {
	peers := c.databasePeers()
	if c.Spec.OLTP.PostgreSQL.Archive != nil {
		peers = append(peers, networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: selector(c.HTAPCluster, componentAdmin)}})
	}
	return &networkingv1.NetworkPolicy{
		ObjectMeta: meta(c.HTAPCluster, componentOLTP, OLTPName(c.HTAPCluster)),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: selector(c.HTAPCluster, componentOLTP)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: peers, Ports: policyPorts(SQLPort)}},
		},
	}
}

// databasePeers are who reads the database.
func (c Cluster) databasePeers() []networkingv1.NetworkPolicyPeer {
	units := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: Selector(c.HTAPCluster)}}
	return append([]networkingv1.NetworkPolicyPeer{units, operatorPeer()}, c.connectPeers()...)
}

// operatorPeer is the operator, in whatever namespace.
func operatorPeer() networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{
		NamespaceSelector: &metav1.LabelSelector{},
		PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": ManagedBy}},
	}
}

// connectPeers are the workers of Kafka Connect, which read the database.
func (c Cluster) connectPeers() []networkingv1.NetworkPolicyPeer {
	if c.Spec.CDC.Kafka == nil {
		return nil
	}
	if c.Spec.CDC.Kafka.Strimzi != nil {
		workers := strimziWorkers(c.HTAPCluster)
		return []networkingv1.NetworkPolicyPeer{{PodSelector: &workers}}
	}
	if connect := c.Spec.CDC.Kafka.Connect; connect != nil && len(connect.From) > 0 {
		return connect.From
	}
	return []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}} // any pod of this namespace
}

func policyPorts(numbers ...int32) []networkingv1.NetworkPolicyPort {
	var ports []networkingv1.NetworkPolicyPort
	for _, n := range numbers {
		ports = append(ports, networkingv1.NetworkPolicyPort{Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt32(n))})
	}
	return ports
}
