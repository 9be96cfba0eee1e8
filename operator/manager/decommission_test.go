//go:build kubernetes

package manager

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/cockroach"
)

// startCockroachDB brings a cluster with so many nodes to Ready. Node 11 is that of pod 0.
func (w *world) startCockroachDB(nodes int32) {
	w.t.Helper()
	w.create(cockroachDB(nodes))
	w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "DatabaseStarting")
	var set appsv1.StatefulSet
	if err := w.get("shop-oltp", &set); err != nil {
		w.t.Fatal(err)
	}
	for i := range nodes {
		pod := w.run(fmt.Sprintf("shop-oltp-%d", i), set.Spec.Template, fmt.Sprintf("10.0.2.%d", i+1))
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-" + pod.Name, Labels: set.Spec.Selector.MatchLabels}}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		w.create(claim)
	}
	w.cockroaches.change(func(c *cockroaches) {
		for i := range nodes {
			address := fmt.Sprintf("shop-oltp-%d.shop-oltp-nodes.%s.svc:26257", i, w.namespace)
			c.nodes = append(c.nodes, cockroach.Node{ID: int(i) + 11, Address: address, Live: true, Replicas: 40})
		}
	})
	set.Status.Replicas, set.Status.ReadyReplicas = nodes, nodes
	if err := w.Status().Update(w.t.Context(), &set); err != nil {
		w.t.Fatal(err)
	}
	w.startUnits(fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
}

// wantNodes changes how many nodes there are to be.
func (w *world) wantNodes(nodes int32) {
	w.t.Helper()
	var c v1alpha1.HTAPCluster
	if err := w.get("shop", &c); err != nil {
		w.t.Fatal(err)
	}
	before := c.DeepCopy()
	c.Spec.OLTP.CockroachDB.Replicas = nodes
	if err := w.Patch(w.t.Context(), &c, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

// size waits for the StatefulSet's number of pods, from which number on nodes go, and what becomes of the volumes of pods that go.
func (w *world) size(pods int32, leaving string, volumes appsv1.PersistentVolumeClaimRetentionPolicyType) {
	w.t.Helper()
	w.eventually(func() error {
		w.wake()
		var set appsv1.StatefulSet
		if err := w.get("shop-oltp", &set); err != nil {
			return err
		}
		have, from, scaled := ptr.Deref(set.Spec.Replicas, 1), set.Annotations["freshet.io/leaving-from"], set.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled
		if have != pods || from != leaving || scaled != volumes {
			return fmt.Errorf("%d pods, nodes go from %q on, volumes: %s; want %d, %q, %s", have, from, scaled, pods, leaving, volumes)
		}
		return nil
	})
}

// job waits for a Job and returns it, with its pod: the namespace refuses one that is not restricted.
func (w *world) job(name, command string) *corev1.Pod {
	w.t.Helper()
	var job batchv1.Job
	w.eventually(func() error { w.wake(); return w.get(name, &job) })
	if got := strings.Join(job.Spec.Template.Spec.Containers[0].Command, " "); !strings.Contains(got, command) {
		w.t.Errorf("Job %s runs %s, want %s", name, got, command)
	}
	template := job.Spec.Template.DeepCopy()
	template.Labels[batchv1.JobNameLabel] = name
	return w.run(name, *template, "10.0.2.99")
}

// gone waits until an object is deleted.
func (w *world) gone(name string, o client.Object) {
	w.t.Helper()
	w.eventually(func() error {
		w.wake()
		if err := w.get(name, o); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s is still there: %v", name, err)
		}
		return nil
	})
}

// oltp waits for OLTPReady, and for words in its message.
func (w *world) oltp(status metav1.ConditionStatus, reason string, words ...string) {
	w.t.Helper()
	w.eventually(func() error {
		w.wake()
		var c v1alpha1.HTAPCluster
		if err := w.get("shop", &c); err != nil {
			return err
		}
		have := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionOLTPReady)
		lacks := func(word string) bool { return !strings.Contains(have.Message, word) }
		if have.Status != status || have.Reason != reason || slices.ContainsFunc(words, lacks) {
			return fmt.Errorf("OLTPReady is %+v, want %s with %q", have, reason, words)
		}
		return nil
	})
}

