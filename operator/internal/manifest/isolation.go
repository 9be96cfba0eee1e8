package manifest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// DatabaseSelector finds the pods of the database that the operator provides.
func DatabaseSelector(c *v1alpha1.HTAPCluster) map[string]string {
	if ByCloudNativePG(c) {
		return map[string]string{cloudNativePGCluster: OLTPName(c)}
	}
	return selector(c, componentOLTP)
}

// apart keeps a unit off nodes that run the database, where that is asked for. The scheduler holds to it the other way round as well, so
// that the database's pods need not say it, nor be replaced for it.
func (c Cluster) apart(pod *corev1.PodSpec) {
	if c.Spec.Isolation.Mode != v1alpha1.IsolationDedicated {
		return
	}
	pod.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: DatabaseSelector(c.HTAPCluster)}, TopologyKey: corev1.LabelHostname,
		}},
	}}
}
