package cluster

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// replaceStuck deletes the builtin database's pod where it does not start and its StatefulSet has another template by now, in which the cause may be
// corrected. The StatefulSet's controller would wait for the pod to be ready before it replaces it, which is for ever (Kubernetes 1.36).
func (r *Reconciler) replaceStuck(ctx context.Context, s *state, pod *corev1.Pod) error {
	set := s.oltpVolumes.live
	if set == nil || !metav1.IsControlledBy(pod, set) || !outdated(pod, set) || runs(pod) || !pod.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := r.Client.Delete(ctx, pod, client.Preconditions{UID: ptr.To(pod.UID)}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("replace pod %q, which does not start: %w", pod.Name, err)
	}
	return nil
}

// outdated says that a pod is of another template than its StatefulSet has, as far as the StatefulSet's controller knows that.
func outdated(pod *corev1.Pod, set *appsv1.StatefulSet) bool {
	return set.Status.ObservedGeneration == set.Generation && set.Status.UpdateRevision != "" &&
		pod.Labels[appsv1.ControllerRevisionHashLabelKey] != set.Status.UpdateRevision
}

// runs says that a container of a pod runs: a server that recovers, or is overloaded, is not to be disturbed.
func runs(pod *corev1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), func(c corev1.ContainerStatus) bool {
		return c.State.Running != nil
	})
}
