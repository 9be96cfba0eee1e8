package cluster

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/apply"
	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/task"
)

// runSet applies a StatefulSet, and lets the volumes of its pods grow while these run. Its template of claims cannot be changed: when all claims ask
// for the new size, it is replaced by another, which takes the pods over.
func (r *Reconciler) runSet(ctx context.Context, s *state, want *appsv1.StatefulSet) (volumes, error) {
	v, err := readVolumes(ctx, r.Watched, want)
	if err == nil && v.next() != keepSet {
		v, err = readVolumes(ctx, r.Reader, want) // what is done next must not rest on what a cache had
	}
	if err != nil {
		return v, err
	}
	if v.live != nil && !metav1.IsControlledBy(v.live, s.cluster) {
		return v, r.own(ctx, s, v.applicable(keepSet))
	}
	step := v.next()
	switch step {
	case awaitEnd:
		return v, nil
	case expandClaims:
		if v.refused, err = r.expandClaims(ctx, v); err != nil {
			return v, err
		}
	}
	if err := r.own(ctx, s, v.applicable(step)); err != nil || step != replaceSet {
		return v, err
	}
	return v, r.orphan(ctx, v.live)
}

// applicable is the StatefulSet as it can be applied to what is there.
func (v volumes) applicable(step growth) *appsv1.StatefulSet {
	set := v.want.DeepCopy()
	if v.live == nil {
		return set
	}
	set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage] = *templateSize(v.live)
	if step == releaseClaims || step == replaceSet {
		set.Spec.PersistentVolumeClaimRetentionPolicy = ptr.To(retainClaims())
	}
	return set
}

// readVolumes reads a StatefulSet and its claims.
func readVolumes(ctx context.Context, from client.Reader, want *appsv1.StatefulSet) (volumes, error) {
	v := volumes{want: want, live: &appsv1.StatefulSet{}, claims: map[int32]*corev1.PersistentVolumeClaim{}}
	err := from.Get(ctx, client.ObjectKeyFromObject(want), v.live)
	switch {
	case apierrors.IsNotFound(err):
		v.live = nil
	case err != nil:
		return v, fmt.Errorf("read StatefulSet %q: %w", want.Name, err)
	}
	claims, err := claimsOf(ctx, from, want.Namespace, want.Name, want.Spec.Selector.MatchLabels)
	for number, claim := range claims {
		if claim.DeletionTimestamp.IsZero() {
			v.claims[number] = claim
		}
	}
	return v, err
}

// claimsOf returns the claims of a StatefulSet's pods, by their numbers.
func claimsOf(ctx context.Context, from client.Reader, namespace, set string, selector map[string]string) (map[int32]*corev1.PersistentVolumeClaim, error) {
	var list corev1.PersistentVolumeClaimList
	if err := from.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels(selector)); err != nil {
		return nil, fmt.Errorf("list claims of StatefulSet %q: %w", set, err)
	}
	claims := map[int32]*corev1.PersistentVolumeClaim{}
	for i := range list.Items {
		if number, ok := manifest.PodNumber(manifest.ClaimName(set), list.Items[i].Name); ok {
			claims[number] = &list.Items[i]
		}
	}
	return claims, nil
}

// expandClaims lets claims ask for more. Where one of them cannot grow, none is changed, and it says why.
func (r *Reconciler) expandClaims(ctx context.Context, v volumes) (*lack.Lack, error) {
	small := v.small()
	for _, claim := range small {
		if l, err := r.expandable(ctx, claim, v.size().String()); l != nil || err != nil {
			return l, err
		}
	}
	for _, claim := range small {
		patch := client.MergeFrom(claim.DeepCopy())
		claim.Spec.Resources.Requests[corev1.ResourceStorage] = *v.size()
		err := r.Client.Patch(ctx, claim, patch, apply.Owner)
		if refusal := apierrors.APIStatus(nil); (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && errors.As(err, &refusal) {
			return &lack.Lack{
				Reason: ReasonVolumeRefused, Detail: fmt.Sprintf("the API server does not let %s grow to %s: %s", claim.Name, v.size(), refusal.Status().Message),
				Remedy: "remove the cause, which may be a quota",
			}, nil
		}
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("let claim %q grow: %w", claim.Name, err)
		}
	}
	return nil, nil
}

