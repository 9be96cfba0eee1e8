package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/freshet-io/freshet/operator/internal/lack"
)

const (
	retain = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	drop   = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
)

// setOf is a StatefulSet of two pods with volumes of a size, as its controller has seen it.
func setOf(size string, policy appsv1.PersistentVolumeClaimRetentionPolicyType) *appsv1.StatefulSet {
	template := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	template.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "shop-unit", UID: "a", Generation: 3},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To[int32](2), VolumeClaimTemplates: []corev1.PersistentVolumeClaim{template},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: policy, WhenScaled: policy},
		},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 3, Replicas: 2},
	}
}

// claimOf is the claim of a volume that has what was asked for, and owners.
func claimOf(name, size string, owners ...types.UID) *corev1.PersistentVolumeClaim {
	has := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	claim.Spec.Resources.Requests, claim.Status.Capacity, claim.Status.Phase = has.DeepCopy(), has, corev1.ClaimBound
	for _, uid := range owners {
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "shop-unit", UID: uid}}
		claim.OwnerReferences = append(claim.OwnerReferences, *metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet")))
	}
	return claim
}

// growing are volumes of two pods, of 20Gi each, that are to have 30Gi, and changes to them.
func growing(claims string, policy appsv1.PersistentVolumeClaimRetentionPolicyType, changes ...func(v *volumes)) volumes {
	v := volumes{want: setOf("30Gi", drop), live: setOf("20Gi", policy), claims: map[int32]*corev1.PersistentVolumeClaim{}}
	for number, name := range []string{"data-shop-unit-0", "data-shop-unit-1"} {
		v.claims[int32(number)] = claimOf(name, claims)
		if policy == drop {
			v.claims[int32(number)] = claimOf(name, claims, "a")
		}
	}
	for _, change := range changes {
		change(&v)
	}
	return v
}

func TestVolumes_deriveTheNextStep(t *testing.T) {
	for _, c := range []struct {
		name string
		v    volumes
		next growth
	}{
		{"a bigger size is wanted", growing("20Gi", drop), expandClaims},
		{"one claim asks for more", growing("20Gi", drop, func(v *volumes) { v.claims[0] = claimOf("data-shop-unit-0", "30Gi", "a") }), expandClaims},
		{"all claims ask for more", growing("30Gi", drop), releaseClaims},
		{"a claim has no owner yet", growing("30Gi", drop, func(v *volumes) { v.claims[1].OwnerReferences = nil }), keepSet},
		{"the controller has not let go of them", growing("30Gi", drop, func(v *volumes) { v.live = setOf("20Gi", retain) }), releaseClaims},
		{"the controller has not seen that it is to", growing("30Gi", retain, func(v *volumes) { v.live.Generation = 4 }), releaseClaims},
		{"nothing is owned", growing("30Gi", retain), replaceSet},
		{"claims were owned by another", growing("30Gi", retain, func(v *volumes) { v.claims[0] = claimOf("data-shop-unit-0", "30Gi", "b") }), replaceSet},
		{"claims ask for more than is wanted", growing("50Gi", retain), replaceSet},
		{"there are no claims", growing("30Gi", retain, func(v *volumes) { clear(v.claims) }), replaceSet},
		{"the StatefulSet is being deleted", growing("30Gi", retain, func(v *volumes) { v.live.DeletionTimestamp = ptr.To(metav1.Now()) }), awaitEnd},
		{"it is gone", growing("30Gi", retain, func(v *volumes) { v.live = nil }), keepSet},
		{"it is gone, and old claims are smaller", growing("20Gi", retain, func(v *volumes) { v.live = nil }), expandClaims},
		{"another took its place", growing("30Gi", drop, func(v *volumes) { v.live = setOf("30Gi", drop) }), keepSet},
		{"another took its place, and a pod came in between", growing("20Gi", drop, func(v *volumes) { v.live = setOf("30Gi", drop) }), expandClaims},
		{"a smaller size is wanted", growing("50Gi", drop, func(v *volumes) { v.live = setOf("50Gi", drop) }), keepSet},
		{"pods come or go too", growing("30Gi", drop, func(v *volumes) { v.want.Spec.Replicas = ptr.To[int32](1) }), keepSet},
		{"a pod goes", growing("30Gi", drop, func(v *volumes) { v.live.Status.Replicas = 3 }), keepSet},
		{"nodes go", growing("30Gi", retain, func(v *volumes) { v.live.Annotations = map[string]string{"freshet.io/leaving-from": "3"} }), keepSet},
		{"a volume is not there yet", growing("20Gi", drop, func(v *volumes) {
			v.claims[0].Status.Phase, v.claims[1] = corev1.ClaimPending, claimOf("data-shop-unit-1", "30Gi", "a")
		}), releaseClaims},
		{"the volume of a pod that is no more is smaller", growing("30Gi", retain, func(v *volumes) { v.claims[7] = claimOf("data-shop-unit-7", "20Gi") }), replaceSet},
	} {
		if got := c.v.next(); got != c.next {
			t.Errorf("%s: step %d, want %d", c.name, got, c.next)
		}
	}
}

