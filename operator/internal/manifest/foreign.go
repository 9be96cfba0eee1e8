package manifest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// foreign is an object of a kind of somebody else's.
func (c Cluster) foreign(kind schema.GroupVersionKind, component, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(kind)
	o.SetName(name)
	o.SetNamespace(c.Namespace)
	o.SetLabels(labels(c.HTAPCluster, component))
	return o
}

// bothResources are what a pod on a pool's nodes gets; nil: on any.
func bothResources(r v1alpha1.ResourcesSpec, pool *v1alpha1.HTAPNodePool) map[string]any {
	all := equipped(r, pool)
	quantities := func(list corev1.ResourceList) map[string]any {
		out := map[string]any{}
		for name, amount := range list {
			out[string(name)] = amount.String()
		}
		return out
	}
	return map[string]any{"requests": quantities(all.Requests), "limits": quantities(all.Limits)}
}

// texts is a list as unstructured objects have it.
func texts[T ~string](list []T) []any {
	var out []any
	for _, t := range list {
		out = append(out, string(t))
	}
	return out
}
