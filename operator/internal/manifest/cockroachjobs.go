package manifest

import (
	"fmt"
	"strconv"

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
	script := fmt.Sprintf(`if said=$(%s init --certs-dir=%s --host=%s 2>&1); then exit 0; fi
echo "$said"
case "$said" in *"already been initialized"*) exit 0;; esac
exit 1`, cockroachProgram, cockroachCerts, c.cockroachNode(0))
	return c.cockroachJob(c.CockroachInitName(), "init", []string{"/bin/sh", "-c", script})
}

// DecommissionName names the Job that decommissions nodes.
func (c Cluster) DecommissionName() string { return OLTPName(c.HTAPCluster) + "-decommission" }

// Decommission is that Job. It ends when the nodes hold no replicas, and fails where CockroachDB sees that they could not become so.
func (c Cluster) Decommission(ids []int) *batchv1.Job {
	return c.cockroachJob(c.DecommissionName(), "decommission", c.nodeCommand(ids, "decommission", "--wait=all", "--checks=enabled"))
}

// RecommissionName names the Job that keeps nodes that were being decommissioned.
func (c Cluster) RecommissionName() string { return OLTPName(c.HTAPCluster) + "-recommission" }

// Recommission is that Job.
func (c Cluster) Recommission(ids []int) *batchv1.Job {
	return c.cockroachJob(c.RecommissionName(), "recommission", c.nodeCommand(ids, "recommission"))
}

// nodeCommand speaks to the first node, which never goes: SQL has no statement for it.
func (c Cluster) nodeCommand(ids []int, verb string, flags ...string) []string {
	command := []string{cockroachProgram, "node", verb}
	for _, id := range ids {
		command = append(command, strconv.Itoa(id))
	}
	return append(append(command, flags...), "--certs-dir="+cockroachCerts, "--host="+c.cockroachNode(0))
}

// cockroachJob runs a command as root until it succeeds.
func (c Cluster) cockroachJob(name, container string, command []string) *batchv1.Job {
	little := v1alpha1.ResourcesSpec{CPU: resource.MustParse("100m"), Memory: resource.MustParse("256Mi")}
	pod := corev1.PodSpec{
		RestartPolicy:                corev1.RestartPolicyOnFailure,
		SecurityContext:              restrictPod(cockroachUser),
		AutomountServiceAccountToken: ptr.To(false),
		EnableServiceLinks:           ptr.To(false),
		InitContainers:               []corev1.Container{c.copyCertificates(little)},
		Containers: []corev1.Container{{
			Name: container, Image: c.Spec.OLTP.CockroachDB.Image, Command: command, SecurityContext: restrictContainer(),
			Resources:                guaranteed(little),
			VolumeMounts:             []corev1.VolumeMount{mount("certs", cockroachCerts), mount("tmp", "/tmp")},
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError, // the operator reads there why it failed
		}},
		Volumes: cockroachVolumes(CockroachRootName(c.HTAPCluster)),
	}
	place(&pod, c.OLTPPool)
	labels := labels(c.HTAPCluster, componentAdmin)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.Namespace, Labels: labels},
		Spec: batchv1.JobSpec{
			BackoffLimit: ptr.To[int32](1000), // nodes may take long to be scheduled
			Template:     corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}
}
