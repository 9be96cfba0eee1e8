package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/task"
)

// runUnits applies what units consist of, the pods last.
func (r *Reconciler) runUnits(ctx context.Context, s *state) (task.Result, error) {
	config, err := s.objects.EngineConfig()
	if err != nil {
		return task.Done, err
	}
	contents := map[string][]byte{}
	for key, text := range config.Data {
		contents[key] = []byte(text)
	}
	if s.objects.Inputs, err = r.unitInputs(ctx, s, manifest.Digest(append(s.inputs, contents)...)); err != nil {
		return task.Done, err
	}
	if err := r.tellEndpoint(ctx, s); err != nil {
		return task.Done, err
	}
	for _, obj := range []client.Object{
		config, s.objects.EndpointService(), s.objects.UnitsService(), s.objects.UnitsDisruption(), s.objects.UnitsPolicy(),
	} {
		if err := r.own(ctx, s, obj); err != nil {
			return task.Done, err
		}
	}
	if s.unitVolumes, err = r.runSet(ctx, s, s.objects.Units()); err != nil {
		return task.Done, err
	}
	s.status.Selector = metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: manifest.Selector(s.cluster)})
	return task.Done, nil
}

// unitInputs is the digest of what pods of units read at their start, by which they are replaced; while the database lets nobody in it stays as it
// is: those that run may have a password that is still good, and those that start now have none.
func (r *Reconciler) unitInputs(ctx context.Context, s *state, digest string) (string, error) {
	if !s.refused {
		return digest, nil
	}
	var set appsv1.StatefulSet
	name := types.NamespacedName{Namespace: s.cluster.Namespace, Name: manifest.UnitsName(s.cluster)}
	if err := r.Client.Get(ctx, name, &set); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read StatefulSet %q: %w", name.Name, err)
	}
	return cmp.Or(manifest.InputsOf(&set), digest), nil
}

// observeUnits asks every unit how it does, and sums that up.
func (r *Reconciler) observeUnits(ctx context.Context, s *state) (task.Result, error) {
	pods, err := r.unitPods(ctx, s)
	if err != nil {
		return task.Done, err
	}
	var seen []observation
	for number := range s.cluster.Spec.Columnar.Units {
		name := manifest.UnitName(s.cluster, number)
		seen = append(seen, r.observe(ctx, s, name, pods[name]))
	}
	s.status.Replicas = int32(len(pods))
	sumUp(s, seen)
	for _, o := range seen {
		if o.phase != v1alpha1.UnitFresh {
			return task.Wait(whenNot), nil
		}
	}
	return task.Done, nil
}

// observe asks one unit.
func (r *Reconciler) observe(ctx context.Context, s *state, name string, pod *corev1.Pod) observation {
	if pod == nil || pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP == "" || !pod.DeletionTimestamp.IsZero() {
		return observation{name: name, phase: v1alpha1.UnitPending, message: waitsFor(pod)}
	}
	status, err := r.Units.Status(ctx, pod.Status.PodIP)
	if err != nil {
		message := fmt.Sprintf("its gateway does not answer on port %d; read the log of its container gateway", manifest.MonitorPort)
		return observation{name: name, phase: v1alpha1.UnitUnreachable, message: message}
	}
	return judge(name, status, s.cluster.Spec.Gateway.Freshness.Objective.Duration)
}

func (r *Reconciler) unitPods(ctx context.Context, s *state) (map[string]*corev1.Pod, error) {
	var list corev1.PodList
	if err := r.Client.List(ctx, &list, client.InNamespace(s.cluster.Namespace), client.MatchingLabels(manifest.Selector(s.cluster))); err != nil {
		return nil, fmt.Errorf("list pods of units: %w", err)
	}
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		pods[list.Items[i].Name] = &list.Items[i]
	}
	return pods, nil
}

// waitsFor says what keeps a pod from running.
func waitsFor(pod *corev1.Pod) string {
	switch {
	case pod == nil || pod.Name == "":
		return "its pod does not exist yet"
	case !pod.DeletionTimestamp.IsZero():
		return "its pod is being deleted"
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Reason + ": " + c.Message
		}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Reason != "" {
			return fmt.Sprintf("container %s waits: %s %s%s", c.Name, w.Reason, w.Message, lastWords(c))
		}
	}
	if pod.Status.Phase == corev1.PodRunning {
		return "its pod runs and is not ready yet"
	}
	return "its pod starts"
}

// lastWords is the last line that a container wrote when it failed before, where its pod has that.
func lastWords(c corev1.ContainerStatus) string {
	t := c.LastTerminationState.Terminated
	if t == nil || strings.TrimSpace(t.Message) == "" {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(t.Message), "\n")
	return "; it failed: " + lines[len(lines)-1]
}

// cleanAfterUnits deletes what units that are no more have left in Kafka and in the database. A unit whose pod is still
// there may use it, or make it again.
func (r *Reconciler) cleanAfterUnits(ctx context.Context, s *state) (task.Result, error) {
	pods, err := r.unitPods(ctx, s)
	if err != nil {
		return task.Done, err
	}
	keep := int(s.cluster.Spec.Columnar.Units)
	for name := range pods {
		if number, ok := manifest.UnitNumber(s.cluster, name); ok {
			keep = max(keep, number+1)
		}
	}
	prefix := manifest.SlotPrefix(s.cluster)
	if s.cluster.Spec.OLTP.CockroachDB != nil {
		if s.refused {
			return task.Done, nil // OLTPReady tells of it; changefeeds end before their topics do
		}
		if err := r.Cockroaches.EndChangefeeds(ctx, s.root, prefix, keep); err != nil {
			return task.Done, err
		}
	}
	if err := r.endConnectors(ctx, s, keep); err != nil {
		return task.Done, err
	}
	if s.objects.Kafka != nil && len(s.pipelineLacks) == 0 {
		if err := r.Pipelines.Clean(ctx, s.transport, prefix, keep); err != nil {
			return task.Done, err
		}
	}
	if s.cluster.Spec.OLTP.CockroachDB != nil {
		return task.Done, nil
	}
	_, err = r.Databases.Clean(ctx, s.connection, prefix, keep)
	if _, ok := errors.AsType[*lack.Lack](err); ok {
		return task.Done, nil // OLTPReady tells of it
	}
	return task.Done, err // what is in use is about to end: the next run drops it
}

// stopUnits ends the units' pods.
func (r *Reconciler) stopUnits(ctx context.Context, s *state) (task.Result, error) {
	set := &appsv1.StatefulSet{}
	name := types.NamespacedName{Namespace: s.cluster.Namespace, Name: manifest.UnitsName(s.cluster)}
	err := r.Client.Get(ctx, name, set)
	if client.IgnoreNotFound(err) != nil {
		return task.Done, fmt.Errorf("read StatefulSet %q: %w", name.Name, err)
	}
	if err == nil && set.DeletionTimestamp.IsZero() && metav1.IsControlledBy(set, s.cluster) {
		if err := r.Client.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
			return task.Done, fmt.Errorf("delete StatefulSet %q: %w", name.Name, err)
		}
	}
	if err := r.endOrphans(ctx, s, manifest.UnitsName(s.cluster), manifest.Selector(s.cluster), true); err != nil {
		return task.Done, err
	}
	pods, err := r.unitPods(ctx, s)
	if err != nil {
		return task.Done, err
	}
	if len(pods) > 0 {
		s.isNot(v1alpha1.ConditionReady, ReasonStoppingUnits, "%d pods of units end", len(pods))
		return task.Wait(whenNot), nil
	}
	return task.Done, nil
}
