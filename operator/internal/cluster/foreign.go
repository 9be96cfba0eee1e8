package cluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
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