func TestVolumes_keepTheTemplateOfTheStatefulSetThatIsThere(t *testing.T) {
	for _, c := range []struct {
		name   string
		v      volumes
		size   string
		policy appsv1.PersistentVolumeClaimRetentionPolicyType
	}{
		{"claims are too small", growing("20Gi", drop), "20Gi", drop},
		{"claims are let go of", growing("30Gi", drop), "20Gi", retain},
		{"it is replaced", growing("30Gi", retain), "20Gi", retain},
		{"it is gone", growing("30Gi", retain, func(v *volumes) { v.live = nil }), "30Gi", drop},
		{"it makes bigger volumes", growing("50Gi", drop, func(v *volumes) { v.live = setOf("50Gi", drop) }), "50Gi", drop},
	} {
		set := c.v.applicable(c.v.next())
		if size, policy := templateSize(set).String(), set.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted; size != c.size || policy != c.policy {
			t.Errorf("%s: volumes of %s are made, policy %s; want %s, %s", c.name, size, policy, c.size, c.policy)
		}
	}
}

func TestVolumes_sayHowFarTheyAre(t *testing.T) {
	// grown are volumes whose claims ask for 30Gi, and the first of which has 20Gi and a status.
	grown := func(change func(s *corev1.PersistentVolumeClaimStatus)) volumes {
		return growing("30Gi", drop, func(v *volumes) {
			v.live = setOf("30Gi", drop)
			v.claims[0].Status.Capacity[corev1.ResourceStorage] = resource.MustParse("20Gi")
			change(&v.claims[0].Status)
		})
	}
	saying := func(kinds ...corev1.PersistentVolumeClaimConditionType) func(s *corev1.PersistentVolumeClaimStatus) {
		return func(s *corev1.PersistentVolumeClaimStatus) {
			for _, k := range kinds {
				s.Conditions = append(s.Conditions, corev1.PersistentVolumeClaimCondition{Type: k, Status: corev1.ConditionTrue})
			}
		}
	}
	infeasible := func(s *corev1.PersistentVolumeClaimStatus) {
		s.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: corev1.PersistentVolumeClaimNodeResizeInfeasible}
	}
	failed := &lack.Lack{Reason: ReasonVolumeResizeFailed, Detail: "the storage driver could not let data-shop-unit-0 grow to 30Gi", Remedy: "it may try again; see kubectl describe pvc data-shop-unit-0"}
	refused := &lack.Lack{Reason: ReasonVolumeRefused, Detail: "no", Remedy: "pay"}
	const waits = "volumes grow to 30Gi: waiting for the storage driver (data-shop-unit-0)"
	for _, c := range []struct {
		name, progress string
		v              volumes
		lack           *lack.Lack
	}{
		{"there are none", "", volumes{}, nil},
		{"they have what they are to have", "", growing("30Gi", drop, func(v *volumes) { v.live = setOf("30Gi", drop) }), nil},
		{"a claim was told", waits, grown(saying()), nil},
		{"the driver is at work", waits, grown(saying(corev1.PersistentVolumeClaimResizing)), nil},
		{"the file system is to grow", "volumes grow to 30Gi: waiting for file systems (data-shop-unit-0), for which some drivers need a restart: if this stays, delete the claims' pods one by one",
			grown(saying(corev1.PersistentVolumeClaimResizing, corev1.PersistentVolumeClaimFileSystemResizePending)), nil},
		{"the driver failed", "", grown(saying(corev1.PersistentVolumeClaimFileSystemResizePending, corev1.PersistentVolumeClaimControllerResizeError)), failed},
		{"the node failed", "", grown(infeasible), failed},
		{"they cannot grow", "", growing("20Gi", drop, func(v *volumes) { v.refused = refused }), refused},
		{"the StatefulSet is old", "volumes grow to 30Gi: StatefulSet shop-unit is to be replaced, without its pods", growing("30Gi", drop), nil},
		{"a volume is not there yet", "", grown(func(s *corev1.PersistentVolumeClaimStatus) { s.Phase, s.Capacity = corev1.ClaimPending, nil }), nil},
	} {
		if got := c.v.progress(); got != c.progress {
			t.Errorf("%s: %q, want %q", c.name, got, c.progress)
		}
		if diff := cmp.Diff(c.lack, c.v.lack()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestVolumes_haveWhatTheSmallestHas(t *testing.T) {
	v := growing("30Gi", drop, func(v *volumes) {
		v.claims[1] = claimOf("data-shop-unit-1", "20Gi")
		v.claims[7] = claimOf("data-shop-unit-7", "10Gi")
	})
	if got := v.capacity(); got.String() != "20Gi" {
		t.Errorf("the smallest volume has %s", got.String())
	}
	if got := growing("30Gi", drop, func(v *volumes) { clear(v.claims) }).capacity(); !got.IsZero() {
		t.Errorf("no volume has %s", got.String())
	}
}
