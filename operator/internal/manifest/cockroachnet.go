package manifest

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// CockroachService is the address of all nodes that are ready.
func (c Cluster) CockroachService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: meta(c.HTAPCluster, componentOLTP, OLTPName(c.HTAPCluster)),
		Spec: corev1.ServiceSpec{
			Selector: selector(c.HTAPCluster, componentOLTP),
			Ports:    []corev1.ServicePort{servicePort("sql", CockroachPort), servicePort("http", cockroachHTTPPort)},
		},
	}
}

// NodesService gives each node a name of its own, ready or not: nodes find each other before any is ready.
func (c Cluster) NodesService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: meta(c.HTAPCluster, componentOLTP, NodesName(c.HTAPCluster)),
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: selector(c.HTAPCluster, componentOLTP),
			Ports: []corev1.ServicePort{servicePort("sql", CockroachPort), servicePort("http", cockroachHTTPPort)},
		},
	}
}

// CockroachDisruption lets one node at a time be evicted: rows are on three.
func (c Cluster) CockroachDisruption() *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: meta(c.HTAPCluster, componentOLTP, OLTPName(c.HTAPCluster)),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(1)),
			Selector:       &metav1.LabelSelector{MatchLabels: selector(c.HTAPCluster, componentOLTP)},
		},
	}
}

// CockroachPolicy lets nodes, units, the operator and its Jobs at the SQL port, which is the nodes' own too. The HTTP port has metrics
// and the console, both behind TLS, and a password where it matters.
func (c Cluster) CockroachPolicy() *networkingv1.NetworkPolicy {
	peer := func(component string) networkingv1.NetworkPolicyPeer {
		return networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: selector(c.HTAPCluster, component)}}
	}
	return &networkingv1.NetworkPolicy{
		ObjectMeta: meta(c.HTAPCluster, componentOLTP, OLTPName(c.HTAPCluster)),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: selector(c.HTAPCluster, componentOLTP)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				{
					From:  []networkingv1.NetworkPolicyPeer{peer(componentOLTP), peer(componentUnit), peer(componentAdmin), operatorPeer()},
					Ports: policyPorts(CockroachPort),
				},
				{Ports: policyPorts(cockroachHTTPPort)},
			},
		},
	}
}
