//go:build kubernetes

package manager

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

func TestCluster_growsTheVolumesOfUnitsWhileTheyRun(t *testing.T) {
	w := newWorld(t)
	c, secret := external(2)
	c.Spec.Columnar.Storage.StorageClassName = w.class(true)
	w.create(secret)
	w.create(c)
	set := w.startUnits(fresh, fresh)
	if err := w.control("shop-unit"); err != nil {
		t.Fatal(err)
	}
	var before, after corev1.PodList
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	if err := w.List(t.Context(), &before, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	w.change(`{"spec":{"columnar":{"storage":{"size":"30Gi"}}}}`)
	set = w.grown(set, "30Gi")
	if err := w.List(t.Context(), &after, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	for i, pod := range after.Items {
		if pod.UID != before.Items[i].UID || !pod.DeletionTimestamp.IsZero() || !metav1.IsControlledBy(&pod, set) {
			t.Errorf("pod %s is another, ends, or has controller %+v", pod.Name, metav1.GetControllerOf(&pod))
		}
	}
	const grow = "every unit follows the database's changes; volumes grow to 30Gi: "
	w.says(v1alpha1.ConditionPipelineReady, metav1.ConditionTrue, "Resizing", grow+"waiting for the storage driver (data-shop-unit-0, data-shop-unit-1)")
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	w.isSteady()
	w.drive("data-shop-unit-0", "30Gi")
	w.drive("data-shop-unit-1", "20Gi", corev1.PersistentVolumeClaimFileSystemResizePending)
	w.says(v1alpha1.ConditionPipelineReady, metav1.ConditionTrue, "Resizing",
		grow+"waiting for file systems (data-shop-unit-1), for which some drivers need a restart: if this stays, delete the claims' pods one by one")
	w.drive("data-shop-unit-1", "20Gi", corev1.PersistentVolumeClaimNodeResizeError)
	w.says(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "VolumeResizeFailed",
		"the storage driver could not let data-shop-unit-1 grow to 30Gi; it may try again; see kubectl describe pvc data-shop-unit-1")
	w.drive("data-shop-unit-1", "30Gi")
	w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionTrue, "Streaming")
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	w.isSteady()
}

// limited requires that the database was told limits of its slots.
func (w *world) limited(want ...string) {
	w.t.Helper()
	w.eventually(func() (err error) {
		w.databases.change(func(d *databases) {
			if diff := cmp.Diff(want, d.limits); diff != "" {
				err = fmt.Errorf("limits of slots (-want +got):\n%s", diff)
			}
		})
		return err
	})
}

func TestCluster_growsTheVolumeOfItsDatabaseWhileItRuns(t *testing.T) {
	w := newWorld(t)
	set := w.runDatabase(databaseWith(w.class(true), v1alpha1.Retain))
	w.limited("6826MB")
	w.change(`{"spec":{"oltp":{"postgresql":{"storage":{"size":"30Gi"}}}}}`)
	w.grown(set, "30Gi")
	w.says(v1alpha1.ConditionOLTPReady, metav1.ConditionTrue, "Resizing",
		"the database can be replicated; volumes grow to 30Gi: waiting for the storage driver (data-shop-oltp-0)")
	w.isSteady()
	w.limited("6826MB") // the volume is not bigger yet
	w.drive("data-shop-oltp-0", "30Gi")
	w.says(v1alpha1.ConditionOLTPReady, metav1.ConditionTrue, "Replicable", "the database can be replicated")
	w.limited("6826MB", "10240MB")
	w.isSteady()
}

// killed starts an operator that is killed right after a request.
func (w *world) killed(after string) (dead func() error, stop func() error) {
	w.t.Helper()
	var cut atomic.Bool
	o := w.start(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(q *http.Request) (*http.Response, error) {
			if cut.Load() {
				return nil, errors.New("no route to host")
			}
			answer, err := next.RoundTrip(q)
			if q.Method+" "+q.URL.Path == after && err == nil && answer.StatusCode < http.StatusMultipleChoices {
				cut.Store(true)
			}
			return answer, err
		})
	}, func(*ctrl.Options) {})
	return func() error {
		if !cut.Load() {
			return fmt.Errorf("the operator has not done %s", after)
		}
		return nil
	}, o.stop
}

