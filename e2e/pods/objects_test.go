//go:build e2e

package pods

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kinds are those of which a cluster has objects.
var kinds = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Pod"},
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "PersistentVolumeClaim"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "apps", Version: "v1", Kind: "ControllerRevision"},
	{Group: "batch", Version: "v1", Kind: "CronJob"},
	{Group: "batch", Version: "v1", Kind: "Job"},
	{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Group: "freshet.io", Version: "v1alpha1", Kind: "HTAPCluster"},
}

// bystanderLabel is on all objects of what the test itself runs in the namespace, as a user may: a database, a Kafka.
const bystanderLabel = "bystander"

func bystander(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{bystanderLabel: name}}
}

// unprivilegedPod and unprivileged are what the Pod Security Standard restricted wants of a pod and of its containers.
func unprivilegedPod(user int64) *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), RunAsUser: &user, FSGroup: &user,
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func unprivileged() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// objects returns the resource versions of all objects in the namespace but what Kubernetes itself puts there.
func (w *world) objects() (map[string]string, error) {
	found := map[string]string{}
	for _, kind := range kinds {
		list := metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := w.List(context.WithoutCancel(w.t.Context()), &list, client.InNamespace(w.namespace)); err != nil {
			return nil, fmt.Errorf("list %s: %w", kind.Kind, err)
		}
		for _, o := range list.Items {
			if o.Labels[bystanderLabel] != "" {
				continue
			}
			found[kind.Kind+" "+o.Name] = o.ResourceVersion
		}
	}
	delete(found, "ConfigMap kube-root-ca.crt")
	return found, nil
}

// withEvents adds what the operator has told in events. Others' are theirs.
func (w *world) withEvents() (map[string]string, error) {
	found, err := w.objects()
	if err != nil {
		return nil, err
	}
	var events eventsv1.EventList
	if err := w.List(w.t.Context(), &events, client.InNamespace(w.namespace)); err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	for _, e := range events.Items {
		if e.Regarding.Kind == "HTAPCluster" {
			found["Event "+e.Name] = e.ResourceVersion
		}
	}
	return found, nil
}