// expandable says why a claim's volume cannot grow; nil: its class allows it.
func (r *Reconciler) expandable(ctx context.Context, claim *corev1.PersistentVolumeClaim, size string) (*lack.Lack, error) {
	const otherwise = "create another HTAPCluster with volumes of this size and move the data"
	lacks := func(why, remedy string) *lack.Lack {
		return &lack.Lack{Reason: ReasonVolumeNotExpandable, Detail: fmt.Sprintf("%s cannot grow to %s: %s", claim.Name, size, why), Remedy: remedy}
	}
	name := ptr.Deref(claim.Spec.StorageClassName, "")
	if name == "" {
		return lacks("it has no storage class", otherwise), nil
	}
	var class storagev1.StorageClass
	err := r.Reader.Get(ctx, client.ObjectKey{Name: name}, &class)
	switch {
	case apierrors.IsNotFound(err):
		return lacks(fmt.Sprintf("StorageClass %q does not exist", name), "create it anew with allowVolumeExpansion: true, if its driver can expand volumes; else "+otherwise), nil
	case err != nil:
		return nil, fmt.Errorf("read StorageClass %q: %w", name, err)
	case !ptr.Deref(class.AllowVolumeExpansion, false):
		return lacks(fmt.Sprintf("StorageClass %q has no allowVolumeExpansion", name), "set it to true, if its driver can expand volumes; else "+otherwise), nil
	}
	return nil, nil
}

// orphan deletes a StatefulSet and leaves its pods, unless it has changed meanwhile.
func (r *Reconciler) orphan(ctx context.Context, set *appsv1.StatefulSet) error {
	as := client.Preconditions{UID: &set.UID, ResourceVersion: &set.ResourceVersion}
	err := r.Client.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationOrphan), as)
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("replace StatefulSet %q: %w", set.Name, err)
	}
	return nil
}

// endOrphans deletes what a StatefulSet does not take with it if it is being replaced: pods without a controller, and, where volumes are to go, claims,
// which stay until their pods have ended.
func (r *Reconciler) endOrphans(ctx context.Context, s *state, set string, selector map[string]string, volumesToo bool) error {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(s.cluster.Namespace), client.MatchingLabels(selector)); err != nil {
		return fmt.Errorf("list pods of StatefulSet %q: %w", set, err)
	}
	var orphans []client.Object
	for i := range pods.Items {
		pod := &pods.Items[i]
		if _, ok := manifest.PodNumber(set, pod.Name); ok && metav1.GetControllerOf(pod) == nil {
			orphans = append(orphans, pod)
		}
	}
	if volumesToo {
		claims, err := claimsOf(ctx, r.Reader, s.cluster.Namespace, set, selector)
		if err != nil {
			return err
		}
		for _, claim := range claims {
			orphans = append(orphans, claim)
		}
	}
	for _, o := range orphans {
		if !o.GetDeletionTimestamp().IsZero() {
			continue
		}
		if err := r.Client.Delete(ctx, o, client.Preconditions{UID: ptr.To(o.GetUID())}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %T %q: %w", o, o.GetName(), err)
		}
	}
	return nil
}

// endDatabase deletes what the database's StatefulSet would leave if it is being replaced. All else goes with it.
func (r *Reconciler) endDatabase(ctx context.Context, s *state) (task.Result, error) {
	if s.cluster.Spec.OLTP.External != nil || manifest.ByCloudNativePG(s.cluster) {
		return task.Done, nil
	}
	name := manifest.OLTPName(s.cluster)
	var set appsv1.StatefulSet
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.cluster.Namespace, Name: name}, &set)
	if client.IgnoreNotFound(err) != nil {
		return task.Done, fmt.Errorf("read StatefulSet %q: %w", name, err)
	}
	if err == nil && !set.DeletionTimestamp.IsZero() && metav1.IsControlledBy(&set, s.cluster) {
		return task.Wait(whenNot), nil // it is leaving its pods
	}
	return task.Done, r.endOrphans(ctx, s, name, manifest.OLTPSelector(s.cluster), s.cluster.Spec.DeletionPolicy == v1alpha1.Delete)
}