func TestCluster_growsVolumesAlthoughItsOperatorEndsAtAnyStep(t *testing.T) {
	for name, after := range map[string]string{
		"claims ask for more":         "PATCH /api/v1/namespaces/%s/persistentvolumeclaims/data-shop-oltp-0",
		"claims are released":         "PATCH /apis/apps/v1/namespaces/%s/statefulsets/shop-oltp",
		"the StatefulSet is orphaned": "DELETE /apis/apps/v1/namespaces/%s/statefulsets/shop-oltp",
	} {
		t.Run(name, func(t *testing.T) {
			w := newIdleWorld(t, apiServer)
			stop := w.operate()
			set := w.runDatabase(databaseWith(w.class(true), v1alpha1.Delete))
			stop()
			w.change(`{"spec":{"oltp":{"postgresql":{"storage":{"size":"30Gi"}}}}}`)
			dead, end := w.killed(fmt.Sprintf(after, w.namespace))
			w.eventually(func() error {
				if err := dead(); err != nil {
					return errors.Join(err, w.control("shop-oltp"))
				}
				return nil
			})
			if err := end(); err != nil {
				t.Error(err)
			}
			if err := w.control("shop-oltp"); err != nil {
				t.Fatal(err)
			}
			w.operate()
			w.grown(set, "30Gi")
			var pod corev1.Pod
			if err := w.get("shop-oltp-0", &pod); err != nil || !pod.DeletionTimestamp.IsZero() {
				t.Errorf("the pod ends, or is gone: %v", err)
			}
		})
	}
}

func TestCluster_leavesVolumesThatCannotGrow(t *testing.T) {
	w := newWorld(t)
	name := w.class(false)
	set := w.runDatabase(databaseWith(name, v1alpha1.Retain))
	w.change(`{"spec":{"oltp":{"postgresql":{"storage":{"size":"30Gi"},"image":"postgres:2"}}}}`)
	w.says(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "VolumeNotExpandable", fmt.Sprintf("data-shop-oltp-0 cannot grow to 30Gi: StorageClass %q has no allowVolumeExpansion; "+
		"set it to true, if its driver can expand volumes; else create another HTAPCluster with volumes of this size and move the data", *name))
	w.isSteady()
	var now appsv1.StatefulSet
	if err := w.get("shop-oltp", &now); err != nil {
		t.Fatal(err)
	}
	if image := now.Spec.Template.Spec.Containers[0].Image; now.UID != set.UID || image != "postgres:2" {
		t.Errorf("the StatefulSet is another: %t; what else was asked for is not there: image %s", now.UID != set.UID, image)
	}
	w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionTrue, "Streaming") // units go on

	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: *name}}
	if err := w.Patch(t.Context(), class, client.RawPatch(types.MergePatchType, []byte(`{"allowVolumeExpansion":true}`))); err != nil {
		t.Fatal(err)
	}
	w.look(1)
	w.grown(&now, "30Gi")
	w.drive("data-shop-oltp-0", "30Gi")
	w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionTrue, "Replicable")
}

func TestCluster_saysWhatTheAPIServerHasAgainstGrowth(t *testing.T) {
	w := newWorld(t)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "quota"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourceRequestsStorage: resource.MustParse("25Gi")}
	w.runDatabase(databaseWith(w.class(true), v1alpha1.Retain))
	w.create(quota)
	quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, corev1.ResourceList{corev1.ResourceRequestsStorage: resource.MustParse("20Gi")}
	if err := w.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	w.change(`{"spec":{"oltp":{"postgresql":{"storage":{"size":"30Gi"}}}}}`)
	got := w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "VolumeRefused")
	m := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionOLTPReady).Message
	if !strings.Contains(m, "does not let data-shop-oltp-0 grow to 30Gi") || !strings.Contains(m, "exceeded quota: quota") || !strings.HasSuffix(m, "; remove the cause, which may be a quota") {
		t.Errorf("OLTPReady says %q", m)
	}
}

// orphaned plays that a StatefulSet was deleted without its pods, after which no operator has looked.
func (w *world) orphaned(name string) {
	w.t.Helper()
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace}}
	err := w.Delete(w.t.Context(), set, client.PropagationPolicy(metav1.DeletePropagationOrphan))
	if err := errors.Join(err, w.control(name)); err != nil {
		w.t.Fatal(err)
	}
}