// progress writes down how many replicas were left when.
func (w *world) progress(text string) {
	w.t.Helper()
	var job batchv1.Job
	if err := w.get("shop-oltp-decommission", &job); err != nil {
		w.t.Fatal(err)
	}
	if had := job.Annotations["freshet.io/progress"]; !strings.HasPrefix(had, "80 ") {
		w.t.Errorf("the progress is %q, want 80 replicas", had)
	}
	before := job.DeepCopy()
	job.Annotations["freshet.io/progress"] = text
	if err := w.Patch(w.t.Context(), &job, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

func TestCluster_decommissionsNodesBeforeTheirPodsGo(t *testing.T) {
	const keep, drop = appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	w := newIdleWorld(t, apiServer)
	stop := w.operate()
	w.startCockroachDB(5)
	w.cockroaches.change(func(c *cockroaches) { c.nodes[1].Live = false })
	w.wantNodes(3)
	w.oltp(metav1.ConditionFalse, "DecommissionRefused", "shop-oltp-1", "set replicas back to 5")
	w.size(5, "", keep)

	w.cockroaches.change(func(c *cockroaches) { c.nodes[1].Live = true })
	w.size(5, "3", keep)
	pod := w.job("shop-oltp-decommission", "node decommission 14 15 --wait=all")
	w.oltp(metav1.ConditionTrue, "Resizing", "shop-oltp-3, shop-oltp-4", "128 replicas at most")
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "decommission", LastTerminationState: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "n14 has 44 replicas blocked with error: \"no place\"\n\nERROR: Cannot decommission nodes."},
	}}}
	if err := w.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	w.oltp(metav1.ConditionFalse, "DecommissionRefused", "does not let shop-oltp-3, shop-oltp-4 go: no place; ", "set replicas back to 5")

	pod.Status.ContainerStatuses = nil
	if err := w.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	w.oltp(metav1.ConditionTrue, "Resizing", "128 replicas at most")
	w.progress("80 2026-01-01T00:00:00Z") // long ago
	w.oltp(metav1.ConditionFalse, "DecommissionStalled", "for 15m0s none of their replicas has moved", "set replicas back to 5")
	w.cockroaches.change(func(c *cockroaches) { c.nodes[4].Replicas = 1 })
	w.oltp(metav1.ConditionTrue, "Resizing", "64 replicas at most")

	// Nodes become decommissioned while no operator is there.
	stop()
	w.cockroaches.change(func(c *cockroaches) { c.nodes = c.nodes[:3] })
	w.wantNodes(4)
	w.operate()
	w.size(3, "3", drop)
	w.gone("shop-oltp-decommission", &batchv1.Job{})

	// The number that is wanted again waits for the volumes.
	w.end("shop-oltp-3")
	w.end("shop-oltp-4")
	w.look(2)
	w.size(3, "3", drop)
	w.oltp(metav1.ConditionTrue, "Resizing", "deleted by hand: data-shop-oltp-3, data-shop-oltp-4")
	for _, name := range []string{"data-shop-oltp-3", "data-shop-oltp-4"} {
		claim := &corev1.PersistentVolumeClaim{}
		if err := w.get(name, claim); err != nil {
			t.Fatal(err)
		}
		claim.Finalizers = nil // its protection's controller is not there
		if err := errors.Join(w.Update(t.Context(), claim), w.Delete(t.Context(), claim)); err != nil {
			t.Fatal(err)
		}
	}
	w.size(4, "", keep)
	w.oltp(metav1.ConditionTrue, "Replicable")
	w.isSteady()
}

func TestCluster_keepsNodesThatAreWantedAgain(t *testing.T) {
	const keep = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	w := newWorld(t)
	w.startCockroachDB(5)
	w.wantNodes(3)
	w.job("shop-oltp-decommission", "node decommission 14 15")
	w.cockroaches.change(func(c *cockroaches) { c.nodes[3].Leaving, c.nodes[4].Leaving = true, true })
	w.wantNodes(5)
	w.oltp(metav1.ConditionTrue, "Resizing", "shop-oltp-3, shop-oltp-4 are kept")
	w.gone("shop-oltp-decommission", &batchv1.Job{})
	w.look(2)
	if err := w.get("shop-oltp-recommission", &batchv1.Job{}); !apierrors.IsNotFound(err) {
		t.Errorf("nodes are taken back while the Job that decommissions them runs: %v", err)
	}
	w.end("shop-oltp-decommission")
	w.job("shop-oltp-recommission", "node recommission 14 15")
	w.size(5, "3", keep)
	w.cockroaches.change(func(c *cockroaches) { c.nodes[3].Leaving, c.nodes[4].Leaving = false, false })
	w.size(5, "", keep)
	w.gone("shop-oltp-recommission", &batchv1.Job{})
	w.oltp(metav1.ConditionTrue, "Replicable")
}

func TestCluster_addsNoNodeOnAVolumeOfAnother(t *testing.T) {
	w := newWorld(t)
	w.startCockroachDB(3)
	var claim corev1.PersistentVolumeClaim
	if err := w.get("data-shop-oltp-2", &claim); err != nil {
		t.Fatal(err)
	}
	left := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-shop-oltp-3", Labels: claim.Labels}, Spec: claim.Spec}
	w.create(left)
	w.wantNodes(4)
	w.oltp(metav1.ConditionFalse, "VolumeLeft", "data-shop-oltp-3 holds the volume of a node that is not in the cluster")
	w.size(3, "", appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	w.cockroaches.change(func(c *cockroaches) { // it is of a node that is down
		c.nodes = append(c.nodes, cockroach.Node{ID: 14, Address: strings.Replace(c.nodes[2].Address, "-2.", "-3.", 1)})
	})
	w.size(4, "", appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
}
