package manifest

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// CockroachInitName names the Job that makes one cluster of new nodes.
func (c Cluster) CockroachInitName() string { return OLTPName(c.HTAPCluster) + "-init" }

// CockroachInit is that Job. Nodes whose volumes were kept are a cluster already, which is as good.
func (c Cluster) CockroachInit() *batchv1.Job {
	little := v1alpha1.ResourcesSpec{CPU: resource.MustParse("100m"), Memory: resource.MustParse("256Mi")}
	script := fmt.Sprintf(`if said=$(%s init --certs-dir=%s --host=%s 2>&1); then exit 0; fi
echo "$said"
case "$said" in *"already been initialized"*) exit 0;; esac
exit 1`, cockroachProgram, cockroachCerts, c.cockroachNode(0))
	pod := corev1.PodSpec{
		RestartPolicy:                corev1.RestartPolicyOnFailure,
		SecurityContext:              restrictPod(cockroachUser),
		AutomountServiceAccountToken: ptr.To(false),
		EnableServiceLinks:           ptr.To(false),
		InitContainers:               []corev1.Container{c.copyCertificates(little)},
		Containers: []corev1.Container{{
			Name: "init", Image: c.Spec.OLTP.CockroachDB.Image, Command: []string{"/bin/sh", "-c", script}, SecurityContext: restrictContainer(),
			Resources:    guaranteed(little),
			VolumeMounts: []corev1.VolumeMount{mount("certs", cockroachCerts), mount("tmp", "/tmp")},
		}},
		Volumes: cockroachVolumes(CockroachRootName(c.HTAPCluster)),
	}
	place(&pod, c.OLTPPool)
	labels := labels(c.HTAPCluster, componentInit)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: c.CockroachInitName(), Namespace: c.Namespace, Labels: labels},
		Spec: batchv1.JobSpec{
			BackoffLimit: ptr.To[int32](1000), // nodes may take long to be scheduled
			Template:     corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}
}
