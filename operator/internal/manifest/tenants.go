package manifest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

const (
	tenantsDir  = "/etc/freshet/tenants"
	tenantsFile = "tenants.yaml"
)

// TenantsSeen is the annotation of running pods of units by which a kubelet, which otherwise looks at mounted ConfigMaps
// once a minute, is made to look at once. The template does not have it: no pod is replaced.
const TenantsSeen = "freshet.io/tenants"

// TenantsName names the ConfigMap with the file of tenants.
func TenantsName(c *v1alpha1.HTAPCluster) string { return c.Name + "-tenants" }

// Tenants is the ConfigMap with the file of tenants, which the gateways of all units read.
func (c Cluster) Tenants(content []byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: meta(c.HTAPCluster, componentUnit, TenantsName(c.HTAPCluster)),
		Data:       map[string]string{tenantsFile: string(content)},
	}
}

func tenantsMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: "tenants", MountPath: tenantsDir, ReadOnly: true}
}

// tenantsVolume need not exist: a cluster may have no tenants.
func (c Cluster) tenantsVolume() corev1.Volume {
	return corev1.Volume{Name: "tenants", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: TenantsName(c.HTAPCluster)},
		DefaultMode:          ptr.To[int32](0o444), Optional: ptr.To(true),
	}}}
}
