//go:build kubernetes

package manager

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
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

// class makes a storage class and returns its name.
func (w *world) class(expands bool) *string {
	w.t.Helper()
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{GenerateName: w.namespace + "-"}, Provisioner: "example.com/disk", AllowVolumeExpansion: &expands}
	if err := w.Create(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = w.Delete(w.t.Context(), c) })
	return &c.Name
}

// control plays the controller of StatefulSets, the garbage collector and the provisioner, once.
func (w *world) control(name string) error {
	var set appsv1.StatefulSet
	if err := w.get(name, &set); err != nil {
		return client.IgnoreNotFound(err)
	}
	orphans := !set.DeletionTimestamp.IsZero()
	self := *metav1.NewControllerRef(&set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	owns := func(o client.Object, wanted bool) error {
		others := slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()), func(r metav1.OwnerReference) bool { return r.UID == set.UID })
		before := o.DeepCopyObject().(client.Object)
		if wanted {
			others = append(others, self)
		}
		o.SetOwnerReferences(others)
		return w.Patch(w.t.Context(), o, client.MergeFrom(before))
	}
	for number := range *set.Spec.Replicas {
		var pod corev1.Pod
		if err := w.get(fmt.Sprintf("%s-%d", name, number), &pod); client.IgnoreNotFound(err) != nil {
			return err
		} else if err == nil && (orphans || metav1.GetControllerOf(&pod) == nil) {
			if err := owns(&pod, !orphans); err != nil {
				return err
			}
		}
		claim, err := w.claim(&set, number)
		if err != nil {
			return err
		}
		policy := set.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted
		if err := owns(claim, !orphans && policy == appsv1.DeletePersistentVolumeClaimRetentionPolicyType); err != nil {
			return err
		}
	}
	if orphans {
		before := set.DeepCopy()
		set.Finalizers = nil
		return w.Patch(w.t.Context(), &set, client.MergeFrom(before))
	}
	set.Status.ObservedGeneration, set.Status.Replicas, set.Status.ReadyReplicas = set.Generation, *set.Spec.Replicas, *set.Spec.Replicas
	return w.Status().Update(w.t.Context(), &set)
}

// claim returns a pod's claim, which is made, and bound, as a StatefulSet says.
func (w *world) claim(set *appsv1.StatefulSet, number int32) (*corev1.PersistentVolumeClaim, error) {
	template := set.Spec.VolumeClaimTemplates[0]
	claim := &corev1.PersistentVolumeClaim{}
	name := fmt.Sprintf("data-%s-%d", set.Name, number)
	err := w.get(name, claim)
	if !apierrors.IsNotFound(err) {
		return claim, err
	}
	claim = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: set.Spec.Selector.MatchLabels}, Spec: template.Spec}
	w.create(claim)
	return claim, w.has(claim, template.Spec.Resources.Requests.Storage().String())
}

// has plays the storage driver: a claim's volume has so much, and says what it waits for.
func (w *world) has(claim *corev1.PersistentVolumeClaim, capacity string, waits ...corev1.PersistentVolumeClaimConditionType) error {
	claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(capacity)}
	claim.Status.Conditions = nil
	for _, c := range waits {
		claim.Status.Conditions = append(claim.Status.Conditions, corev1.PersistentVolumeClaimCondition{Type: c, Status: corev1.ConditionTrue})
	}
	return w.Status().Update(w.t.Context(), claim)
}

// drive plays the storage driver for one claim.
func (w *world) drive(name, capacity string, waits ...corev1.PersistentVolumeClaimConditionType) {
	w.t.Helper()
	w.eventually(func() error {
		var claim corev1.PersistentVolumeClaim
		if err := w.get(name, &claim); err != nil {
			return err
		}
		return w.has(&claim, capacity, waits...)
	})
}

