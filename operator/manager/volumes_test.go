//go:build kubernetes

package manager

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// databaseWith returns a cluster with a builtin database whose volume is of a class.
func databaseWith(class *string, policy v1alpha1.DeletionPolicy) *v1alpha1.HTAPCluster {
	c := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	c.Spec.OLTP = v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{}}
	c.Spec.OLTP.PostgreSQL.Storage.StorageClassName = class
	c.Spec.DeletionPolicy = policy
	return c
}

// runDatabase runs the builtin database, and a unit.
func (w *world) runDatabase(c *v1alpha1.HTAPCluster) *appsv1.StatefulSet {
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