func TestCluster_leavesNothingWhenItGoesWhileVolumesGrow(t *testing.T) {
	for policy, goes := range map[v1alpha1.DeletionPolicy]bool{v1alpha1.Retain: false, v1alpha1.Delete: true} {
		t.Run(string(policy), func(t *testing.T) {
			w := newIdleWorld(t, apiServer)
			stop := w.operate()
			class := w.class(true)
			c := databaseWith(class, policy)
			c.Spec.Columnar.Storage.StorageClassName = class
			w.runDatabase(c)
			if err := w.control("shop-unit"); err != nil {
				t.Fatal(err)
			}
			stop()
			w.orphaned("shop-unit")
			w.orphaned("shop-oltp")
			if err := w.Delete(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			w.operate()
			w.eventually(func() error {
				for name, o := range map[string]client.Object{"shop": c, "shop-unit-0": &corev1.Pod{}, "shop-oltp-0": &corev1.Pod{}} {
					if err := w.get(name, o); !apierrors.IsNotFound(err) {
						return fmt.Errorf("%s is still there: %v", name, err)
					}
				}
				return nil
			})
			for name, goes := range map[string]bool{"data-shop-unit-0": true, "data-shop-oltp-0": goes} {
				var claim corev1.PersistentVolumeClaim
				if err := w.get(name, &claim); client.IgnoreNotFound(err) != nil {
					t.Fatal(err)
				} else if gone := err != nil || !claim.DeletionTimestamp.IsZero(); gone != goes {
					t.Errorf("claim %s goes: %t, want %t", name, gone, goes)
				}
			}
		})
	}
}

func TestCluster_takesOverAllNodesThatRun(t *testing.T) {
	w := newIdleWorld(t, apiServer)
	stop := w.operate()
	w.startCockroachDB(5)
	stop()
	w.orphaned("shop-oltp")
	w.wantNodes(3)
	w.operate()
	w.eventually(func() error {
		var set appsv1.StatefulSet
		if err := w.get("shop-oltp", &set); err != nil {
			return err
		}
		if pods := ptr.Deref(set.Spec.Replicas, 1); pods != 5 {
			t.Fatalf("a StatefulSet of %d pods ends nodes that are not decommissioned", pods)
		}
		return nil
	})
}

func TestCluster_keepsTheStatefulSetThatKnowsWhichNodesGo(t *testing.T) {
	w := newWorld(t)
	w.startCockroachDB(5)
	class := w.class(true)
	for number := range 5 {
		var claim corev1.PersistentVolumeClaim
		if err := w.get(fmt.Sprintf("data-shop-oltp-%d", number), &claim); err != nil {
			t.Fatal(err)
		}
		claim.Spec.StorageClassName = class
		if err := errors.Join(w.Update(t.Context(), &claim), w.has(&claim, "1Gi")); err != nil {
			t.Fatal(err)
		}
	}
	w.wantNodes(3)
	w.oltp(metav1.ConditionTrue, "Resizing", "are decommissioned")
	var set appsv1.StatefulSet
	if err := w.get("shop-oltp", &set); err != nil {
		t.Fatal(err)
	}
	w.change(`{"spec":{"oltp":{"cockroachdb":{"storage":{"size":"30Gi"}}}}}`)
	w.oltp(metav1.ConditionTrue, "Resizing", "are decommissioned", "volumes grow to 30Gi: waiting for the storage driver (data-shop-oltp-0, data-shop-oltp-1, data-shop-oltp-2, data-shop-oltp-3, data-shop-oltp-4)")
	if err := w.control("shop-oltp"); err != nil {
		t.Fatal(err)
	}
	w.look(3)
	var now appsv1.StatefulSet
	if err := w.get("shop-oltp", &now); err != nil || now.UID != set.UID || now.Annotations["freshet.io/leaving-from"] != "3" {
		t.Fatalf("which nodes go is forgotten: %+v, %v", now.ObjectMeta, err)
	}
	w.wantNodes(5)
	w.grown(&now, "30Gi")
	w.size(5, "", appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
}
