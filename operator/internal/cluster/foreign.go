package cluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/freshet-io/freshet/operator/internal/lack"
)

// lacking is what is said where another operator's kinds do not exist.
type lacking struct{ reason, remedy string }

// findKind makes sure that the kind of another operator's object exists, and is watched.
func (r *Reconciler) findKind(o *unstructured.Unstructured, or lacking) (*lack.Lack, error) {
	kind := o.GroupVersionKind()
	_, err := r.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case meta.IsNoMatchError(err):
		return &lack.Lack{Reason: or.reason, Detail: fmt.Sprintf("kind %s of %s does not exist", kind.Kind, kind.GroupVersion()), Remedy: or.remedy}, nil
	case err != nil:
		return nil, fmt.Errorf("look for kind %s: %w", kind.Kind, err)
	}
	return nil, r.late.ensure(kind)
}

// readyCondition reads the condition Ready of another operator's object; one that is not there is empty.
func readyCondition(live *unstructured.Unstructured) metav1.Condition {
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		text := func(key string) string { t, _ := fields[key].(string); return t }
		if text("type") != "Ready" {
			continue
		}
		seen, _ := fields["observedGeneration"].(int64)
		return metav1.Condition{
			Type: "Ready", Status: metav1.ConditionStatus(text("status")), Reason: text("reason"), Message: text("message"), ObservedGeneration: seen,
		}
	}
	return metav1.Condition{}
}
