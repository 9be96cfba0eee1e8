package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/manifest"
)

// volumes are those of a StatefulSet's pods; the zero value: there are none of the operator's own. What is to be done for them to grow is read from what
// is there anew each time, so that it does not matter who began it.
type volumes struct {
	// want is the StatefulSet as it is to be, and live as it is; nil: it is not there.
	want, live *appsv1.StatefulSet
	// claims are the StatefulSet's, by the numbers of their pods, but for those that are being deleted.
	claims map[int32]*corev1.PersistentVolumeClaim
	// refused is why claims cannot grow; nil: they can, or need not.
	refused *lack.Lack
}

// growth is the next step of volumes that are to grow.
type growth int

const (
	keepSet       growth = iota // nothing but to apply the StatefulSet
	expandClaims                // ask for more in each claim
	releaseClaims               // let the StatefulSet own no claim, for what is owned may be deleted with it
	replaceSet                  // delete the StatefulSet, whose template cannot be changed, without its pods
	awaitEnd                    // wait until it is gone
)

// next is the step that volumes are at. While pods go their StatefulSet is not replaced: it knows what is to become of their volumes.
func (v volumes) next() growth {
	switch {
	case v.live != nil && !v.live.DeletionTimestamp.IsZero():
		return awaitEnd
	case len(v.small()) > 0:
		return expandClaims
	case !v.outgrown(), v.scales():
		return keepSet
	case v.released():
		return replaceSet
	case v.retains() || v.owned():
		return releaseClaims
	}
	return keepSet
}

// outgrown says that the StatefulSet makes volumes that are too small.
func (v volumes) outgrown() bool { return v.live != nil && templateSize(v.live).Cmp(*v.size()) < 0 }

// size is what each volume is to have.
func (v volumes) size() *resource.Quantity { return templateSize(v.want) }

// templateSize is the size of the volumes that a StatefulSet makes.
func templateSize(set *appsv1.StatefulSet) *resource.Quantity {
	return set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage()
}

// used returns the numbers of the claims of pods that there are to be, whose volumes are there. Others cannot grow: their claims cannot be changed.
func (v volumes) used() []int32 {
	pods := ptr.Deref(v.want.Spec.Replicas, 1)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(v.claims)), func(number int32) bool {
		return number >= pods || v.claims[number].Status.Phase != corev1.ClaimBound
	})
}

// small returns the claims that ask for less than they are to.
func (v volumes) small() []*corev1.PersistentVolumeClaim {
	var out []*corev1.PersistentVolumeClaim
	for _, number := range v.used() {
		if claim := v.claims[number]; claim.Spec.Resources.Requests.Storage().Cmp(*v.size()) < 0 {
			out = append(out, claim)
		}
	}
	return out
}

// scales says that pods come or go, or are about to.
func (v volumes) scales() bool {
	have, want := ptr.Deref(v.live.Spec.Replicas, 1), ptr.Deref(v.want.Spec.Replicas, 1)
	return have != want || v.live.Status.Replicas > have || manifest.Leaves(v.live) || manifest.Leaves(v.want)
}

// retains says that the StatefulSet is to own no claim.
func (v volumes) retains() bool {
	return ptr.Deref(v.live.Spec.PersistentVolumeClaimRetentionPolicy, retainClaims()) == retainClaims()
}

// released says that the StatefulSet owns no claim, and that its controller knows that it is to own none.
func (v volumes) released() bool {
	if !v.retains() || v.live.Status.ObservedGeneration < v.live.Generation {
		return false
	}
	for _, claim := range v.claims {
		if slices.ContainsFunc(claim.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == v.live.UID }) {
			return false
		}
	}
	return true
}

// owned says that the claims of a StatefulSet that is to own some have owners. Only when its controller has made it so can it be seen that it has let go
// of them: to a StatefulSet that was made anew it may tell the generation that it saw of the one before (Kubernetes 1.36).
func (v volumes) owned() bool {
	for number, claim := range v.claims {
		if number < ptr.Deref(v.want.Spec.Replicas, 1) && metav1.GetControllerOf(claim) == nil {
			return false
		}
	}
	return true
}

// retainClaims is the policy by which a StatefulSet owns no claims.
func retainClaims() appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy {
	const retain = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	return appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: retain, WhenScaled: retain}
}

// capacity is what the smallest volume has; zero: there is none yet.
func (v volumes) capacity() resource.Quantity {
	var least resource.Quantity
	for _, number := range v.used() {
		if has := v.claims[number].Status.Capacity.Storage(); least.IsZero() || has.Cmp(least) < 0 {
			least = *has
		}
	}
	return least
}

// lack says why volumes do not grow until a person acts; nil: they do.
func (v volumes) lack() *lack.Lack {
	if v.want == nil {
		return nil
	}
	failed := v.pending(resizeFailed)
	if v.refused != nil || len(failed) == 0 {
		return v.refused
	}
	return &lack.Lack{
		Reason: ReasonVolumeResizeFailed, Detail: fmt.Sprintf("the storage driver could not let %s grow to %s", strings.Join(failed, ", "), v.size()),
		Remedy: "it may try again; see kubectl describe pvc " + strings.Join(failed, " "),
	}
}

// progress says how volumes grow; empty: they do not.
func (v volumes) progress() string {
	if v.want == nil {
		return ""
	}
	var parts []string
	if waiting := v.pending(resizeWaits); len(waiting) > 0 {
		parts = append(parts, fmt.Sprintf("waiting for the storage driver (%s)", strings.Join(waiting, ", ")))
	}
	if waiting := v.pending(fileSystemWaits); len(waiting) > 0 {
		parts = append(parts, fmt.Sprintf("waiting for file systems (%s), for which some drivers need a restart: if this stays, delete the claims' pods one by one", strings.Join(waiting, ", ")))
	}
	if v.outgrown() && len(v.small()) == 0 {
		parts = append(parts, fmt.Sprintf("StatefulSet %s is to be replaced, without its pods", v.want.Name))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("volumes grow to %s: %s", v.size(), strings.Join(parts, "; "))
}

// How far a volume is that has less than its claim asks for.
type resizing int

const (
	resizeWaits resizing = iota
	fileSystemWaits
	resizeFailed
)

// pending returns the names of the claims whose volumes have less than they ask for, and are so far. What the driver says in particular changes with
// each of its attempts.
func (v volumes) pending(at resizing) []string {
	var names []string
	for _, number := range v.used() {
		claim := v.claims[number]
		if claim.Status.Capacity.Storage().Cmp(*claim.Spec.Resources.Requests.Storage()) < 0 && farOf(claim) == at {
			names = append(names, claim.Name)
		}
	}
	return names
}

func farOf(claim *corev1.PersistentVolumeClaim) resizing {
	switch claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage] {
	case corev1.PersistentVolumeClaimControllerResizeInfeasible, corev1.PersistentVolumeClaimNodeResizeInfeasible:
		return resizeFailed
	}
	far := resizeWaits
	for _, c := range claim.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == corev1.PersistentVolumeClaimControllerResizeError, c.Type == corev1.PersistentVolumeClaimNodeResizeError:
			return resizeFailed
		case c.Type == corev1.PersistentVolumeClaimFileSystemResizePending:
			far = fileSystemWaits
		}
	}
	return far
}
