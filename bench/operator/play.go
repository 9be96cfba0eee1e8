package operator

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// player plays the controller of StatefulSets, the scheduler and kubelets: what a StatefulSet asks for runs and is ready at once.
type player struct {
	client   client.Client
	gateways *gateways
}

// play does so until ctx ends.
func (w *world) play(ctx context.Context, g *gateways) error {
	mgr, err := ctrl.NewManager(w.api, ctrl.Options{
		Scheme: w.client.Scheme(), Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	p := &player{client: w.client, gateways: g}
	err = ctrl.NewControllerManagedBy(mgr).For(&appsv1.StatefulSet{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: parallel}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), p))
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// Reconcile runs the pods of a StatefulSet.
func (p *player) Reconcile(ctx context.Context, set *appsv1.StatefulSet) (ctrl.Result, error) {
	replicas := ptr.Deref(set.Spec.Replicas, 1)
	if set.Status.ReadyReplicas == replicas || !set.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	for i := range replicas {
		if err := p.runPod(ctx, set, i); err != nil {
			return ctrl.Result{}, err
		}
	}
	after := set.DeepCopy()
	after.Status = appsv1.StatefulSetStatus{
		ObservedGeneration: set.Generation, Replicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas,
		CurrentReplicas: replicas, UpdatedReplicas: replicas, CurrentRevision: "1", UpdateRevision: "1",
	}
	return ctrl.Result{}, p.client.Status().Patch(ctx, after, client.MergeFrom(set))
}

func (p *player) runPod(ctx context.Context, set *appsv1.StatefulSet, number int32) error {
	template := set.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = set.Namespace, fmt.Sprintf("%s-%d", set.Name, number)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
	for _, claim := range set.Spec.VolumeClaimTemplates {
		source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name + "-" + pod.Name}}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim.Name, VolumeSource: source})
	}
	ip, err := p.gateways.address(client.ObjectKeyFromObject(pod).String(), monitorPort(&pod.Spec))
	if err != nil {
		return err
	}
	if err := p.client.Create(ctx, pod); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	before, now := pod.DeepCopy(), metav1.Now()
	pod.Status.Phase, pod.Status.StartTime, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, &now, ip, []corev1.PodIP{{IP: ip}}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: "sha256:0", Ready: true, Started: ptr.To(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return p.client.Status().Patch(ctx, pod, client.MergeFrom(before))
}

// monitorPort is the port on which a unit's gateway tells how it does.
func monitorPort(spec *corev1.PodSpec) int32 {
	for _, c := range spec.Containers {
		for _, port := range c.Ports {
			if port.Name == "monitor" {
				return port.ContainerPort
			}
		}
	}
	return 0
}
