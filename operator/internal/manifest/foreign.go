package manifest

import (
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

// bothResources ask for and limit to the same.
func bothResources(r v1alpha1.ResourcesSpec) map[string]any {
	both := func() map[string]any { return map[string]any{"cpu": r.CPU.String(), "memory": r.Memory.String()} }
	return map[string]any{"requests": both(), "limits": both()}
}

// texts is a list as unstructured objects have it.
func texts[T ~string](list []T) []any {
	var out []any
	for _, t := range list {
		out = append(out, string(t))
	}
	return out
}
