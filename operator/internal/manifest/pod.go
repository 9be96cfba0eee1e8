package manifest

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// restrictPod meets the Pod Security Standard "restricted" for a pod that runs as user.
func restrictPod(user int64) *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), RunAsUser: &user, RunAsGroup: &user, FSGroup: &user,
		FSGroupChangePolicy: ptr.To(corev1.FSGroupChangeOnRootMismatch), // walking a large volume at each start takes minutes
		SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func restrictContainer() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// guaranteed asks for and limits to the same, which is what QoS class Guaranteed means.
func guaranteed(r v1alpha1.ResourcesSpec) corev1.ResourceRequirements {
	list := corev1.ResourceList{corev1.ResourceCPU: r.CPU, corev1.ResourceMemory: r.Memory}
	return corev1.ResourceRequirements{Requests: list, Limits: list}
}

// equipped is guaranteed, with the huge pages and devices that a pool gives to the container of a pod that is its purpose. No volume is needed
// for huge pages: programs map them without a file.
func equipped(r v1alpha1.ResourcesSpec, pool *v1alpha1.HTAPNodePool) corev1.ResourceRequirements {
	requirements := guaranteed(r)
	if pool != nil {
		for name, amount := range pool.Spec.Equipment() {
			requirements.Limits[name] = amount // which are the requests too
		}
	}
	return requirements
}

// place puts pods on a pool's nodes.
func place(pod *corev1.PodSpec, pool *v1alpha1.HTAPNodePool) {
	if pool != nil {
		pod.NodeSelector, pod.Tolerations = pool.Spec.NodeSelector, pool.Spec.Tolerations
	}
}

// dataVolume names the claim of each pod.
const dataVolume = "data"

func claim(s v1alpha1.DataStorageSpec) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: dataVolume},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: s.StorageClassName,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: s.Size}},
		},
	}
}

func fromSecret(name, secret, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key,
	}}}
}

// secretVolume has keys of a Secret as files, or all of them, for root and the pod's group only: servers refuse a key that others can read.
func secretVolume(volume, secret string, keys ...string) corev1.Volume {
	source := &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: ptr.To[int32](0o440)}
	for _, k := range keys {
		source.Items = append(source.Items, corev1.KeyToPath{Key: k, Path: k})
	}
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Secret: source}}
}

func scratch(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

func mount(volume, path string) corev1.VolumeMount {
	return corev1.VolumeMount{Name: volume, MountPath: path}
}

func patterns(list []v1alpha1.TablePattern) string {
	var out []string
	for _, p := range list {
		out = append(out, string(p))
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// PodReady says that a pod is ready and stays.
func PodReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp.IsZero() && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