// change changes the cluster's spec.
func (w *world) change(patch string) {
	w.t.Helper()
	c := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shop"}}
	if err := w.Patch(w.t.Context(), c, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.t.Fatal(err)
	}
}

// says waits for a condition, and for its message.
func (w *world) says(condition string, status metav1.ConditionStatus, reason, message string) {
	w.t.Helper()
	w.eventually(func() error {
		got := w.awaitCondition(condition, status, reason)
		if m := meta.FindStatusCondition(got.Status.Conditions, condition).Message; m != message {
			return fmt.Errorf("%s says %q, want %q", condition, m, message)
		}
		return nil
	})
}

// grown waits until another StatefulSet than one has its pods, and volumes ask for a size, and returns it.
func (w *world) grown(was *appsv1.StatefulSet, size string) *appsv1.StatefulSet {
	w.t.Helper()
	var set appsv1.StatefulSet
	w.eventually(func() error {
		if err := errors.Join(w.control(was.Name), w.get(was.Name, &set)); err != nil {
			return err
		}
		if is := set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().String(); is != size || set.UID == was.UID || set.Status.ReadyReplicas == 0 {
			return fmt.Errorf("StatefulSet %s makes volumes of %s; the one before: %t", set.Name, is, set.UID == was.UID)
		}
		return nil
	})
	for number := range *set.Spec.Replicas {
		claim, err := w.claim(&set, number)
		if err != nil {
			w.t.Fatal(err)
		}
		if is := claim.Spec.Resources.Requests.Storage().String(); is != size {
			w.t.Errorf("claim %s asks for %s", claim.Name, is)
		}
		owned := metav1.IsControlledBy(claim, &set)
		if goes := was.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType; owned != goes || len(claim.OwnerReferences) > 1 {
			w.t.Errorf("claim %s is owned by %+v", claim.Name, claim.OwnerReferences)
		}
	}
	if diff := cmp.Diff(was.Spec.Template, set.Spec.Template); diff != "" {
		w.t.Errorf("pods are restarted, for their template changed (-was +is):\n%s", diff)
	}
	if diff := cmp.Diff(was.Spec.PersistentVolumeClaimRetentionPolicy, set.Spec.PersistentVolumeClaimRetentionPolicy); diff != "" {
		w.t.Errorf("what becomes of volumes (-was +is):\n%s", diff)
	}
	return &set
}

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

// databaseWith returns a cluster with a builtin database whose volume is of a class.
func databaseWith(class *string, policy v1alpha1.DeletionPolicy) *v1alpha1.HTAPCluster {
	c := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	c.Spec.OLTP = v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{}}
	c.Spec.OLTP.PostgreSQL.Storage.StorageClassName = class
	c.Spec.DeletionPolicy = policy
	return c
}

// startDatabase runs the builtin database, and a unit.
func (w *world) startDatabase(c *v1alpha1.HTAPCluster) *appsv1.StatefulSet {
	w.t.Helper()
	w.create(c)
	var set appsv1.StatefulSet
	w.eventually(func() error { return w.get("shop-oltp", &set) })
	w.run("shop-oltp-0", set.Spec.Template, "10.0.1.1")
	if err := w.control("shop-oltp"); err != nil {
		w.t.Fatal(err)
	}
	w.startUnits(fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	return &set
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
	set := w.startDatabase(databaseWith(w.class(true), v1alpha1.Retain))
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
			w := newIdleWorld(t)
			stop := w.operate()
			set := w.startDatabase(databaseWith(w.class(true), v1alpha1.Delete))
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
	set := w.startDatabase(databaseWith(name, v1alpha1.Retain))
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
	w.startDatabase(databaseWith(w.class(true), v1alpha1.Retain))
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
			w := newIdleWorld(t)
			stop := w.operate()
			class := w.class(true)
			c := databaseWith(class, policy)
			c.Spec.Columnar.Storage.StorageClassName = class
			w.startDatabase(c)
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
	w := newIdleWorld(t)
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
